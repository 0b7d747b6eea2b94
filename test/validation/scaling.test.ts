/** Steps of several GPUs against what was published, given one GPU: `measured/scaling-*.csv`. */

import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { graphOpener } from '../../scripts/validate/graphs.ts';
import { statisticsOf } from '../../scripts/validate/judge.ts';
import { judgeBounds, ratios } from '../../scripts/validate/scaling/judged.ts';
import { judgeScaling } from '../../scripts/validate/scaling/scaledSets.ts';
import { workersSpread } from '../../server/src/estimate/plan/givenStepFactors.ts';

const root = resolve(import.meta.dirname, '../..');
const shared = resolve(root, '../shared');
const isPresent = existsSync(join(shared, 'models/timm-train'));
if (!isPresent) console.warn('shared graphs are absent: steps of several GPUs are not judged');

describe.runIf(isPresent)('steps of several GPUs, given one', () => {
  const sets = judgeScaling(join(root, 'measured'), graphOpener(root, shared)) ?? [];

  test('no graph is absent', () => {
    expect(sets.length).toBeGreaterThan(0);
  });

  // Shortfalls are recorded as such, so that neither a gain nor a loss goes unseen.
  test.each([
    ['B-Caffe', true],
    ['16 V100', true],
    ['Survey', false],
    ['TensorFlow 1', true],
    ['Horovod and TensorFlow, 64 GPUs: VGG-16', true],
    ['Horovod and TensorFlow, 64 GPUs: the others', true],
    ['Caffe-MPI', false],
    ['NVIDIA examples', true],
  ])('%s: aim reached: %s', (title, reached) => {
    const set = sets.find((one) => one.title.startsWith(title));
    expect(set?.reached).toBe(reached);
  });

  test('the survey is within 7 % on average, and 14 of 15 pairs of methods keep their order', () => {
    const survey = sets.find(({ title }) => title.startsWith('Survey'));
    expect(statisticsOf(ratios(survey?.rows ?? [])).mean).toBeLessThanOrEqual(0.07);
    const [, kept = '0', pairs = '1'] = /(\d+) of (\d+) pairs/.exec(survey?.aim ?? '') ?? [];
    expect(Number(kept) / Number(pairs)).toBeGreaterThan(14 / 15);
  });

  test('the standard deviations of workers are the fitted ones', () => {
    // The survey sets none of them, so nothing is left out for it.
    const survey = sets.find(({ title }) => title.startsWith('Survey'));
    expect(survey?.heldSpread).toBeCloseTo(workersSpread.high, 2);
    const spreads = sets.map(({ calibrated }) => /spread by (.*?) %/.exec(calibrated)?.[1]);
    expect(new Set(spreads.filter((spread) => spread !== undefined))).toEqual(
      new Set([(100 * workersSpread.middle).toFixed(1)]),
    );
  });

  test('three of four given steps or more lie in the range, by default and calibrated', () => {
    for (const { title, rows, byDefault } of sets) {
      for (const judged of [rows, byDefault ?? []].filter(({ length }) => length > 20)) {
        expect(judgeBounds(judged)?.inRange, title).toBeGreaterThanOrEqual(0.75);
      }
    }
  });

  test('the page says what is reached; run npm run validate', () => {
    const lines = readFileSync(join(root, 'docs/ACCURACY.md'), 'utf8').split('\n');
    for (const { title, aim, reached } of sets) {
      const line = lines.find((one) => one.startsWith(`| ${title} |`) && one.includes(' % |'));
      expect(line, title).toBeDefined();
      if (aim !== '') expect(line).toMatch(reached ? /: reached \|$/ : /: not reached \|$/);
    }
  });
});
