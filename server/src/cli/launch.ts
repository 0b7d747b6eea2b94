/**
 * What `layercost` starts: compiles the command line's bundle with the code cache that the build made, and runs it.
 *
 * Half of a cold start is compiling. V8 takes a cache only where its version and flags are those that made it; where
 * it does not, or there is none, the bundle is compiled as any other. Source: Node.js documentation, `vm.Script`.
 *
 * What then runs for a quarter of a second is done before optimized code pays, and V8's own measure is made for pages and
 * servers. A server lives on, and keeps that measure.
 */

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { Script } from 'node:vm';

/**
 * V8 options of a short run. Source: V8, `src/flags/flag-definitions.h`, the same from Node 20 to 24; what they are worth
 * is measured by `npm run bench`.
 */
const ofShortRun = [
  // Only what stays hot for long is optimized: a function runs 30 times as much bytecode before V8 looks whether to.
  '--interrupt-budget=2000000',
  // What is warm gets machine code at once, not when enough has come together.
  '--no-baseline-batch-compilation',
  // Garbage is marked when memory has filled, not in small steps that nobody waits between.
  '--no-incremental-marking',
  // Young memory grows in two steps, not in four: what a run makes it mostly keeps, and copies at each step.
  '--semi-space-growth-factor=4',
];

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
if (process.argv[2] !== 'lsp') for (const option of ofShortRun) setFlagsFromString(option);
script.runInThisContext()({}, createRequire(file), file, folder);

function readCache(): Buffer | undefined {
  try {
    return readFileSync(join(folder, 'cli-main.cache'));
  } catch {
    return undefined;
  }
}
