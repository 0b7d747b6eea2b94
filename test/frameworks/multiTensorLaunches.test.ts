/** Launches of kernels over lists of tensors, counted by hand with the limits of PyTorch's MultiTensorApply.cuh. */

import { expect, test } from 'vitest';
import { multiTensorLaunches } from '../../server/src/frameworks/pytorch/multiTensorLaunches.ts';

const chunk = 65_536;
const many = (count: number, length: number): readonly number[] =>
  Array.from({ length: count }, () => length);

test.each([
  ['a tensor of one element', [1], 1, '32 KiB', [[1, 1, 1]]],
  ['no tensors', [], 1, '32 KiB', []],
  ['empty tensors take no block', [0, 5], 2, '32 KiB', [[1, 5, 5]]],
  ['a chunk and one element more', [chunk + 1], 1, '4 KiB', [[2, chunk + 1, chunk]]],
  [
    'one list: 110 tensors',
    many(111, 3),
    1,
    '4 KiB',
    [
      [110, 330, 3],
      [1, 3, 3],
    ],
  ],
  [
    'four lists: 36 tensors',
    many(37, 3),
    4,
    '4 KiB',
    [
      [36, 108, 3],
      [1, 3, 3],
    ],
  ],
  [
    'four lists: 252 tensors',
    many(253, 3),
    4,
    '32 KiB',
    [
      [252, 756, 3],
      [1, 3, 3],
    ],
  ],
  [
    '320 blocks',
    [321 * chunk],
    1,
    '4 KiB',
    [
      [320, 320 * chunk, chunk],
      [1, chunk, chunk],
    ],
  ],
  [
    '2,240 blocks',
    [2241 * chunk],
    1,
    '32 KiB',
    [
      [2240, 2240 * chunk, chunk],
      [1, chunk, chunk],
    ],
  ],
  [
    'a tensor begins behind another',
    [chunk, 320 * chunk],
    1,
    '4 KiB',
    [
      [320, 320 * chunk, chunk],
      [1, chunk, chunk],
    ],
  ],
] as const)('%s', (_, lengths, lists, room, expected) => {
  const launches = multiTensorLaunches(lengths, lists, room);
  expect(launches.map(({ blocks, elements, longest }) => [blocks, elements, longest])).toEqual(expected);
});
