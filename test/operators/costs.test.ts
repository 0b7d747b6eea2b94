/**
 * What operators cost: FLOPs, element-wise operations, traffic, kernels and what backward keeps.
 *
 * FLOPs are computed by hand from `torch.utils.flop_counter` (2 per multiply-add, no bias, no element-wise work).
 */

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { KnownCost, SavedTensor, Work } from '../../server/src/operators/definition.ts';
import { type Application, costText, definitionOf } from './check.ts';

type Gradients = readonly ('weight' | 'data' | 'none')[];
/** Forward, gradient of activations, gradient of parameters. */
type Flops = readonly [number, number, number];

const parts = (cost: KnownCost): readonly Work[] => [cost.forward, cost.backwardData, cost.backwardWeight];

const normalized = 'float32[2, 4, 8, 8]';
const normalizing: Gradients = ['data', 'weight', 'weight'];
const two = (input: string): readonly string[] => [input, input];
const four = (input: string): readonly string[] => [...two(input), ...two(input)];

const trained: Gradients = ['data', 'weight', 'weight'];

const flopRows: readonly (readonly [string, Application, Gradients, Flops])[] = [
  [
    'ResNet-50 stem',
    {
      type: 'Conv',
      inputs: ['float32[8, 3, 224, 224]', 'float32[64, 3, 7, 7]'],
      attributes: { strides: [2, 2], pads: [3, 3, 3, 3] },
    },
    ['none', 'weight'],
    [2 * 8 * 64 * 112 * 112 * 3 * 49, 0, 2 * 8 * 64 * 112 * 112 * 3 * 49],
  ],
  [
    'a grouped convolution divides by its groups, forward and backward',
    {
      type: 'Conv',
      inputs: ['float32[1, 64, 8, 8]', 'float32[128, 16, 3, 3]'],
      attributes: { group: 4, pads: [1, 1, 1, 1] },
    },
    trained,
    [2 * 128 * 64 * 16 * 9, 2 * 128 * 64 * 16 * 9, 2 * 128 * 64 * 16 * 9],
  ],
  [
    'a 3-D convolution',
    { type: 'Conv', inputs: ['float32[2, 4, 8, 8, 8]', 'float32[6, 4, 3, 3, 3]'] },
    ['data', 'weight'],
    [2 * 2 * 6 * 216 * 4 * 27, 2 * 2 * 6 * 216 * 4 * 27, 2 * 2 * 6 * 216 * 4 * 27],
  ],
  [
    'a transposed convolution counts the positions of its input',
    {
      type: 'ConvTranspose',
      inputs: ['float32[1, 16, 8, 8]', 'float32[16, 4, 4, 4]'],
      attributes: { strides: [2, 2], pads: [1, 1, 1, 1], group: 2 },
    },
    ['data', 'weight'],
    [2 * 64 * 16 * 4 * 16, 2 * 64 * 16 * 4 * 16, 2 * 64 * 16 * 4 * 16],
  ],
  [
    'a chunk of the gated delta rule: three scores or weights times 64 tokens, and three products with its state',
    {
      type: 'GatedDeltaRule',
      domain: 'layercost',
      inputs: [...two('float32[2, 100, 4, 32]'), 'float32[2, 100, 4, 48]', ...two('float32[2, 100, 4]')],
    },
    Array.from({ length: 5 }, () => 'data' as const),
    [
      2 * 2 * 4 * 128 * (64 * (32 + 32 + 48) + 3 * 32 * 48),
      4 * 2 * 4 * 128 * (64 * (32 + 32 + 48) + 3 * 32 * 48),
      0,
    ],
  ],
  [
    'a step of a decoder by the gated delta rule has no chunks',
    {
      type: 'GatedDeltaRule',
      domain: 'layercost',
      inputs: [...two('float32[2, 1, 4, 32]'), 'float32[2, 1, 4, 48]', ...two('float32[2, 1, 4]')],
    },
    [],
    [2 * 2 * 4 * (32 + 32 + 48 + 3 * 32 * 48), 0, 0],
  ],
  [
    'a selective scan multiplies each state by C',
    {
      type: 'SelectiveScan',
      domain: 'layercost',
      inputs: [...two('float32[2, 96, 100]'), 'float32[96, 16]', ...two('float32[2, 16, 100]')],
    },
    ['data', 'data', 'weight', 'data', 'data'],
    [2 * 2 * 96 * 100 * 16, 4 * 2 * 96 * 100 * 16, 0],
  ],
  [
    'two chunks of Mamba-2, the second half empty, and three states before and between them',
    {
      type: 'StateSpaceScan',
      domain: 'layercost',
      inputs: [
        'float32[2, 100, 6, 16]',
        'float32[2, 100, 6]',
        'float32[6]',
        ...two('float32[2, 100, 2, 24]'),
      ],
      attributes: { chunk_size: 64 },
    },
    [],
    [2 * 2 * 6 * (128 * (64 * (24 + 16) + 2 * 24 * 16) + 9 * 24 * 16), 0, 0],
  ],
  [
    'a linear layer',
    {
      type: 'Gemm',
      inputs: ['float32[32, 2048]', 'float32[1000, 2048]', 'float32[1000]'],
      attributes: { transB: 1 },
    },
    trained,
    [2 * 32 * 2048 * 1000, 2 * 32 * 2048 * 1000, 2 * 32 * 2048 * 1000],
  ],
  [
    'transposed left side',
    { type: 'Gemm', inputs: ['float32[6, 3]', 'float32[6, 4]'], attributes: { transA: 1 } },
    [],
    [2 * 3 * 4 * 6, 0, 0],
  ],
  [
    'a product of two activations has both gradients in data',
    { type: 'MatMul', inputs: ['float32[2, 12, 128, 64]', 'float32[2, 12, 64, 128]'] },
    ['data', 'data'],
    [2 * 24 * 128 * 128 * 64, 4 * 24 * 128 * 128 * 64, 0],
  ],
  [
    'a broadcasting product',
    { type: 'MatMul', inputs: ['float32[4, 3, 5, 6]', 'float32[6, 7]'] },
    [],
    [2 * 12 * 5 * 7 * 6, 0, 0],
  ],
  [
    'a broadcasting product with a wider right side',
    { type: 'MatMul', inputs: ['float32[5, 6]', 'float32[4, 3, 6, 7]'] },
    [],
    [2 * 12 * 5 * 7 * 6, 0, 0],
  ],
  // As `FlopCounterMode` of PyTorch 2.13 counts it: the second product sums nothing.
  [
    'a chain of einsum',
    {
      type: 'Einsum',
      inputs: ['float32[2, 3, 4]', 'float32[2, 5, 4]', 'float32[2, 6, 3, 5]', 'float32[2, 5, 6, 7]'],
      attributes: { equation: 'bln,bsn,bhls,bshp->blhp' },
    },
    [],
    [2 * 2 * 3 * 5 * 4 + 2 * 2 * 6 * 3 * 5 * 7, 0, 0],
  ],
  // `FlopCounterMode` of PyTorch 2.13 counts no `dot` and no `mv`, and a row times a matrix as `mm`.
  ['a dot product', { type: 'MatMul', inputs: ['float32[9]', 'float32[9]'] }, ['data', 'data'], [0, 0, 0]],
  [
    'a matrix times a vector',
    { type: 'MatMul', inputs: ['float32[2, 3, 4]', 'float32[4]'] },
    ['data', 'data'],
    [0, 0, 0],
  ],
  [
    'a vector times a matrix',
    { type: 'MatMul', inputs: ['float32[3]', 'float32[3, 4]'] },
    [],
    [2 * 3 * 4, 0, 0],
  ],
  [
    'scores by einsum',
    {
      type: 'Einsum',
      inputs: ['float32[2, 8, 16, 32]', 'float32[2, 8, 20, 32]'],
      attributes: { equation: 'bhqd,bhkd->bhqk' },
    },
    ['data', 'data'],
    [2 * 16 * 16 * 20 * 32, 4 * 16 * 16 * 20 * 32, 0],
  ],
  [
    'three operands contract from the left',
    {
      type: 'Einsum',
      inputs: ['float32[2, 3]', 'float32[3, 4]', 'float32[4, 5]'],
      attributes: { equation: 'ij,jk,kl->il' },
    },
    [],
    [2 * (2 * 3 * 4 + 2 * 4 * 5), 0, 0],
  ],
  [
    // The first product has the gradients of both operands; so has the second, whose first operand is that product.
    'three operands have the gradients of two products',
    {
      type: 'Einsum',
      inputs: ['float32[2, 3]', 'float32[3, 4]', 'float32[4, 5]'],
      attributes: { equation: 'ij,jk,kl->il' },
    },
    ['data', 'weight', 'weight'],
    [2 * (2 * 3 * 4 + 2 * 4 * 5), 2 * (2 * 3 * 4 + 2 * 4 * 5), 2 * (2 * 3 * 4 + 2 * 4 * 5)],
  ],
  [
    'an einsum that sums nothing is element-wise',
    { type: 'Einsum', inputs: ['float32[4]', 'float32[5]'], attributes: { equation: 'i,j->ij' } },
    [],
    [0, 0, 0],
  ],
  [
    'attention, backward without the scores that flash attention computes again',
    {
      type: 'Attention',
      opset: 23,
      inputs: ['float32[2, 8, 128, 64]', 'float32[2, 8, 128, 64]', 'float32[2, 8, 128, 64]'],
    },
    ['data', 'data', 'data'],
    [4 * 16 * 128 * 128 * 64, 8 * 16 * 128 * 128 * 64, 0],
  ],
  [
    // Of values, of weights and of queries; `FlopCounterMode` of PyTorch 2.13 of attention written out.
    'attention whose keys are frozen has three of four gradients',
    {
      type: 'Attention',
      opset: 23,
      inputs: ['float32[2, 8, 128, 64]', 'float32[2, 8, 128, 64]', 'float32[2, 8, 128, 64]'],
    },
    ['data', 'none', 'data'],
    [4 * 16 * 128 * 128 * 64, 6 * 16 * 128 * 128 * 64, 0],
  ],
  [
    'a causal mask does not halve, grouped queries do not divide',
    {
      type: 'Attention',
      opset: 23,
      inputs: ['float32[1, 128, 512]', 'float32[1, 128, 128]', 'float32[1, 128, 128]'],
      attributes: { q_num_heads: 8, kv_num_heads: 2, is_causal: 1 },
    },
    [],
    [4 * 8 * 128 * 128 * 64, 0, 0],
  ],
  [
    // 32 keys, the query's own among them.
    'a window counts the keys that it shows',
    {
      type: 'Attention',
      opset: 25,
      inputs: ['float32[2, 8, 128, 64]', 'float32[2, 8, 128, 64]', 'float32[2, 8, 128, 64]'],
      attributes: { is_causal: 1, left_window_size: 31 },
    },
    ['data', 'data', 'data'],
    [4 * 16 * 128 * 32 * 64, 8 * 16 * 128 * 32 * 64, 0],
  ],
  [
    'a window beside a mask, which no kernel skips',
    {
      type: 'Attention',
      opset: 25,
      inputs: [
        'float32[2, 8, 128, 64]',
        'float32[2, 8, 128, 64]',
        'float32[2, 8, 128, 64]',
        'float32[128, 128]',
      ],
      attributes: { is_causal: 1, left_window_size: 31 },
    },
    [],
    [4 * 16 * 128 * 128 * 64, 0, 0],
  ],
  [
    'attention over past keys too',
    {
      type: 'Attention',
      opset: 23,
      inputs: [
        'float32[1, 8, 1, 64]',
        'float32[1, 8, 1, 64]',
        'float32[1, 8, 1, 64]',
        undefined,
        'float32[1, 8, 99, 64]',
        'float32[1, 8, 99, 64]',
      ],
    },
    [],
    [4 * 8 * 100 * 64, 0, 0],
  ],
  [
    'LSTM',
    {
      type: 'LSTM',
      inputs: ['float32[10, 4, 32]', 'float32[1, 256, 32]', 'float32[1, 256, 64]'],
      attributes: { hidden_size: 64 },
    },
    ['data', 'weight', 'weight'],
    // Nothing before the first of ten steps needs a gradient (torch 2.13.0 counts the same).
    [2 * 40 * 256 * 96, 2 * 40 * 256 * 32 + 2 * 36 * 256 * 64, 2 * 40 * 256 * 96],
  ],
  [
    'bidirectional LSTM that is frozen',
    {
      type: 'LSTM',
      inputs: ['float32[10, 4, 32]', 'float32[2, 256, 32]', 'float32[2, 256, 64]'],
      attributes: { hidden_size: 64, direction: 'bidirectional' },
    },
    [],
    [2 * 40 * 512 * 96, 0, 0],
  ],
  [
    'GRU',
    {
      type: 'GRU',
      inputs: ['float32[10, 4, 32]', 'float32[1, 192, 32]', 'float32[1, 192, 64]'],
      attributes: { hidden_size: 64 },
    },
    [],
    [2 * 40 * 192 * 96, 0, 0],
  ],
  [
    'RNN',
    {
      type: 'RNN',
      inputs: ['float32[10, 4, 32]', 'float32[1, 64, 32]', 'float32[1, 64, 64]'],
      attributes: { hidden_size: 64 },
    },
    [],
    [2 * 40 * 64 * 96, 0, 0],
  ],
  [
    // Each of 100 rows meets the one matrix of its group.
    'rows in groups are one product of all rows',
    {
      type: 'GroupedMatMul',
      domain: 'layercost',
      inputs: ['float32[100, 8]', 'float32[4, 8, 6]', 'int32[4]'],
    },
    ['data', 'weight'],
    [2 * 100 * 8 * 6, 2 * 100 * 8 * 6, 2 * 100 * 8 * 6],
  ],
  [
    // Forward has two columns more, for norms. Backward is what `FlopCounterMode` of PyTorch 2.13 counts: 131,072.
    'distances by a product',
    {
      type: 'PairwiseDistance',
      domain: 'layercost',
      inputs: ['float32[2, 32, 16]', 'float32[2, 32, 16]'],
      attributes: { matmul: 1 },
    },
    ['data', 'data'],
    [2 * 2 * 32 * 32 * 18, 4 * 2 * 32 * 32 * 16, 0],
  ],
  [
    'batch normalization is no FLOPs',
    {
      type: 'BatchNormalization',
      inputs: ['float32[2, 4, 8, 8]', 'float32[4]', 'float32[4]', 'float32[4]', 'float32[4]'],
    },
    ['data', 'weight', 'weight'],
    [0, 0, 0],
  ],
];

