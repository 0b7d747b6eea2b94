/**
 * What `layercost` starts: compiles the bundle of the command line and the language server after the engine that it calls,
 * as one script, with the code cache that the build made, and runs it. Two scripts would start 4 ms later.
 *
 * Half of a cold start is compiling. V8 takes a cache only where its version and flags are those that made it; where
 * it does not, or there is none, the bundle is compiled as any other. Source: Node.js documentation, `vm.Script`.
 */

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { Script } from 'node:vm';
import { optionsOfShortRun, optionsOfStart, secondsOfStart } from './shortRun.ts';

const folder = import.meta.dirname;
const file = join(folder, 'main.js');
const script = new Script(
  `(function (exports, require, __filename, __dirname) {${read('engine.js')}\n${read('main.js')}\n})`,
  {
    filename: file,
    cachedData: readCache(),
  },
);
// After the script is made: a cache is taken only by a V8 with the flags of its maker. A server is no short run, but its start is.
if (process.argv[2] === 'lsp') {
  const { first, after } = optionsOfStart(process.versions.node);
  for (const option of first) setFlagsFromString(option);
  setTimeout(() => {
    for (const option of after) setFlagsFromString(option);
  }, secondsOfStart * 1000).unref();
} else if (process.argv[2] !== 'mcp') {
  for (const option of optionsOfShortRun(process.versions.node)) setFlagsFromString(option);
}
script.runInThisContext()({}, createRequire(file), file, folder);

/** What esbuild writes is ASCII, and a string of single bytes takes half the memory. */
function read(name: string): string {
  return readFileSync(join(folder, name), 'latin1');
}

function readCache(): Buffer | undefined {
  try {
    return readFileSync(join(folder, 'main.cache'));
  } catch {
    return undefined;
  }
}
