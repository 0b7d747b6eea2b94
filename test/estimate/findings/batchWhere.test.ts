/** The batch that advice names: which are costed on the way to it, by hand, and that it is one with which the step holds. */

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { batchWhere } from '../../../server/src/estimate/findings/batchWhere.ts';
import { planOf } from '../../support/estimatedStep.ts';

const spec = 'inputs: { x: "float32[batch, 8]" }\nlayers:\n  - fc: Linear(8)\n';

/** What is found from a batch on, and the batches that were costed for it. */
function searchFrom(batch: number, margin: (batch: number, growth: number) => number) {
  const plan = planOf({ cluster: 'dgx-a100', gpus: 1, batch }, spec);
  const costed: number[] = [];
  const found = batchWhere(plan, (there, growth) => {
    const { batch: present } = there.training;
    if (there !== plan && costed.at(-1) !== present) costed.push(present);
    return margin(present, growth);
  });
  expect(found?.plan?.training.batch).toBe(found?.batch);
  return { batch: found?.batch, costed };
}

/** Where kernels grow with their batch, the first guess is the least batch. */
test.each([
  [10, 25, 25, [25]],
  [10, 10.5, 11, [11]],
  [100, 100.5, 102, [102]],
  [10, 639.5, 640, [640]],
  // At most 64 times as much.
  [10, 640, 640, [640]],
  [10, 640.5, undefined, []],
  [1, 64, 64, [64]],
  [1, 65, undefined, []],
])('from a batch of %i, %f samples are enough: %s', (present, enough, batch, costed) => {
  expect(searchFrom(present, (there, growth) => there * growth - enough)).toEqual({ batch, costed });
});

/**
 * A margin of √batch · growth − 10 holds from 100 on. From 25 twice as much seems enough. The secant through (25, −5) and
 * (50, −2.929) leads to 86, that through (50, −2.929) and (86, −0.726) to 98, and 2 % more than that is 100.
 */
test('margins of the last two steps lead on', () => {
  expect(searchFrom(25, (there, growth) => Math.sqrt(there) * growth - 10)).toEqual({
    batch: 100,
    costed: [50, 86, 98, 100],
  });
});

test('where a step came no nearer, it is as if the search began there', () => {
  // Twice the batch always seems to be enough, and never is.
  expect(searchFrom(10, (_, growth) => (growth === 1 ? -1 : growth - 2))).toEqual({
    batch: undefined,
    costed: [20, 40, 80, 160, 320, 640],
  });
});

test('no more than eight are costed', () => {
  const { batch, costed } = searchFrom(100, (_, growth) => (growth === 1 ? -1 : growth - 1.05));
  expect(batch).toBeUndefined();
  expect(costed).toEqual([105, 111, 117, 123, 130, 137, 144, 152]);
});

test('of a model that fixes its batch the first guess is all there is', () => {
  const plan = planOf({ cluster: 'dgx-a100', gpus: 1, batch: 10 }, spec);
  const { analysis } = plan.training;
  const training = { ...plan.training, analysis: { ...analysis, batchSymbol: undefined } };
  expect(batchWhere({ ...plan, training }, (_, growth) => 10 * growth - 25)).toEqual({ batch: 25 });
});

test('what is found holds, and is larger', () => {
  const size = fc.integer({ min: 1, max: 50 });
  fc.assert(
    fc.property(size, fc.double({ min: 1.1, max: 70, noNaN: true }), (present, times) => {
      const margin = (there: number, growth: number) => there * growth - present * times;
      const { batch } = searchFrom(present, margin);
      expect(batch === undefined).toBe(margin(64 * present, 1) < 0);
      if (batch === undefined) return;
      expect(margin(batch, 1)).toBeGreaterThanOrEqual(0);
      expect(batch).toBeGreaterThan(present);
      expect(batch).toBeLessThanOrEqual(64 * present);
    }),
    { numRuns: 20 },
  );
});