test.each(flopRows)('FLOPs: %s', (_, application, gradients, [forward, data, weight]) => {
  const cost = costText(application, gradients);
  expect([cost.forward.flops, cost.backwardData.flops, cost.backwardWeight.flops]).toEqual([
    forward,
    data,
    weight,
  ]);
});

/**
 * Element-wise operations and traffic per element of the input x: forward, gradient of x, of its parameters.
 * Backward of a normalization is twice its forward, and 2 for each parameter; a pass over a tensor is one element read or
 * written: x and y (twice x where statistics are a pass of their own), and dy, x and dx in backward (again dy and x). Both
 * parameters share a pass over dy and x.
 */
const passRows: readonly (readonly [
  Application,
  Gradients,
  readonly [number, number, number],
  readonly [number, number, number],
])[] = [
  [
    { type: 'BatchNormalization', inputs: [normalized, ...four('float32[4]')] },
    normalizing,
    [8, 16, 4],
    [3, 5, 0],
  ],
  [
    { type: 'InstanceNormalization', inputs: [normalized, ...two('float32[4]')] },
    normalizing,
    [8, 16, 4],
    [3, 5, 0],
  ],
  [
    { type: 'GroupNormalization', inputs: [normalized, ...two('float32[4]')], attributes: { num_groups: 2 } },
    normalizing,
    [8, 16, 4],
    [3, 5, 2],
  ],
  [
    { type: 'LayerNormalization', inputs: [normalized, ...two('float32[8]')] },
    normalizing,
    [8, 16, 4],
    [2, 3, 2],
  ],
  [
    { type: 'RMSNormalization', opset: 23, inputs: [normalized, 'float32[8]'] },
    ['data', 'weight'],
    [4, 8, 2],
    [2, 3, 1],
  ],
  [{ type: 'MeanVarianceNormalization', inputs: [normalized] }, ['data'], [6, 12, 0], [3, 5, 0]],
  [{ type: 'LpNormalization', inputs: [normalized] }, ['data'], [3, 6, 0], [3, 5, 0]],
  [{ type: 'LRN', inputs: [normalized], attributes: { size: 5 } }, ['data'], [9, 18, 0], [3, 5, 0]],
  [{ type: 'Softmax', inputs: [normalized] }, ['data'], [5, 4, 0], [2, 3, 0]],
  [{ type: 'LogSoftmax', inputs: [normalized] }, ['data'], [5, 4, 0], [2, 3, 0]],
  [{ type: 'Hardmax', inputs: [normalized] }, ['data'], [5, 0, 0], [2, 0, 0]],
];

