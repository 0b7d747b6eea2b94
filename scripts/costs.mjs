/**
 * Whether a change moved numbers: `npm run costs -- --save FILE` before it, `npm run costs -- --compare FILE` after it.
 * Costs every sample and, where present, every model of `../shared/models`, and 1,000 random scenarios.
 */

import { readFileSync, writeFileSync } from 'node:fs';
import { loadSource, root } from './loadSource.mjs';

const [option, file] = process.argv.slice(2);
if ((option !== '--save' && option !== '--compare') || file === undefined) {
  console.error('npm run costs -- --save FILE, then npm run costs -- --compare FILE');
  process.exit(2);
}
const { takeCosts } = await loadSource('scripts/costs/takeCosts.ts');
const costs = [...takeCosts(root, 1000)];
if (option === '--save') {
  writeFileSync(file, JSON.stringify(costs));
  console.log(`${costs.length} scenarios saved`);
} else {
  const { compareCosts } = await loadSource('scripts/costs/compareCosts.ts');
  const moved = compareCosts(JSON.parse(readFileSync(file, 'utf8')), costs, 0.001);
  const scenarios = new Map();
  for (const each of moved) {
    const key = `${each.model} ${each.scenario}`;
    scenarios.set(key, [...(scenarios.get(key) ?? []), each]);
  }
  for (const [key, numbers] of scenarios) {
    const shown = numbers.slice(0, 6).map(({ name, before, after }) => `  ${name}: ${before} → ${after}`);
    const more = numbers.length > shown.length ? [`  … ${numbers.length - shown.length} more`] : [];
    console.log([key, ...shown, ...more].join('\n'));
  }
  console.log(`${scenarios.size} of ${costs.length} scenarios moved by more than 0.1 %`);
  process.exitCode = scenarios.size > 0 ? 1 : 0;
}
