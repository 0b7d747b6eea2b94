/** The range of the memory that a step needs: its causes, and that its half-widths are the fitted ones. */

import { resolve } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { fitMemoryDoubt } from '../../scripts/calibrate/memoryDoubts.ts';
import { graphOpener } from '../../scripts/validate/graphs.ts';
import { doubtedPeaks, rangeOfPeak } from '../../scripts/validate/memoryRanges.ts';
import { judgePeaks } from '../../scripts/validate/peaks.ts';
import { keptModel, memoryDoubts, neededRange } from '../../server/src/estimate/memory/neededRange.ts';

const gib = 2 ** 30;

test('tensors are doubted, the allocator takes what they need or more, driver and kernels 0.5 to 1.9 GiB', () => {
  const { low, high } = neededRange(10 * gib, { low: 10 * gib, high: 11 * gib }, 'copy');
  expect(low / gib).toBeCloseTo(10 * Math.exp(-memoryDoubts.copy.low) + 0.5, 6);
  expect(high / gib).toBeCloseTo(11 * Math.exp(memoryDoubts.copy.high) + 1.9, 6);
});

test('it holds what is predicted, and is wider downwards where GPUs share a copy', () => {
  const size = fc.integer({ min: 1, max: 1e12 });
  fc.assert(
    fc.property(size, size, (peak, more) => {
      const reserved = { low: peak, high: peak + more };
      const [copy, part, across] = (['copy', 'part', 'partAcrossNodes'] as const).map((kept) =>
        neededRange(peak, reserved, kept),
      );
      expect(copy?.low).toBeLessThan(peak + 0.5 * gib);
      expect(copy?.high).toBeGreaterThan(reserved.high + 0.5 * gib);
      expect(part?.low).toBeLessThanOrEqual(copy?.low ?? 0);
      expect(across?.low).toBeLessThanOrEqual(part?.low ?? 0);
    }),
  );
});

test.each([
  [undefined, 16, 2, 'copy'],
  [8, 16, 2, 'part'],
  [16, 16, 2, 'partAcrossNodes'],
  [1, 16, 2, 'part'],
] as const)('tensor parallelism of %s on %i GPUs of %i nodes: %s', (tensor, gpus, nodes, kept) => {
  const parallel = tensor === undefined ? {} : { parallel: { tensor } };
  expect(keptModel({ gpus, nodes, ...parallel })).toBe(kept);
});

describe('published peaks', () => {
  const root = resolve(import.meta.dirname, '../..');
  const { rows } = judgePeaks(resolve(root, 'measured'), graphOpener(root, resolve(root, '../shared')));

  test('set the doubt of a whole copy', () => {
    expect(memoryDoubts.copy).toEqual(fitMemoryDoubt(doubtedPeaks(rows)));
  });

  test('four of five lie in the range', () => {
    const inside = rows.filter((row) => {
      const { low, high } = rangeOfPeak(row);
      return low <= row.measured && row.measured <= high;
    });
    expect(inside.length / rows.length).toBeGreaterThanOrEqual(0.8);
  });
});
