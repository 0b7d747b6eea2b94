/**
 * What `layercost` starts: compiles the command line's bundle with the code cache that the build made, and runs it.
 *
 * Half of a cold start is compiling. V8 takes a cache only where its version and flags are those that made it; where
 * it does not, or there is none, the bundle is compiled as any other. Source: Node.js documentation, `vm.Script`.
 *
 * What then runs for a third of a second is done before optimized code pays: V8 is told to optimize only what stays hot
 * for long, and to mark garbage only when memory has filled, not in small steps that nobody waits between. A server
 * lives on, and keeps V8's own measure.
 */

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { Script } from 'node:vm';

/**
 * Bytes of bytecode that a function runs between two looks at whether to optimize it, 15 times what V8 takes. Source:
 * V8, `src/flags/flag-definitions.h`, the same from Node 20 to 24.
 */
const patience = 1_000_000;

const folder = import.meta.dirname;
const file = join(folder, 'cli-main.js');
const script = new Script(
  `(function (exports, require, __filename, __dirname) {${readFileSync(file, 'latin1')}\n})`,
  {
    filename: file,
    cachedData: readCache(),
  },
);
// After the script is made: a cache is taken only by a V8 with the flags of its maker.
if (process.argv[2] !== 'lsp') {
  setFlagsFromString(`--interrupt-budget=${patience}`);
  setFlagsFromString('--no-incremental-marking');
}
script.runInThisContext()({}, createRequire(file), file, folder);

function readCache(): Buffer | undefined {
  try {
    return readFileSync(join(folder, 'cli-main.cache'));
  } catch {
    return undefined;
  }
}