test.each(passRows)('operations and passes: $type', (application, gradients, operations, passes) => {
  const works = parts(costText(application, gradients));
  const elements = 2 * 4 * 8 * 8;
  expect(works.map((each) => each.operations / elements)).toEqual(operations);
  // Parameters of 4 or 8 elements beside 512.
  expect(works.map(({ traffic }) => Math.round(traffic.float32Elements / elements))).toEqual(passes);
});

const text = (saved: SavedTensor): string =>
  saved.kind === 'extra'
    ? `${saved.name} (${saved.traffic.float32Elements} float32, ${saved.traffic.fixedBytes} B)`
    : `${saved.kind} ${saved.index}${saved.kind === 'input' && saved.stack ? ` as ${JSON.stringify(saved.stack)}` : ''}`;

const x = 'float32[2, 4, 8, 8]';
const scatterElements = (reduction: string): Application => ({
  type: 'ScatterElements',
  inputs: ['float32[8, 4]', 'int64[16, 4]', 'float32[16, 4]'],
  attributes: { reduction },
});
const scatterRows = (reduction: string): Application => ({
  type: 'ScatterND',
  inputs: ['float32[8, 4]', 'int64[16, 1]', 'float32[16, 4]'],
  attributes: { reduction },
});
const savedRows: readonly (readonly [string, Application, Gradients, readonly string[]])[] = [
  ['Relu keeps its output', { type: 'Relu', inputs: [x] }, ['data'], ['output 0']],
  ['Gelu its input', { type: 'Gelu', inputs: [x] }, ['data'], ['input 0']],
  ['Sigmoid its output', { type: 'Sigmoid', inputs: [x] }, ['data'], ['output 0']],
  ['Neg nothing', { type: 'Neg', inputs: [x] }, ['data'], []],
  ['Add nothing', { type: 'Add', inputs: [x, x] }, ['data', 'data'], []],
  ['Mul both inputs', { type: 'Mul', inputs: [x, x] }, ['data', 'data'], ['input 1', 'input 0']],
  ['Mul by a constant only the constant', { type: 'Mul', inputs: [x, 'float32[]'] }, ['data'], ['input 1']],
  ['Softmax its output', { type: 'Softmax', inputs: [x] }, ['data'], ['output 0']],
  [
    // `torch.gather` saves both (`saved_tensors_hooks` of PyTorch 2.13).
    'GatherElements input and indices',
    { type: 'GatherElements', inputs: [x, 'int64[2, 4, 8, 8]'] },
    ['data'],
    ['input 0', 'input 1'],
  ],
  [
    // Without an optimized path, the products of the first two and of the first three are kept beside the operands.
    'Einsum its operands, and products in between',
    {
      type: 'Einsum',
      inputs: ['float32[3, 4]', 'float32[4, 5]', 'float32[5, 6]', 'float32[6, 7]'],
      attributes: { equation: 'ab,bc,cd,de->ae' },
    },
    ['data', 'data', 'data', 'data'],
    [
      'input 0 as [[],[0],[1]]',
      'input 1 as [[],[1],[0]]',
      'product 1 (15 float32, 0 B)',
      'input 2 as [[],[1],[0]]',
      'product 2 (18 float32, 0 B)',
      'input 3 as [[],[1],[0]]',
    ],
  ],
  [
    // 2 · 8 · 10 · 64 of the first product; the weight [10, 64, 64] is read as [1, 10 · 64, 64], which no strides show.
    'Einsum operands as stacks of matrices',
    {
      type: 'Einsum',
      inputs: ['float32[2, 8, 64]', 'float32[10, 64, 64]', 'float32[2, 8, 64]'],
      attributes: { equation: 'bxi,oij,byj->boxy' },
    },
    ['data', 'weight', 'data'],
    [
      'input 0 as [[],[0,1],[2]]',
      'input 1 as [[],[0,2],[1]]',
      'product 1 (10240 float32, 0 B)',
      'input 2 as [[0],[1],[2]]',
    ],
  ],
  // What `_fft_r2c` of PyTorch 2.13 is given: the signal, padded where its length is another, or 28 frames times their window.
  [
    'DFT of a real signal what it is given',
    { type: 'DFT', inputs: ['float32[2, 64, 1]'] },
    ['data'],
    ['input 0'],
  ],
  ['DFT of pairs nothing', { type: 'DFT', inputs: ['float32[2, 64, 2]'] }, ['data'], []],
  [
    'STFT its frames',
    {
      type: 'STFT',
      inputs: ['float32[2, 496]', [16], 'float32[64]', [64]],
    },
    ['data', 'none', 'none', 'none'],
    ['windowed frames (3584 float32, 0 B)'],
  ],
  [
    'FourierTransform of a real signal what it was padded to',
    {
      type: 'FourierTransform',
      domain: 'layercost',
      inputs: ['float32[2, 32]'],
      attributes: { kind: 'to-complex', axes: [1], sizes: [33] },
    },
    ['data'],
    ['padded signal (128 float32, 0 B)'],
  ],
  // `saved_tensors_hooks` of PyTorch 2.13 around `scatter_add`, `scatter_reduce` and `index_add`.
  ['ScatterElements that adds its indices', scatterElements('add'), ['data', 'none', 'data'], ['input 1']],
  ...['max', 'min', 'mul'].map((reduction): (typeof savedRows)[number] => [
    `ScatterElements by ${reduction} all it takes and gives`,
    scatterElements(reduction),
    ['data', 'none', 'data'],
    ['input 0', 'input 1', 'input 2', 'output 0'],
  ]),
  [
    'ScatterND that adds rows also the rows',
    scatterRows('add'),
    ['data', 'none', 'data'],
    ['input 1', 'input 2'],
  ],
  ['ScatterND that writes rows its indices', scatterRows('none'), ['data', 'none', 'data'], ['input 1']],
  [
    'ScatterND that adds at places of two axes its indices',
    {
      type: 'ScatterND',
      inputs: ['float32[8, 4]', 'int64[16, 2]', 'float32[16]'],
      attributes: { reduction: 'add' },
    },
    ['data', 'none', 'data'],
    ['input 1'],
  ],
  [
    'Conv input and weight',
    { type: 'Conv', inputs: [x, 'float32[4, 4, 1, 1]'] },
    ['data', 'weight'],
    ['input 0', 'input 1'],
  ],
  [
    // `torch.autograd.graph.saved_tensors_hooks` of PyTorch 2.13 sees both, whichever gradient is asked for.
    'Conv with a frozen weight keeps both all the same',
    { type: 'Conv', inputs: [x, 'float32[4, 4, 1, 1]'] },
    ['data', 'none'],
    ['input 0', 'input 1'],
  ],
  [
    'and so does the first Conv',
    { type: 'Conv', inputs: [x, 'float32[4, 4, 1, 1]'] },
    ['none', 'weight'],
    ['input 0', 'input 1'],
  ],
  [
    'MaxPool input and positions',
    { type: 'MaxPool', inputs: [x], attributes: { kernel_shape: [2, 2], strides: [2, 2] } },
    ['data'],
    ['input 0', `positions of the maxima (0 float32, ${8 * 128} B)`],
  ],
  ['GlobalAveragePool nothing', { type: 'GlobalAveragePool', inputs: [x] }, ['data'], []],
  [
    'BatchNormalization input and statistics',
    { type: 'BatchNormalization', inputs: [x, 'float32[4]', 'float32[4]', 'float32[4]', 'float32[4]'] },
    ['data', 'weight', 'weight'],
    ['input 0', 'statistics (0 float32, 32 B)'],
  ],
  [
    'LayerNormalization input and statistics',
    { type: 'LayerNormalization', inputs: ['float32[2, 5, 16]', 'float32[16]'] },
    ['data', 'weight'],
    ['input 0', 'statistics (0 float32, 80 B)'],
  ],
  [
    'a rotation its tables',
    {
      type: 'RotaryEmbedding',
      opset: 23,
      inputs: ['float32[2, 4, 8, 16]', 'float32[2, 8, 8]', 'float32[2, 8, 8]'],
    },
    ['data', 'none', 'none'],
    ['input 1', 'input 2'],
  ],
  [
    'a rotation without tables nothing',
    { type: 'RotaryEmbedding', opset: 23, inputs: ['float32[2, 4, 8, 16]'] },
    ['data'],
    [],
  ],
  ['Dropout a mask of bytes', { type: 'Dropout', inputs: [x] }, ['data'], ['mask (0 float32, 512 B)']],
  [
    'Dropout of nothing is no work',
    { type: 'Dropout', inputs: [x], opset: 11, attributes: { ratio: 0 } },
    ['data'],
    [],
  ],
  [
    'embedding its indices',
    { type: 'Gather', inputs: ['float32[100, 16]', 'int64[2, 5]'] },
    ['weight'],
    ['input 1'],
  ],
  [
    'Where its condition',
    { type: 'Where', inputs: ['bool[4]', 'float32[4]', 'float32[]'] },
    ['none', 'data', 'none'],
    ['input 0'],
  ],
  [
    'attention query, key, value, output and one number per query',
    {
      type: 'Attention',
      opset: 23,
      inputs: ['float32[2, 8, 16, 64]', 'float32[2, 8, 16, 64]', 'float32[2, 8, 16, 64]'],
    },
    ['data', 'data', 'data'],
    ['input 0', 'input 1', 'input 2', 'output 0', 'logarithm of the sum per query (0 float32, 1024 B)'],
  ],
  [
    'an LSTM keeps the gates and cell states of every step',
    {
      type: 'LSTM',
      inputs: ['float32[10, 4, 32]', 'float32[1, 256, 32]', 'float32[1, 256, 64]'],
      attributes: { hidden_size: 64 },
    },
    ['data', 'weight', 'weight'],
    ['input 0', 'output 0', `gates of every step (${40 * (256 + 64)} float32, 0 B)`],
  ],
  [
    'the gated delta rule keeps what it takes and the solved system of each chunk',
    {
      type: 'GatedDeltaRule',
      domain: 'layercost',
      inputs: [...two('float32[2, 100, 4, 32]'), 'float32[2, 100, 4, 48]', ...two('float32[2, 100, 4]')],
    },
    Array.from({ length: 5 }, () => 'data' as const),
    [
      ...[0, 1, 2].map((index) => `input ${index} as [[0,1,2,3]]`),
      ...[3, 4].map((index) => `input ${index} as [[0,1,2]]`),
      `the solved system of each chunk (${2 * 100 * 4 * 64} float32, 0 B)`,
    ],
  ],
  [
    'a selective scan with a gate keeps a state every 2,048 tokens and what the gate multiplies',
    {
      type: 'SelectiveScan',
      domain: 'layercost',
      inputs: [
        ...two('float32[2, 96, 2100]'),
        'float32[96, 16]',
        ...two('float32[2, 16, 2100]'),
        undefined,
        'float32[2, 96, 2100]',
      ],
    },
    ['data', 'data', 'weight', 'data', 'data', 'none', 'data'],
    [
      ...[0, 1, 2, 3, 4, 6].map((index) => `input ${index} as ${index === 2 ? '[[0,1]]' : '[[0,1,2]]'}`),
      `states between chunks (${2 * 96 * 2 * 2 * 16} float32, 0 B)`,
      `what the gate multiplies (${2 * 96 * 2100} float32, 0 B)`,
    ],
  ],
  [
    'Mamba-2 keeps what it takes and gives, and sums of decays',
    {
      type: 'StateSpaceScan',
      domain: 'layercost',
      inputs: [
        'float32[2, 100, 6, 16]',
        'float32[2, 100, 6]',
        'float32[6]',
        ...two('float32[2, 100, 2, 24]'),
      ],
      attributes: { chunk_size: 64 },
    },
    ['data', 'data', 'weight', 'data', 'data'],
    [
      ...[0, 1, 2, 3, 4].map((index) => `input ${index}`),
      `sums of decays (${2 * 6 * 128} float32, 0 B)`,
      'output 0',
    ],
  ],
  [
    'an LSTM with projections keeps the states that it projects too',
    {
      type: 'ProjectedLSTM',
      domain: 'layercost',
      inputs: [
        'float32[10, 4, 32]',
        'float32[1, 256, 32]',
        'float32[1, 256, 16]',
        undefined,
        undefined,
        undefined,
        undefined,
        'float32[1, 16, 64]',
      ],
      attributes: { hidden_size: 64 },
    },
    ['data', 'weight', 'weight'],
    ['input 0', 'output 0', `gates of every step (${40 * (256 + 64 + 64)} float32, 0 B)`],
  ],
  [
    'scatter_reduce keeps all it takes and gives, a sum too',
    {
      type: 'ScatterReduce',
      domain: 'layercost',
      inputs: ['float32[10, 4]', 'int64[20, 4]', 'float32[20, 4]'],
      attributes: { reduction: 'add' },
    },
    ['data', 'data'],
    ['input 0', 'input 1', 'input 2', 'output 0'],
  ],
  [
    'masked_scatter keeps the mask',
    {
      type: 'MaskedScatter',
      domain: 'layercost',
      inputs: ['float32[2, 10, 4]', 'bool[2, 10, 4]', 'float32[6, 4]'],
    },
    ['data', 'none', 'data'],
    ['input 1'],
  ],
  ['inference keeps nothing', { type: 'Relu', inputs: [x] }, [], []],
];

