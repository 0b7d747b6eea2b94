/** `npm run fuzz [-- --seconds N --seed S]`: the engine against hostile, changed and arbitrary files. */

import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';

const root = join(dirname(fileURLToPath(import.meta.url)), '../..');
const bundle = join(root, '.cache/fuzz/fuzz.mjs');
await build({
  entryPoints: [join(root, 'test/fuzz/fuzz.ts')],
  bundle: true,
  format: 'esm',
  platform: 'node',
  target: 'node20',
  outfile: bundle,
  logLevel: 'warning',
  sourcemap: 'inline',
  // The corpus is found from the place of the bundle, two folders below the project as its source is.
  banner: {
    js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);",
  },
});
const { fuzz } = await import(pathToFileURL(bundle).href);
process.exitCode = (await fuzz(root, bundle, process.argv.slice(2))) ? 0 : 1;
