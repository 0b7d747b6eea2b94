/**
 * Fits the curves of kernel times to the measurements in `measured/` and writes `server/src/hardware/curves.json`:
 * `npm run calibrate`. Prints what is left over on rows that the fit has not seen.
 */

import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { isDeepStrictEqual } from 'node:util';
import { bundleSource, loadSource, root } from './loadSource.mjs';

const hardware = join(root, 'server/src/hardware');
const measured = join(root, 'measured');

const mostRounds = 8;

const correctionsComment =
  'Written by npm run calibrate. corrections, from measured/steps-timm.csv and steps-timm-inference.csv: factors of the time that a kernel takes by itself, by kind; spread: 10th and 90th percentile of measured / predicted steps, on families of models that the fit has not seen. matmuls, from measured/steps-language.csv: the factor of matmuls on tensor cores that follow the curve of a GPU, older: by cuBLAS of CUDA 12.4 and before; spread: the same of what steps leave for their matmuls, by sources that the fit has not seen. Those with rows are of kernels-h200-b.jsonl, matmuls without a pause.';

const { calibrate } = await loadSource('scripts/calibrate/calibrate.ts');
const { curves, table } = calibrate(measured);
writeFileSync(join(hardware, 'curves.json'), `${JSON.stringify(curves, null, 1)}\n`);
console.log(table);

// The engine of the second fit has the curves of the first built in.
const { calibrateSteps } = await loadSource('scripts/calibrate/calibrateSteps.ts');
const steps = calibrateSteps(measured, join(root, '../shared/models/timm-train'));
if (steps === undefined)
  console.log('The training graphs are not here: corrections by kind stay as they are.');
else console.log(steps.table);
const file = join(hardware, 'corrections.json');
const inPlace = JSON.parse(readFileSync(file, 'utf8'));
const write = (matmuls) =>
  writeFileSync(
    file,
    `${JSON.stringify({ $comment: correctionsComment, corrections: steps?.corrections ?? inPlace.corrections, matmuls }, null, 1)}\n`,
  );

// What a slower matmul hides depends on how slow it is: the factors are fitted to steps laid out by themselves, until they stay.
let factors = inPlace.matmuls;
for (let round = 1; ; round += 1) {
  write(factors);
  const bundle = await bundleSource('scripts/calibrate/calibrateSteps.ts');
  const { calibrateMatmuls } = await import(`${pathToFileURL(bundle).href}?round=${round}`);
  const { matmuls, table } = calibrateMatmuls(root);
  if (isDeepStrictEqual(matmuls, factors) || round === mostRounds) {
    console.log(table);
    break;
  }
  factors = matmuls;
}

execFileSync(process.execPath, [
  join(root, 'node_modules/@biomejs/biome/bin/biome'),
  'format',
  '--write',
  join(hardware, 'curves.json'),
  file,
]);
