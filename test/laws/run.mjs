/** `npm run laws [-- --seed S --scenarios N --shared]`: the laws of a step over new random scenarios. */

import { parseArgs } from 'node:util';
import { loadSource } from '../../scripts/loadSource.mjs';

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    scenarios: { type: 'string', default: '2000' },
    shared: { type: 'boolean', default: false },
  },
});
const { printTrial } = await loadSource('test/laws/tryLaws.ts');
const seed = Number(values.seed ?? Date.now() % 1_000_000);
process.exitCode = printTrial(seed, Number(values.scenarios), values.shared) ? 0 : 1;
