/**
 * How BLAS is called for each matmul, column by column. A layer's y = x·Wᵀ is `tn`, its dx = dy·W `nn`, its dW = dyᵀ·x `nt`:
 * to BLAS a matmul of matrices that lie row by row is that of their transposes, the right one first.
 */

import { expect, test } from 'vitest';
import type { Work } from '../../server/src/operators/definition.ts';
import { type Application, costText } from './check.ts';

const layouts = ({ matmuls }: Work): string =>
  (matmuls ?? []).map(({ shape }) => (shape.kind === 'matmul' ? shape.layout : shape.kind)).join(' ');

const gemm = (transA: 0 | 1, transB: 0 | 1): Application => ({
  type: 'Gemm',
  inputs: [transA ? 'float32[64, 32]' : 'float32[32, 64]', transB ? 'float32[16, 64]' : 'float32[64, 16]'],
  attributes: { transA, transB },
});

/** Forward, gradient of activations, gradient of parameters. */
const rows: readonly (readonly [
  string,
  Application,
  readonly ('weight' | 'data')[],
  string,
  string,
  string,
])[] = [
  ['a layer as exported', gemm(0, 1), ['data', 'weight'], 'tn', 'nn', 'nt'],
  [
    'Conv1D of transformers, whose weight is not transposed',
    gemm(0, 0),
    ['data', 'weight'],
    'nn',
    'tn',
    'nt',
  ],
  ['A transposed: its gradient lies as it does', gemm(1, 0), ['data', 'weight'], 'nt', 'tn', 'nn'],
  [
    'a layer over three axes, whose weight was transposed at export',
    { type: 'MatMul', inputs: ['float32[4, 8, 64]', 'float32[64, 16]'] },
    ['data', 'weight'],
    'tn',
    'nn',
    'nt',
  ],
  [
    'two activations as they lie',
    { type: 'MatMul', inputs: ['float32[4, 8, 64]', 'float32[4, 64, 16]'] },
    ['data', 'data'],
    'nn',
    'tn nt',
    '',
  ],
  [
    'the transposes of FusedMatMul',
    {
      type: 'FusedMatMul',
      domain: 'com.microsoft',
      inputs: ['float32[4, 8, 64]', 'float32[4, 16, 64]'],
      attributes: { transB: 1 },
    },
    ['data', 'data'],
    'tn',
    'nn nt',
    '',
  ],
  [
    'a recurrent layer of cuDNN, which transposes its weights first',
    { type: 'RNN', inputs: ['float32[7, 4, 8]', 'float32[1, 16, 8]', 'float32[1, 16, 16]'], outputs: 2 },
    ['data', 'weight', 'weight'],
    'nn nn',
    'nn nn',
    'nt nt',
  ],
];

test.each(rows)('%s', (_, application, gradients, forward, data, weight) => {
  const cost = costText(application, gradients);
  expect([layouts(cost.forward), layouts(cost.backwardData), layouts(cost.backwardWeight)]).toEqual([
    forward,
    data,
    weight,
  ]);
});
