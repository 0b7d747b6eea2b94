/** Collectives against what was measured: `measured/collectives.csv`, of which rows marked "set" gave constants. */

import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { collectiveSection, everyCollective, judgeCollectives } from '../../scripts/validate/collectives.ts';

const root = resolve(import.meta.dirname, '../..');
const measured = join(root, 'measured');

describe('held collectives of 1 MiB and more', () => {
  const [all, ...systems] = judgeCollectives(measured);

  test('half of them are within 20 %, nine of ten within the range shown', () => {
    expect(all?.rows).toBe(648);
    expect(all?.statistics.median).toBeLessThanOrEqual(0.2);
    expect(all?.inRange).toBeGreaterThan(0.9);
  });

  test('half of the systems have a median within 20 %, whatever the number of their rows', () => {
    const medians = systems.map(({ statistics }) => statistics.median).sort((a, b) => a - b);
    expect(medians[Math.floor(medians.length / 2)]).toBeLessThanOrEqual(0.2);
  });

  test('the page says so; run npm run validate', () => {
    const page = readFileSync(join(root, 'docs/ACCURACY.md'), 'utf8');
    expect(page).toContain(collectiveSection(judgeCollectives(measured)));
  });
});

test('every row has a cluster, a kind and a time', () => {
  for (const { row, predicted, measured: time } of everyCollective(measured)) {
    expect(['set', 'held']).toContain(row.role);
    expect(time).toBeGreaterThan(0);
    expect(Number.isFinite(predicted.time) && predicted.time > 0, JSON.stringify(row)).toBe(true);
  }
});
