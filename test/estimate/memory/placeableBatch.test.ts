/** Batches that are placed on the way to the largest that fits, by hand; and limits of what fits for sure. */

import { describe, expect, test } from 'vitest';
import { memoryOf } from '../../../server/src/estimate/memory/memoryOf.ts';
import { isLong, placeableBatch } from '../../../server/src/estimate/memory/placeableBatch.ts';
import {
  fitOf,
  fitsAtBest,
  isFarBelow,
  mostRuntimeReserve,
  type ReservedMemory,
  runtimeReserve,
} from '../../../server/src/estimate/memory/reservedMemory.ts';
import { recost } from '../../../server/src/estimate/recost.ts';
import { bytes } from '../../../server/src/model/units.ts';
import { planOf } from '../../support/estimatedStep.ts';

/** Activations of 4 MiB a sample, which the allocator has in blocks of their own, and next to no weights. */
const spec =
  'inputs: { x: "float32[batch, 1048576]" }\nlayers:\n  - a: ReLU()\n  - b: Sigmoid()\n  - c: Tanh()\n';
const plan = planOf({ cluster: 'a100-sxm-80gb', gpus: 1, batch: 4, optimizer: 'sgd', loss: 'none' }, spec);
const needed = (batch: number): number => {
  const there = recost(plan, { batchPerGpu: batch });
  return there === undefined ? Number.NaN : memoryOf(there).peak;
};
const fixed = 2 * needed(1) - needed(2);
const perSample = needed(2) - needed(1);

/** Those that were asked for, where `largest` fits; `taken` is that of a batch in samples. */
function placing(most: number, largest: number, { room = most, taken = (batch: number) => batch } = {}) {
  const asked: number[] = [];
  const batchOf = ({ bounds }: ReservedMemory): number => Math.round((bounds.low - fixed) / perSample);
  const found = placeableBatch(plan, most, {
    room: fixed + room * perSample,
    fits: (reserved) => {
      asked.push(batchOf(reserved));
      return batchOf(reserved) <= largest;
    },
    taken: (reserved) => fixed + taken(batchOf(reserved)) * perSample,
  });
  return { found, asked };
}

test('memory is that of the samples', () => {
  expect(needed(64)).toBe(fixed + 64 * perSample);
  expect(perSample).toBeGreaterThanOrEqual(2 ** 22);
});

test.each([
  // The most fits.
  [64, 64, 64, [64]],
  // Tensors alone do not say less: the next one, until one fits, and then halves of what lies between.
  [64, 63, 63, [64, 63]],
  [64, 62, 62, [64, 63, 62]],
  [1, 0, 0, [1]],
  [0, 0, 0, []],
])('of at most %i, %i fit: %i is found', (most, largest, found, asked) => {
  expect(placing(most, largest)).toEqual({ found, asked });
});

test('what the allocator takes says where to look next, and then what lies between is halved', () => {
  // It takes a fourth more: 51 of 64 would need as much as there is, 51 fits, and so on to 57.
  const { found, asked } = placing(64, 57, { taken: (batch) => 1.25 * batch });
  expect(asked[0]).toBe(64);
  expect(asked[1]).toBeGreaterThanOrEqual(50);
  expect(asked[1]).toBeLessThanOrEqual(52);
  expect(asked.slice(2)).toEqual([57, 60, 58]);
  expect(found).toBe(57);
});

test('no more than nine are placed, of a long step three', () => {
  expect(placing(64, 0)).toEqual({ found: 0, asked: [64, 63, 62, 61, 60, 59, 58, 57, 56] });
  expect(isLong(plan)).toBe(false);
  const costs = Array.from({ length: 2000 }, () => ({ kind: 'unknown', reason: '' }) as const);
  const withCosts = (count: number) => ({
    ...plan,
    training: { ...plan.training, costs: costs.slice(0, count) },
  });
  expect([
    isLong(withCosts(2000)),
    isLong({ ...plan, training: { ...plan.training, costs: [...costs, ...costs.slice(0, 1)] } }),
  ]).toEqual([false, true]);
});

test('of a model that fixes its batch the most is all there is to say', () => {
  const { analysis } = plan.training;
  const training = { ...plan.training, analysis: { ...analysis, batchSymbol: undefined } };
  const nothing = { room: 0, fits: () => false, taken: () => 0 };
  expect(placeableBatch({ ...plan, training }, 64, nothing)).toBe(64);
});

describe('what fits', () => {
  const gib = 2 ** 30;
  const capacity = bytes(21.9 * gib);
  const surely = capacity - mostRuntimeReserve;
  const atBest = capacity - runtimeReserve;

  test('far below needs three quarters of what is surely left, and is not placed', () => {
    expect(isFarBelow({ peak: bytes(0.75 * surely), capacity })).toBe(true);
    expect(isFarBelow({ peak: bytes(0.75 * surely + 1), capacity })).toBe(false);
    const place = () => {
      throw new Error('it is placed');
    };
    expect(fitOf({ peak: bytes(0.75 * surely), capacity }, place)).toBe('yes');
    expect(fitsAtBest({ peak: bytes(0.75 * surely), capacity }, place)).toBe(true);
    // More than there is need not be placed either.
    expect(fitOf({ peak: bytes(atBest + 1), capacity }, place)).toBe('no');
    expect(() => fitOf({ peak: bytes(atBest), capacity }, place)).toThrow('it is placed');
  });

  /** In so much it can be placed, and in so much where variables hold what they name. */
  const reserved = (fits: number, surelyFits: number) => (): ReservedMemory => ({
    bounds: { low: bytes(0), high: bytes(0) },
    fitsIn: (room) => room >= fits,
    surelyFitsIn: (room) => room >= surelyFits,
    held: () => ({ peak: bytes(0), reserved: bytes(0) }),
  });
  test.each([
    ['surely', 0, surely, 'yes'],
    ['where variables hold too much', 0, surely + 1, 'may'],
    ['at best', atBest, surely + 1, 'may'],
    ['not at best', atBest + 1, surely, 'no'],
  ])('%s', (_, fits, surelyFits, expected) => {
    const memory = { peak: bytes(0.9 * surely), capacity };
    expect(fitOf(memory, reserved(fits, surelyFits))).toBe(expected);
    expect(fitsAtBest(memory, reserved(fits, surelyFits))).toBe(expected !== 'no');
  });
});