test.each(savedRows)('kept for backward: %s', (_, application, gradients, expected) => {
  expect(costText(application, gradients).saved.map(text)).toEqual(expected);
});

const classRows: readonly (readonly [string, Application, KnownCost['class'], number])[] = [
  ['one tensor joined is copied', { type: 'Concat', inputs: [x], attributes: { axis: 1 } }, 'movement', 1],
  [
    'one index joined is that index',
    { type: 'Concat', inputs: ['int64[2, 4]'], attributes: { axis: 1 } },
    'view',
    0,
  ],
  [
    'two tensors joined are copied',
    { type: 'Concat', inputs: [x, x], attributes: { axis: 1 } },
    'movement',
    1,
  ],
  [
    'one filter per channel',
    { type: 'Conv', inputs: [x, 'float32[8, 1, 3, 3]'], attributes: { group: 4 } },
    'depthwise-convolution',
    1,
  ],
  [
    'a convolution of one channel is not depthwise',
    { type: 'Conv', inputs: ['float32[1, 1, 8, 8]', 'float32[4, 1, 3, 3]'] },
    'convolution',
    1,
  ],
  ['a reshape', { type: 'Reshape', inputs: [x, [2, -1]] }, 'view', 0],
  ['a transpose', { type: 'Transpose', inputs: [x] }, 'view', 0],
  ['a slice', { type: 'Slice', inputs: [x, [0], [1], [0]] }, 'view', 0],
  ['a slice with a step', { type: 'Slice', inputs: [x, [0], [2], [0], [2]] }, 'view', 0],
  ['a slice backwards', { type: 'Slice', inputs: [x, [-1], [-(2 ** 31)], [0], [-1]] }, 'movement', 1],
  ['Dropout of what has no gradient', { type: 'Dropout', inputs: [x] }, 'elementwise', 1],
  ['Dropout of nothing', { type: 'Dropout', inputs: [x], opset: 11, attributes: { ratio: 0 } }, 'view', 0],
  ['sizes of a tensor', { type: 'Shape', inputs: [x] }, 'shape', 0],
  ['arithmetic on sizes', { type: 'Mul', inputs: [[2], [12]] }, 'shape', 0],
  ['a product of activations', { type: 'Mul', inputs: [x, x] }, 'elementwise', 1],
  ['an embedding', { type: 'Gather', inputs: ['float32[100, 16]', 'int64[2, 5]'] }, 'embedding', 1],
  ['joined tensors', { type: 'Concat', inputs: [x, x], attributes: { axis: 1 } }, 'movement', 1],
];

