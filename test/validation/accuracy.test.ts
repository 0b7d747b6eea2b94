/** The figures of docs/ACCURACY.md are those of the engine as it is: means within half a point. */

import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { languageSteps } from '../../scripts/measured/languageSteps.ts';
import { readMeasured } from '../../scripts/measured/readMeasured.ts';
import { dataSets } from '../../scripts/validate/dataSets.ts';
import { graphOpener } from '../../scripts/validate/graphs.ts';
import { judgeDataSet, ratiosOf, statisticsOf } from '../../scripts/validate/judge.ts';
import { layerEntry } from '../../scripts/validate/layerPage.ts';
import { layerSets } from '../../scripts/validate/layerSets.ts';
import { judgeLanguage } from '../../scripts/validate/scaling/languageSection.ts';

const root = resolve(import.meta.dirname, '../..');
const shared = resolve(root, '../shared');
const page = readFileSync(join(root, 'docs/ACCURACY.md'), 'utf8');

test.skipIf(existsSync(shared))('sets whose graphs lie in ../shared are not compared: it is absent', () => {
  expect(existsSync(shared)).toBe(false);
});

describe('docs/ACCURACY.md; run npm run validate', () => {
  test.each(dataSets)('$title', (set) => {
    const judged = judgeDataSet(
      set,
      readMeasured(join(root, 'measured'), set.file),
      graphOpener(root, shared),
    );
    if (judged === undefined) return;
    const [, rows, left, mean] = cellsOf(set.title);
    expect([rows, left]).toEqual([String(judged.rows.length), String(judged.left.length)]);
    const now = 100 * statisticsOf(ratiosOf(judged.rows)).mean;
    expect(Math.abs(now - Number.parseFloat(mean ?? ''))).toBeLessThan(0.5);
  });
});

describe('docs/ACCURACY.md, single layers; run npm run validate', () => {
  test.each(layerSets)('$title', (set) => {
    const judged = set.judge(readMeasured(join(root, 'measured'), set.file), graphOpener(root, shared));
    if (judged === undefined) return;
    const { rows, left, statistics } = layerEntry(set, judged);
    const cells = cellsOf(set.title);
    expect(cells.slice(1, 3)).toEqual([String(rows), String(left)]);
    expect(Math.abs(100 * statistics.median - Number.parseFloat(cells[3] ?? ''))).toBeLessThan(0.5);
  });
});

describe('docs/ACCURACY.md, language models; run npm run validate', () => {
  const judged = judgeLanguage(languageSteps(join(root, 'measured'), graphOpener(root, shared)));
  const sets = new Map<string, number[]>();
  for (const { source, cluster, predicted, measured } of judged) {
    const title = `${source}, ${cluster}`;
    sets.set(title, [...(sets.get(title) ?? []), predicted / measured]);
  }

  test.each([...sets])('%s', (title, ratios) => {
    const [, rows, mean] = cellsOf(title);
    expect(rows).toBe(String(ratios.length));
    expect(Math.abs(100 * statisticsOf(ratios).mean - Number.parseFloat(mean ?? ''))).toBeLessThan(0.5);
  });

  test('by factors of other sources, nine in ten steps are within 20 %', () => {
    const { withinTwenty } = statisticsOf(judged.map(({ predicted, measured }) => predicted / measured));
    expect(withinTwenty).toBeGreaterThan(0.9);
  });
});

/** The first row of the page that begins with a title. */
function cellsOf(title: string): readonly string[] {
  const line = page.split('\n').find((candidate) => candidate.startsWith(`| ${title} |`)) ?? '';
  return line
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim());
}
