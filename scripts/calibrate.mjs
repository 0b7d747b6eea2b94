/**
 * Fits the curves of kernel times to the measurements in `measured/` and writes `server/src/hardware/curves.json`:
 * `npm run calibrate`. Prints what is left over on rows that the fit has not seen.
 */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadSource, root } from './loadSource.mjs';

const hardware = join(root, 'server/src/hardware');
const measured = join(root, 'measured');

const { calibrate } = await loadSource('scripts/calibrate/calibrate.ts');
const { curves, table } = calibrate(measured);
writeFileSync(join(hardware, 'curves.json'), `${JSON.stringify(curves, null, 1)}\n`);
console.log(table);

// The engine of the second fit has the curves of the first built in.
const { calibrateSteps } = await loadSource('scripts/calibrate/calibrateSteps.ts');
const steps = calibrateSteps(measured, join(root, '../shared/models/timm-train'));
if (steps === undefined) {
  console.log('The training graphs are not here: corrections.json stays as it is.');
} else {
  writeFileSync(join(hardware, 'corrections.json'), `${JSON.stringify(steps.corrections, null, 1)}\n`);
  console.log(steps.table);
}
