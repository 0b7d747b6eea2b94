/**
 * `npm run bench`: the figures that people feel, measured and printed; nothing is asserted.
 *
 * Whole processes are timed as a shell would start them; the engine is timed inside one process.
 */

import { execFileSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';

const root = join(dirname(fileURLToPath(import.meta.url)), '../..');
execFileSync(process.execPath, [join(root, 'esbuild.mjs'), '--production'], { stdio: 'inherit' });

const bundle = join(root, 'node_modules/.cache/layercost/bench.mjs');
await build({
  entryPoints: [join(root, 'test/bench/bench.ts')],
  bundle: true,
  format: 'esm',
  platform: 'node',
  target: 'node20',
  outfile: bundle,
  logLevel: 'warning',
  banner: {
    js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);",
  },
});
const { bench } = await import(pathToFileURL(bundle).href);
await bench(root);
