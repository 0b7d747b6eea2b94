/** A step with something changed, and the largest batch that needs no more than there is: by memory that is known by hand. */

import { describe, expect, test } from 'vitest';
import { memoryOf } from '../../server/src/estimate/memory/memoryOf.ts';
import type { StepPlan } from '../../server/src/estimate/plan/stepPlan.ts';
import { fittingBatch, recost } from '../../server/src/estimate/recost.ts';
import { planOf } from '../support/estimatedStep.ts';

/** Activations of 4 MiB a sample, and next to no weights. */
const spec =
  'inputs: { x: "float32[batch, 1048576]" }\nlayers:\n  - a: ReLU()\n  - b: Sigmoid()\n  - c: Tanh()\n';
const asked = { cluster: 'a100-sxm-80gb', gpus: 1, batch: 8, optimizer: 'sgd', loss: 'none' } as const;
const ofEight = (): StepPlan => planOf(asked, spec);

const fixing = (plan: StepPlan): StepPlan => ({
  ...plan,
  training: { ...plan.training, analysis: { ...plan.training.analysis, batchSymbol: undefined } },
});

describe('a step', () => {
  test('of another batch is that of a scenario that asks for it', () => {
    const there = recost(ofEight(), { batchPerGpu: 2 });
    const own = planOf({ ...asked, batch: 2 }, spec);
    expect(there?.training.batch).toBe(2);
    expect(there && memoryOf(there).peak).toBe(memoryOf(own).peak);
    expect(there?.scenario.dimensions).toEqual({ batch: 2 });
    expect(there?.times).toEqual(own.times);
  });

  test('of a model that fixes its batch has no other, and may change in anything else', () => {
    const plan = fixing(ofEight());
    expect(recost(plan, { batchPerGpu: 2 })).toBeUndefined();
    const changed = recost(plan, { optimizer: 'adamw' });
    expect([changed?.training, changed?.scenario.optimizer]).toEqual([plan.training, 'adamw']);
  });
});

describe('the largest batch that fits', () => {
  /** `room`: in samples over what every batch needs. `guess`: what memory in proportion says. */
  const largest = (room: number, guess: number, plan = ofEight()): number => {
    const [one, two] = [1, 2].map((batch) => {
      const there = recost(ofEight(), { batchPerGpu: batch });
      return there === undefined ? expect.fail() : memoryOf(there).peak;
    });
    if (one === undefined || two === undefined) return expect.fail();
    const perSample = two - one;
    const memory = { ...memoryOf(plan), largestBatch: () => guess };
    return fittingBatch(plan, memory, one - perSample + room * perSample);
  };

  test.each([
    ['the guess, where it fits', 3, 3, 3],
    ['no larger than the guess', 7, 3, 3],
    ['no larger than the step has', 100, 50, 8],
    ['one less, where the guess does not fit', 4, 5, 4],
    ['what memory there says, far below the guess', 2.5, 8, 2],
    ['none', -1, 8, 0],
    ['none, where the guess says so', 8, 0, 0],
    ['none, where the guess is less than none', 8, -3, 0],
  ])('is %s', (_, room, guess, expected) => {
    expect(largest(room, guess)).toBe(expected);
  });

  test('is the guess where the model fixes its batch', () => {
    expect(largest(-1, 5, fixing(ofEight()))).toBe(5);
  });
});
