/** Launches of kernels over lists of tensors, counted by hand with the limits of PyTorch's MultiTensorApply.cuh. */

import { expect, test } from 'vitest';
import { multiTensorLaunches } from '../../server/src/frameworks/pytorch/multiTensorLaunches.ts';

const chunk = 65_536;
const many = (count: number, length: number): readonly number[] =>
  Array.from({ length: count }, () => length);

test.each([
  ['a tensor of one element', [1], 1, '32 KiB', '1 × 1 blocks of 1, longest 1'],
  ['no tensors', [], 1, '32 KiB', ''],
  ['empty tensors take no block', [0, 5], 2, '32 KiB', '1 × 1 blocks of 5, longest 5'],
  ['a chunk and one element more', [chunk + 1], 1, '4 KiB', '1 × 2 blocks of 65537, longest 65536'],
  ['one list', many(111, 3), 1, '4 KiB', '1 × 110 blocks of 330, longest 3; 1 × 1 blocks of 3, longest 3'],
  ['four lists', many(37, 3), 4, '4 KiB', '1 × 36 blocks of 108, longest 3; 1 × 1 blocks of 3, longest 3'],
  [
    'room for more',
    many(253, 3),
    4,
    '32 KiB',
    '1 × 252 blocks of 756, longest 3; 1 × 1 blocks of 3, longest 3',
  ],
  [
    '320 blocks',
    [321 * chunk],
    1,
    '4 KiB',
    '1 × 320 blocks of 20971520, longest 65536; 1 × 1 blocks of 65536, longest 65536',
  ],
  [
    '2,240 blocks',
    [2241 * chunk],
    1,
    '32 KiB',
    '1 × 2240 blocks of 146800640, longest 65536; 1 × 1 blocks of 65536, longest 65536',
  ],
  [
    'a tensor begins behind another',
    [chunk, 320 * chunk],
    1,
    '4 KiB',
    '1 × 320 blocks of 20971520, longest 65536; 1 × 1 blocks of 65536, longest 65536',
  ],
] as const)('%s', (_, lengths, lists, room, expected) => {
  const text = multiTensorLaunches(lengths, lists, room)
    .map(
      ({ count, blocks, elements, longest }) =>
        `${count} × ${blocks} blocks of ${elements}, longest ${longest}`,
    )
    .join('; ');
  expect(text).toBe(expected);
});

test('however long a tensor is, its launches are few entries', () => {
  const launches = multiTensorLaunches([2 ** 70, 7], 3, '4 KiB');
  expect(launches.length).toBeLessThan(4);
  expect(launches.reduce((total, { count, elements }) => total + count * elements, 0)).toBe(2 ** 70 + 7);
});
