/**
 * Fits the curves of kernel times to the measurements in `measured/` and writes `server/src/hardware/curves.json`:
 * `npm run calibrate`. Prints what is left over on rows that the fit has not seen.
 */

import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const bundle = join(root, 'node_modules/.cache/layercost/calibrate.mjs');
await build({
  entryPoints: [join(root, 'scripts/calibrate/calibrate.ts')],
  bundle: true,
  format: 'esm',
  platform: 'node',
  target: 'node20',
  outfile: bundle,
  logLevel: 'warning',
});
const { calibrate } = await import(pathToFileURL(bundle).href);
const { curves, table } = calibrate(join(root, 'measured'));
writeFileSync(join(root, 'server/src/hardware/curves.json'), `${JSON.stringify(curves, null, 1)}\n`);
console.log(table);