test.each(classRows)('%s is %s', (_, application, kernelClass, kernels) => {
  const cost = costText(application);
  expect([cost.class, cost.forward.kernels]).toEqual([kernelClass, kernels]);
});

describe('traffic', () => {
  test('each tensor is read once and written once', () => {
    expect(costText({ type: 'Add', inputs: ['float32[8, 16]', 'float32[16]'] }).forward.traffic).toEqual({
      float32Elements: 8 * 16 + 16 + 8 * 16,
      fixedBytes: 0,
    });
  });

  test('types other than float32 move their own width', () => {
    const cost = costText({ type: 'Cast', inputs: ['float16[10]'], attributes: { to: 7 } });
    expect(cost.forward.traffic).toEqual({ float32Elements: 0, fixedBytes: 10 * 2 + 10 * 8 });
  });

  test('the gradient of a broadcast input is summed by a kernel', () => {
    const cost = costText({ type: 'Add', inputs: ['float32[8, 16]', 'float32[16]'] }, ['data', 'weight']);
    expect([cost.backwardData.kernels, cost.backwardWeight.kernels]).toEqual([0, 1]);
    expect(cost.backwardWeight.traffic.float32Elements).toBe(8 * 16 + 16);
  });

  test('an embedding reads the rows it looks up, and its gradient fills the table', () => {
    const cost = costText({ type: 'Gather', inputs: ['float32[1000, 16]', 'int64[2, 5]'] }, ['weight']);
    expect(cost.forward.traffic).toEqual({ float32Elements: 2 * 160, fixedBytes: 80 });
    expect(cost.backwardWeight.traffic.float32Elements).toBeGreaterThanOrEqual(16_000);
  });
});

