/** What stored tensors repeat, by their elements: folded `expand`, `embedding` and tables of positions. */

import { expect, test } from 'vitest';
import { byteSourceOfBuffer } from '../../../server/src/formats/byteSource.ts';
import { repeatedVectors } from '../../../server/src/formats/onnx/repeatedVectors.ts';
import type { RepeatedVectors } from '../../../server/src/model/attribute.ts';

/** Elements by their place; places in an axis of length 1 are 0. */
type ElementAt = (...place: readonly number[]) => number;

const elementsOf = (dimensions: readonly number[], at: ElementAt): readonly number[] =>
  dimensions
    .reduce<readonly (readonly number[])[]>(
      (places, length) => places.flatMap((place) => Array.from({ length }, (_, index) => [...place, index])),
      [[]],
    )
    .map((place) => at(...place));

test.each<[string, readonly number[], ElementAt, RepeatedVectors | undefined]>([
  ['every element is another', [3, 4, 5], (i, j, k) => 20 * i + 5 * j + k, undefined],
  ['a token for each image', [3, 4, 5], (_, j = 0, k = 0) => 5 * j + k, { broadcastAxis: 0 }],
  ['one row for each token', [3, 4, 5], (_, __, k = 0) => k, { broadcastAxis: 0, alike: [1] }],
  ['a sink for each head', [2, 4, 6, 1], (_, head = 0) => head, { broadcastAxis: 0, alike: [2] }],
  [
    'a number for each head of each image',
    [2, 4, 6, 5],
    (_, head = 0) => head,
    { broadcastAxis: 0, alike: [2, 3] },
  ],
  [
    'alike along an axis, but another in each image',
    [3, 4, 5],
    (i = 0, _, k = 0) => 5 * i + k,
    { lookup: { axis: 0, distinct: 5 } },
  ],
  [
    'biases of 2 heads for pairs of 3 positions',
    [3, 3, 2],
    (i = 0, j = 0, head = 0) => 10 * (i - j) + head,
    { lookup: { axis: 2, distinct: 5 } },
  ],
])('%s', (_, dimensions, at, expected) => {
  const elements = elementsOf(dimensions, at);
  const tensor = {
    name: 'stored',
    elementType: 'float32' as const,
    dimensions,
    elements,
    storedBytes: 4 * elements.length,
  };
  const found = repeatedVectors(tensor, byteSourceOfBuffer(Buffer.alloc(0)), undefined, 'none');
  expect(found).toEqual(expected);
});

/** `token.expand(3, 4, 5)` of `[1, 1, 5]` or `[1, 4, 5]`, of which nothing but zeros is stored. */
test.each<[string, readonly number[], RepeatedVectors]>([
  ['rows that may be one row', [3, 4, 5], { broadcastAxis: 0, isAssumed: true }],
  ['one row', [3, 1, 5], { broadcastAxis: 0 }],
])('zeros that were expanded: %s', (_, dimensions, expected) => {
  const elements = elementsOf(dimensions, () => 0);
  const storedBytes = 4 * elements.length;
  const tensor = { name: 'stored', elementType: 'float32' as const, dimensions, elements, storedBytes };
  const found = repeatedVectors(tensor, byteSourceOfBuffer(Buffer.alloc(0)), undefined, 'as it is');
  expect(found).toEqual(expected);
});
