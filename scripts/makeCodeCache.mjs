/**
 * Writes `dist/main.cache`: the code that V8 compiled of the engine and the command line, for `server/src/cli/launch.ts`.
 *
 * The cache is made after the commands below have run, so that the functions they called are in it, compiled.
 * Their output is the caller's to throw away.
 */

import { writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const require = createRequire(import.meta.url);
const v8 = require('node:v8');
const vm = require('node:vm');

const sample = (name) => join(root, 'samples', name);
const runs = [
  ['report', sample('resnet50.onnx'), '--gpus', '16'],
  ['report', sample('tinyllama.onnx'), '--precision', 'bf16', '--format', 'json'],
  ['plan', sample('tinyllama.layers.yaml'), '--cluster', 'dgx-h100', '--gpus', '16', '--global-batch', '64'],
];

/** The launcher makes one script, which is kept here to be asked for its code. */
let script;
const Script = vm.Script;
vm.Script = class extends Script {
  constructor(source, options) {
    super(source, options);
    script = this;
  }
};

/** The cache names the flags it was made with, and the launcher takes it before it sets any. */
v8.setFlagsFromString = () => {};

for (const run of runs) {
  process.argv = [process.execPath, join(root, 'dist/cli.js'), ...run];
  delete require.cache[join(root, 'dist/cli.js')];
  require(join(root, 'dist/cli.js'));
}
process.on('exit', () => writeFileSync(join(root, 'dist/main.cache'), script.createCachedData()));
