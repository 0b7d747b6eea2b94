/** Published peaks of memory: the aim of a mean error of at most 10 %, and what the page says of them. */

import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { graphOpener } from '../../scripts/validate/graphs.ts';
import { judgePeaks } from '../../scripts/validate/peaks.ts';

const root = resolve(import.meta.dirname, '../..');
const { rows, left } = judgePeaks(resolve(root, 'measured'), graphOpener(root, resolve(root, '../shared')));
const page = readFileSync(resolve(root, 'docs/ACCURACY.md'), 'utf8');

test('the mean error is at most 10 %', () => {
  const errors = rows.map(({ predicted, measured }) => Math.abs(predicted / measured - 1));
  expect(rows.length).toBeGreaterThanOrEqual(8);
  expect(errors.reduce((total, error) => total + error, 0) / errors.length).toBeLessThanOrEqual(0.1);
});

describe('docs/ACCURACY.md has each row as it is; run npm run validate', () => {
  test.each(rows)('$source, $what', ({ source, what, predicted }) => {
    const line = page.split('\n').find((candidate) => candidate.startsWith(`| ${source} | ${what} |`)) ?? '';
    const shown = Number.parseFloat(line.split('|')[5] ?? '');
    expect(Math.abs(shown - predicted / 2 ** 30)).toBeLessThan(0.1);
  });

  test.each(left)('$source, $what: why it is left', ({ source, what, why }) => {
    expect(page).toContain(`- ${source}, ${what}: ${why}`);
  });
});

test.skipIf(existsSync(resolve(root, '../shared')))(
  'batches of timm are not judged: ../shared is absent',
  () => {
    expect(existsSync(resolve(root, '../shared'))).toBe(false);
  },
);
