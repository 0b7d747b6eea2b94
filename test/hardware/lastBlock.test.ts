/** When the last of the blocks of a grid ends. */

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { lastBlockEnd } from '../../server/src/hardware/kernels/lastBlock.ts';

const sumOf = (costs: readonly number[]): number => costs.reduce((sum, cost) => sum + cost, 0);

describe('the last block of a grid ends', () => {
  test.each([
    ['with the longest, where there are multiprocessors for all', [1, 2, 3, 4], 2, 8, 4],
    ['after whole waves, where all blocks are alike', [5, 5], 3, 4, 10],
    // Multiprocessors: 1 + 3, 2 + 4.
    ['later, where the longest start last', [1, 2, 3, 4], 1, 2, 6],
    // Multiprocessors: 4 + 1, 3 + 2.
    ['sooner, where the longest start first', [4, 3, 2, 1], 1, 2, 5],
    ['with the sum of all, on one multiprocessor', [1, 2, 3], 2, 1, 12],
  ])('%s', (_, costs, sequences, multiprocessors, end) => {
    expect(lastBlockEnd(costs, sequences, multiprocessors)).toBe(end);
  });

  const costs = fc.array(fc.integer({ min: 1, max: 64 }), { minLength: 1, maxLength: 40 });
  const grid = [costs, fc.integer({ min: 1, max: 300 }), fc.integer({ min: 1, max: 150 })] as const;

  test('no sooner than the longest and the mean, no later than list scheduling may (Graham 1969, theorem 1)', () => {
    fc.assert(
      fc.property(...grid, (list, sequences, multiprocessors) => {
        const end = lastBlockEnd(list, sequences, multiprocessors);
        const [mean, longest] = [(sequences * sumOf(list)) / multiprocessors, Math.max(...list)];
        expect(end).toBeGreaterThanOrEqual(Math.max(mean, longest) - 1e-9);
        expect(end).toBeLessThanOrEqual(mean + longest * (1 - 1 / multiprocessors) + 1e-9);
      }),
    );
  });

  test('one sequence more takes no less', () => {
    fc.assert(
      fc.property(...grid, (list, sequences, multiprocessors) => {
        const less = lastBlockEnd(list, sequences, multiprocessors);
        // What is left out of a large grid is no more than a block.
        expect(lastBlockEnd(list, sequences + 1, multiprocessors)).toBeGreaterThanOrEqual(
          less - (sequences * list.length > 2048 ? Math.max(...list) : 0),
        );
      }),
    );
  });
});