const size = fc.integer({ min: 1, max: 12 });

test('twice the batch is twice the FLOPs, and no cost is negative', () => {
  const layers = fc.tuple(size, size, size, size).map(([a, b, c, d]): ((batch: number) => Application)[] => [
    (n) => ({
      type: 'Conv',
      inputs: [`float32[${n}, ${a}, ${b + 2}, ${c + 2}]`, `float32[${d}, ${a}, 3, 3]`],
    }),
    (n) => ({
      type: 'ConvTranspose',
      inputs: [`float32[${n}, ${a}, ${b}, ${c}]`, `float32[${a}, ${d}, 2, 2]`],
    }),
    (n) => ({ type: 'Gemm', inputs: [`float32[${n}, ${a}]`, `float32[${a}, ${b}]`, `float32[${b}]`] }),
    (n) => ({ type: 'MatMul', inputs: [`float32[${n}, ${a}, ${b}]`, `float32[${b}, ${c}]`] }),
    (n) => ({
      type: 'Einsum',
      inputs: [`float32[${n}, ${a}, ${b}]`, `float32[${b}, ${c}]`],
      attributes: { equation: 'nab,bc->nac' },
    }),
    (n) => ({
      type: 'LSTM',
      inputs: [`float32[${a}, ${n}, ${b}]`, `float32[1, ${4 * c}, ${b}]`, `float32[1, ${4 * c}, ${c}]`],
      attributes: { hidden_size: c },
    }),
    (n) => ({
      type: 'Attention',
      opset: 23,
      inputs: [
        `float32[${n}, ${a}, ${b}, ${c}]`,
        `float32[${n}, ${a}, ${d}, ${c}]`,
        `float32[${n}, ${a}, ${d}, ${c}]`,
      ],
    }),
  ]);
  fc.assert(
    fc.property(layers, size, (makers, batch) => {
      for (const make of makers) {
        const [one, two] = [costText(make(batch), trained), costText(make(2 * batch), trained)];
        for (const [index, part] of parts(one).entries()) {
          expect(parts(two)[index]?.flops).toBe(2 * part.flops);
          expect(
            Math.min(
              part.flops,
              part.operations,
              part.traffic.float32Elements,
              part.traffic.fixedBytes,
              part.kernels,
            ),
          ).toBeGreaterThanOrEqual(0);
        }
      }
    }),
    { numRuns: 50 },
  );
});

test('a tensor of unknown shape makes the cost unknown, never 0', () => {
  for (const type of [
    'Conv',
    'MatMul',
    'Gemm',
    'Relu',
    'Add',
    'Softmax',
    'LSTM',
    'Attention',
    'MaxPool',
    'Concat',
  ]) {
    const application: Application = { type, opset: 23, inputs: ['float32[…]', 'float32[…]', 'float32[…]'] };
    expect(() => costText(application), type).toThrow(/known only when the model runs/);
    expect(definitionOf(application).documentation).toMatch(/ONNX Operators/);
  }
});
