import { describe, expect, test } from 'vitest';
import {
  collectivesOf,
  modelStatePerRank,
  volumePerRank,
} from '../../server/src/communication/shardedDataParallel.ts';
import { bytes } from '../../server/src/model/units.ts';

/** 7.5 billion parameters, mixed-precision Adam: 2 + 2 + 12 bytes each. */
const parameters = 7.5e9;
const state = {
  parameters: bytes(2 * parameters),
  gradients: bytes(2 * parameters),
  optimizer: bytes(12 * parameters),
};

describe('64 ranks, 8 per node', () => {
  // ZeRO, table 1 and section 7: GB of model state per rank; volume in elements over the parameters.
  test.each([
    ['none', 120, 2],
    ['zero-1', 31.4, 2],
    ['zero-2', 16.6, 2],
    ['zero-3', 1.9, 3],
    ['hybrid', 15, 3],
  ] as const)('%s: %f GB, about %i times the parameters', (sharding, gigabytes, volume) => {
    const kept = modelStatePerRank(sharding, state, 64, 8);
    expect((kept.parameters + kept.gradients + kept.optimizer) / 1e9).toBeCloseTo(gigabytes, 1);
    const collectives = collectivesOf(sharding, bytes(parameters), bytes(parameters), 8);
    const sent = volumePerRank(collectives, 64, 8) / parameters;
    const exact = sharding === 'hybrid' ? (3 * 7) / 8 + (2 * 7) / 8 / 8 : (volume * 63) / 64;
    expect(sent).toBeCloseTo(exact, 12);
  });
});

test('one rank sends nothing', () => {
  const collectives = collectivesOf('zero-3', bytes(100), bytes(100), 1);
  expect(volumePerRank(collectives, 1, 1)).toBe(0);
});

test('full sharding gathers before each pass and scatters gradients after', () => {
  const found = collectivesOf('zero-3', bytes(4), bytes(2), 8);
  expect(found.map(({ kind, when, bytes: size }) => [kind, when, size])).toEqual([
    ['all-gather', 'before forward', 2],
    ['all-gather', 'before backward', 2],
    ['reduce-scatter', 'after backward', 4],
  ]);
});
