/** How many chunks of a rank are tried with interleaved stages. */

import { expect, it } from 'vitest';
import { chunksTried } from '../../../server/src/estimate/planner/scheduleTrials.ts';

it.each<readonly [blocks: number, pipeline: number, chunks: readonly number[]]>([
  [64, 4, [2, 4]],
  [80, 8, [2, 5]],
  [24, 8, [3]],
  [60, 4, [3, 5]],
  [12, 2, [2, 6]],
  [28, 4, [7]],
  // One block of a rank is not cut.
  [8, 8, []],
  // Eleven are cut into eleven alone, which is many messages.
  [44, 4, []],
  // Ranks of unlike numbers of blocks are refused.
  [61, 4, []],
])('%d blocks on %d ranks', (blocks, pipeline, chunks) => {
  expect(chunksTried(blocks, pipeline, true)).toEqual(chunks);
});

it.each<readonly [blocks: number, pipeline: number, chunks: readonly number[]]>([
  [64, 4, [2, 4]],
  [44, 4, [2, 4]],
  [61, 4, [2, 4]],
  [12, 4, [2]],
  [8, 8, []],
])('%d blocks on %d ranks, where stages may have unlike numbers', (blocks, pipeline, chunks) => {
  expect(chunksTried(blocks, pipeline, false)).toEqual(chunks);
});
