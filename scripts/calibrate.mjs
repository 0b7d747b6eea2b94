/**
 * Fits the curves of kernel times to the measurements in `measured/` and writes `server/src/hardware/curves.json`:
 * `npm run calibrate`. Prints what is left over on rows that the fit has not seen.
 */

import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const hardware = join(root, 'server/src/hardware');
const measured = join(root, 'measured');

const { calibrate } = await load('calibrate');
const { curves, table } = calibrate(measured);
writeFileSync(join(hardware, 'curves.json'), `${JSON.stringify(curves, null, 1)}\n`);
console.log(table);

// The engine of the second fit has the curves of the first built in.
const { calibrateSteps } = await load('calibrateSteps');
const steps = calibrateSteps(measured, join(root, '../shared/models/timm-train'));
if (steps === undefined) {
  console.log('The training graphs are not here: corrections.json stays as it is.');
} else {
  writeFileSync(join(hardware, 'corrections.json'), `${JSON.stringify(steps.corrections, null, 1)}\n`);
  console.log(steps.table);
}

async function load(name) {
  const bundle = join(root, `node_modules/.cache/layercost/${name}.mjs`);
  await build({
    entryPoints: [join(root, `scripts/calibrate/${name}.ts`)],
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
  return import(pathToFileURL(bundle).href);
}
