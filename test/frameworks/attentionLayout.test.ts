/**
 * How fused attention lays out what it gives, of 2 sequences with 4 heads of 10 tokens and 16 elements. PyTorch 2.13
 * aten/src/ATen/native/transformers/cuda/flash_attn/flash_api.cpp, `mha_fwd`: as the query lies. The memory-efficient kernel, which takes
 * masks and narrower heads of values, writes tokens before heads.
 */

import { expect, test } from 'vitest';
import { attentionLayout } from '../../server/src/frameworks/pytorch/attentionLayout.ts';
import { contiguous, permuted } from '../../server/src/frameworks/pytorch/strides.ts';
import type { Graph, Value } from '../../server/src/model/graph.ts';

const ofShape = (name: string, shape: readonly number[]): readonly [string, Value] => [
  name,
  { name, role: 'activation', type: { kind: 'tensor', elementType: 'float32', shape }, consumers: [] },
];
const graph: Graph = {
  ...{ name: 'attention', inputs: [], outputs: [], operators: [], operatorSets: new Map() },
  values: new Map([
    ofShape('q', [2, 4, 10, 16]),
    ofShape('v', [2, 4, 10, 16]),
    ofShape('narrow', [2, 4, 10, 8]),
  ]),
};

/** Strides of [2, 4, 10, 16] where tokens come before heads in memory, and where heads do. */
const [tokensFirst, headsFirst] = [
  [640, 16, 64, 1],
  [640, 160, 16, 1],
];
const lies = {
  tokens: permuted(contiguous([2, 10, 4, 16]), [0, 2, 1, 3]),
  heads: contiguous([2, 4, 10, 16]),
};

test.each([
  ['tokens', 'v', undefined, tokensFirst],
  ['heads', 'v', undefined, headsFirst],
  // No mask is none, or an empty name.
  ['heads', 'v', '', headsFirst],
  ['heads', 'v', 'mask', tokensFirst],
  ['heads', 'narrow', undefined, tokensFirst],
  ['tokens', 'v', 'mask', tokensFirst],
  ['tokens', 'narrow', undefined, tokensFirst],
] as const)('a query with %s first, values %s, mask %s', (order, value, mask, strides) => {
  const sizes = [2, 4, 10, 16];
  const given = attentionLayout(graph, { query: 'q', value, mask }, { layout: () => lies[order], sizes });
  expect(given).toEqual({ sizes, strides });
});

test('heads of one token lie as they do', () => {
  const one = contiguous([2, 4, 1, 16]);
  const read = { query: 'q', value: 'v', mask: 'mask' };
  expect(attentionLayout(graph, read, { layout: () => one, sizes: [2, 4, 1, 16] })).toEqual(one);
});

test('without an axis for heads the result lies in order', () => {
  const turned = permuted(contiguous([16, 10, 2]), [2, 1, 0]);
  const read = { query: 'q', value: 'v', mask: undefined };
  const given = attentionLayout(graph, read, { layout: () => turned, sizes: [2, 10, 16] });
  expect(given).toEqual({ sizes: [2, 10, 16], strides: [160, 16, 1] });
  // One whose sizes are not known is taken to lie in order.
  expect(attentionLayout(graph, read, { layout: () => undefined, sizes: [2, 4, 10, 16] })).toEqual(
    lies.heads,
  );
});
