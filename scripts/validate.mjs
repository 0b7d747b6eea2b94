/**
 * Holds predictions against the measured steps in `measured/`, prints the table and writes `docs/ACCURACY.md`:
 * `npm run validate`. Needs the graphs that are too large to be kept with the project. `--layouts` predicts every measured
 * parallel layout instead (ten minutes), and prints what a planner would have lost by its choice.
 */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadSource, root } from './loadSource.mjs';

const shared = join(root, '../shared');
if (process.argv.includes('--layouts')) {
  const { choiceTableOf } = await loadSource('scripts/validate/parallel/layoutChoice.ts');
  console.log(choiceTableOf(root, shared));
  process.exit();
}
const { validate } = await loadSource('scripts/validate/validate.ts');
const { page, table, absent } = validate(root, shared, {
  rows: process.argv.includes('--rows'),
});
console.log(table);
if (absent.length > 0) {
  console.error(`Graphs are absent, so docs/ACCURACY.md stays as it is: ${absent.join('; ')}`);
  process.exitCode = 1;
} else {
  writeFileSync(join(root, 'docs/ACCURACY.md'), page);
}
