/** Output types by operator, version and inputs. Cases follow the examples of the ONNX operator pages. */

import { expect, test } from 'vitest';
import { isUnknown } from '../../server/src/model/dimension.ts';
import { isKnownShape } from '../../server/src/model/graph.ts';
import { type Application, inferText, outputsOf } from './check.ts';

/** 2⁶³ − 1 as readers give it. */
const toTheEnd = Number.MAX_SAFE_INTEGER;

type Row = readonly [
  Application['type'],
  Application['inputs'],
  Application['attributes'],
  readonly string[],
  Partial<Application>?,
];

const rows: readonly Row[] = [
  // Convolutions and pools
  [
    'Conv',
    ['float32[N, 3, 224, 224]', 'float32[64, 3, 7, 7]'],
    { strides: [2, 2], pads: [3, 3, 3, 3] },
    ['float32[N, 64, 112, 112]'],
  ],
  ['Conv', ['float32[1, 3, h, w]', 'float32[8, 3, 3, 3]'], { pads: [1, 1, 1, 1] }, ['float32[1, 8, h, w]']],
  [
    'Conv',
    ['float32[1, 3, h, 9]', 'float32[8, 3, 3, 3]'],
    { strides: [2, 2], pads: [1, 1, 1, 1] },
    ['float32[1, 8, floor((h - 1)/(2)) + 1, 5]'],
  ],
  [
    'Conv',
    ['float32[1, 4, 10, 10]', 'float32[8, 2, 3, 3]'],
    { group: 2, dilations: [2, 2] },
    ['float32[1, 8, 6, 6]'],
  ],
  [
    'Conv',
    ['float32[1, 1, 5, 5]', 'float32[1, 1, 3, 3]'],
    { auto_pad: 'SAME_LOWER', strides: [2, 2] },
    ['float32[1, 1, 3, 3]'],
  ],
  [
    'Conv',
    ['float32[1, 1, 5, 5]', 'float32[1, 1, 3, 3]'],
    { auto_pad: 'VALID', strides: [2, 2] },
    ['float32[1, 1, 2, 2]'],
  ],
  ['Conv', ['float32[2, 1, 8, 8, 8]', 'float32[4, 1, 3, 3, 3]'], {}, ['float32[2, 4, 6, 6, 6]']],
  [
    'ConvTranspose',
    ['float32[1, 1, 3, 3]', 'float32[1, 2, 3, 3]'],
    { strides: [3, 2], output_padding: [1, 1] },
    ['float32[1, 2, 10, 8]'],
  ],
  [
    'ConvTranspose',
    ['float32[1, 1, 3, 3]', 'float32[1, 2, 3, 3]'],
    { strides: [3, 2], output_shape: [10, 8] },
    ['float32[1, 2, 10, 8]'],
  ],
  [
    'ConvTranspose',
    ['float32[1, 4, h, w]', 'float32[4, 2, 2, 2]'],
    { strides: [2, 2], group: 3 },
    ['float32[1, 6, 2*h, 2*w]'],
  ],
  [
    'MaxPool',
    ['float32[N, 64, 112, 112]'],
    { kernel_shape: [3, 3], strides: [2, 2], pads: [1, 1, 1, 1] },
    ['float32[N, 64, 56, 56]', 'int64[N, 64, 56, 56]'],
    { outputs: 2 },
  ],
  [
    'MaxPool',
    ['float32[1, 1, 4, 4]'],
    { kernel_shape: [3, 3], strides: [2, 2], ceil_mode: 1 },
    ['float32[1, 1, 2, 2]'],
  ],
  // The window that would start in the right padding does not count.
  [
    'AveragePool',
    ['float32[1, 1, 2, 2]'],
    { kernel_shape: [1, 1], strides: [2, 2], ceil_mode: 1 },
    ['float32[1, 1, 1, 1]'],
  ],
  ['GlobalAveragePool', ['float32[N, 512, h, w]'], {}, ['float32[N, 512, 1, 1]']],
  [
    'RoiAlign',
    ['float32[1, 256, 50, 50]', 'float32[R, 4]', 'int64[R]'],
    { output_height: 7, output_width: 7 },
    ['float32[R, 256, 7, 7]'],
  ],
  // Products
  [
    'MatMul',
    ['float32[batch, 12, seq, 64]', 'float32[batch, 12, 64, seq]'],
    {},
    ['float32[batch, 12, seq, seq]'],
  ],
  ['MatMul', ['float32[2, 1, 3, 4]', 'float32[5, 4, 6]'], {}, ['float32[2, 5, 3, 6]']],
  ['MatMul', ['float32[4]', 'float32[2, 4, 3]'], {}, ['float32[2, 3]']],
  ['MatMul', ['float32[2, 3, 4]', 'float32[4]'], {}, ['float32[2, 3]']],
  ['MatMul', ['float32[4]', 'float32[4]'], {}, ['float32[]']],
  ['Gemm', ['float32[N, 2048]', 'float32[1000, 2048]', 'float32[1000]'], { transB: 1 }, ['float32[N, 1000]']],
  ['Gemm', ['float32[6, 3]', 'float32[6, 4]'], { transA: 1 }, ['float32[3, 4]']],
  [
    'Einsum',
    ['float32[b, h, q, d]', 'float32[b, h, k, d]'],
    { equation: 'bhqd,bhkd->bhqk' },
    ['float32[b, h, q, k]'],
  ],
  ['Einsum', ['float32[3, 5]'], { equation: 'ij->j' }, ['float32[5]']],
  ['Einsum', ['float32[5, 2, 3]', 'float32[5, 3, 4]'], { equation: '...ij,...jk' }, ['float32[5, 2, 4]']],
  // Broadcasting
  ['Add', ['float32[batch, 1, 8]', 'float32[4, 1]'], {}, ['float32[batch, 4, 8]']],
  ['Add', ['float32[2, 3, 4]', 'float32[3]'], { broadcast: 1, axis: 1 }, ['float32[2, 3, 4]'], { opset: 6 }],
  ['PRelu', ['float32[2, 3, 4]', 'float32[3]'], {}, ['float32[2, 3, 4]'], { opset: 6 }],
  ['Where', ['bool[batch, 1]', 'float32[]', 'float32[1, 8]'], {}, ['float32[batch, 8]']],
  ['Equal', ['float32[3, 1]', 'float32[4]'], {}, ['bool[3, 4]']],
  ['Max', ['float32[3, 1]', 'float32[4]', 'float32[2, 1, 1]'], {}, ['float32[2, 3, 4]']],
  // Shapes with contents
  ['Shape', ['float32[batch, 3, 224]'], {}, ['int64[3] = batch, 3, 224']],
  ['Shape', ['float32[batch, 3, 224]'], { start: -2 }, ['int64[2] = 3, 224']],
  ['Gather', [['batch', 3, 224], 'int64[]'], {}, ['int64[]']],
  ['Gather', [['batch', 3, 224], [0]], {}, ['int64[1] = batch']],
  ['Mul', [['batch'], [12]], {}, ['int64[1] = 12*batch']],
  ['Div', [['seq'], [2]], {}, ['int64[1] = floor((seq)/(2))']],
  ['Sub', [['seq'], ['seq']], {}, ['int64[1] = 0']],
  ['Concat', [['batch'], [-1, 64]], { axis: 0 }, ['int64[3] = batch, -1, 64']],
  ['Unsqueeze', [['batch'], [0]], {}, ['int64[1, 1] = batch']],
  ['Slice', [['batch', 3, 8, 9], [2], [toTheEnd], [0]], {}, ['int64[2] = 8, 9']],
  ['Cast', [['seq']], { to: 6 }, ['int32[1] = seq']],
  ['Range', [[0], ['seq'], [1]], {}, ['int64[seq]']],
  ['Range', [[1], [10], [3]], {}, ['int64[3] = 1, 4, 7']],
  [
    'Equal',
    [
      ['batch', -1],
      [-1, -1],
    ],
    {},
    ['bool[2] = 0, 1'],
  ],
  ['ReduceProd', [['batch', 4, 5]], { keepdims: 0 }, ['int64[] = 20*batch']],
  // Reshaping
  ['Reshape', ['float32[batch, seq, 768]', ['batch', 'seq', 12, 64]], {}, ['float32[batch, seq, 12, 64]']],
  ['Reshape', ['float32[batch, seq, 768]', [0, 0, 12, -1]], {}, ['float32[batch, seq, 12, 64]']],
  ['Reshape', ['float32[batch, 512, 7, 7]', ['batch', -1]], {}, ['float32[batch, 25088]']],
  ['Reshape', ['float32[batch, seq, 768]', [-1, 768]], {}, ['float32[batch*seq, 768]']],
  ['Reshape', ['float32[?, 4, 6]', [-1, 24]], {}, ['float32[?, 24]']],
  ['Reshape', ['float32[0, 3]', [3, 0]], { allowzero: 1 }, ['float32[3, 0]']],
  ['Reshape', ['float32[2, 6]', 'int64[3]'], {}, ['float32[?, ?, ?]']],
  ['Reshape', ['float32[2, 6]'], { shape: [3, -1] }, ['float32[3, 4]'], { opset: 1 }],
  ['Flatten', ['float32[batch, 512, 7, 7]'], {}, ['float32[batch, 25088]']],
  ['Flatten', ['float32[2, 3, 4]'], { axis: -1 }, ['float32[6, 4]']],
  ['Squeeze', ['float32[1, 3, 1, 5]'], { axes: [0] }, ['float32[3, 1, 5]'], { opset: 11 }],
  ['Squeeze', ['float32[1, 3, 1, 5]', [-2]], {}, ['float32[1, 3, 5]']],
  ['Squeeze', ['float32[1, 3, 1, 5]'], {}, ['float32[3, 5]']],
  ['Squeeze', ['float32[1, n]'], {}, ['float32[…]']],
  ['Unsqueeze', ['float32[3, 4]', [0, -1]], {}, ['float32[1, 3, 4, 1]']],
  ['Transpose', ['float32[2, 3, 4]'], {}, ['float32[4, 3, 2]']],
  ['Transpose', ['float32[b, s, h, d]'], { perm: [0, 2, 1, 3] }, ['float32[b, h, s, d]']],
  ['Expand', ['float32[3, 1]', [2, 1, 6]], {}, ['float32[2, 3, 6]']],
  ['DepthToSpace', ['float32[1, 8, 2, 3]'], { blocksize: 2 }, ['float32[1, 2, 4, 6]']],
  ['SpaceToDepth', ['float32[1, 1, 4, 6]'], { blocksize: 2 }, ['float32[1, 4, 2, 3]']],
  // Parts
  [
    'Slice',
    ['float32[20, 10, 5]'],
    { starts: [0, 0], ends: [3, 10], axes: [0, 1] },
    ['float32[3, 10, 5]'],
    { opset: 9 },
  ],
  ['Slice', ['float32[20, 10, 5]', [0], [-1], [1]], {}, ['float32[20, 9, 5]']],
  [
    'Slice',
    ['float32[20, 10, 5]', [20, 10, 4], [0, 0, 1], [0, 1, 2], [-1, -3, -2]],
    {},
    ['float32[19, 3, 2]'],
  ],
  ['Slice', ['float32[N, seq, 8]', [1], [toTheEnd], [1]], {}, ['float32[N, seq - 1, 8]']],
  ['Slice', ['float32[N, seq, 8]', [0], ['seq'], [1]], {}, ['float32[N, seq, 8]']],
  ['Slice', ['float32[1, 1, 1024, 1024]', [0], ['seq'], [2]], {}, ['float32[1, 1, min(seq, 1024), 1024]']],
  [
    'Split',
    ['float32[N, 6]'],
    { axis: 1 },
    ['float32[N, 2]', 'float32[N, 2]', 'float32[N, 2]'],
    { outputs: 3, opset: 11 },
  ],
  [
    'Split',
    ['float32[N, 7]'],
    { axis: 1, num_outputs: 3 },
    ['float32[N, 3]', 'float32[N, 3]', 'float32[N, 1]'],
    { outputs: 3 },
  ],
  ['Split', ['float32[N, 6]', [2, 4]], { axis: 1 }, ['float32[N, 2]', 'float32[N, 4]'], { outputs: 2 }],
  ['Concat', ['float32[N, a, 4]', 'float32[N, b, 4]'], { axis: 1 }, ['float32[N, a + b, 4]']],
  ['Pad', ['float32[1, 3, h, w]', [0, 0, 1, 2, 0, 0, 1, 2]], {}, ['float32[1, 3, h + 2, w + 4]']],
  ['Pad', ['float32[1, 3, 4, 5]', [1, 1], undefined, [-1]], {}, ['float32[1, 3, 4, 7]']],
  ['Tile', ['float32[2, n]', [1, 3]], {}, ['float32[2, 3*n]']],
  ['Gather', ['float32[30522, 768]', 'int64[batch, seq]'], {}, ['float32[batch, seq, 768]']],
  ['GatherND', ['float32[2, 2, 2]', 'int64[2, 1, 2]'], {}, ['float32[2, 1, 2]']],
  ['GatherND', ['float32[2, 2, 2]', 'int64[2, 1]'], { batch_dims: 1 }, ['float32[2, 2]']],
  ['TopK', ['float32[3, 8]', [5]], {}, ['float32[3, 5]', 'int64[3, 5]'], { outputs: 2 }],
  ['TopK', ['float32[3, 8]'], { k: 2, axis: 0 }, ['float32[2, 8]', 'int64[2, 8]'], { outputs: 2, opset: 9 }],
  ['OneHot', ['int64[2, 3]', [10], 'float32[2]'], { axis: 1 }, ['float32[2, 10, 3]']],
  ['NonZero', ['bool[4, 5]'], {}, ['int64[2, ≤20]']],
  // Reductions
  ['ReduceMean', ['float32[N, 197, 768]'], { axes: [-1] }, ['float32[N, 197, 1]'], { opset: 17 }],
  ['ReduceMean', ['float32[N, 197, 768]', [1]], { keepdims: 0 }, ['float32[N, 768]']],
  ['ReduceSum', ['float32[2, 3]'], { noop_with_empty_axes: 1 }, ['float32[2, 3]']],
  ['ReduceMax', ['float32[2, 3]'], { keepdims: 0 }, ['float32[]']],
  ['ArgMax', ['float32[N, 1000]'], { axis: -1, keepdims: 0 }, ['int64[N]']],
  // Normalizations, attention, recurrence
  [
    'LayerNormalization',
    ['float32[b, s, 768]', 'float32[768]', 'float32[768]'],
    {},
    ['float32[b, s, 768]', 'float32[b, s, 1]'],
    { outputs: 2 },
  ],
  [
    'BatchNormalization',
    ['float32[N, 64, 8, 8]', 'float32[64]', 'float32[64]', 'float32[64]', 'float32[64]'],
    { training_mode: 1 },
    ['float32[N, 64, 8, 8]', 'float32[64]', 'float32[64]'],
    { outputs: 3 },
  ],
  ['Dropout', ['float32[N, 10]'], {}, ['float32[N, 10]', 'bool[N, 10]'], { outputs: 2 }],
  [
    'Attention',
    ['float32[2, 8, 16, 64]', 'float32[2, 2, 20, 64]', 'float32[2, 2, 20, 32]'],
    {},
    ['float32[2, 8, 16, 32]'],
    { opset: 23 },
  ],
  [
    'Attention',
    ['float32[2, 16, 512]', 'float32[2, 20, 128]', 'float32[2, 20, 128]'],
    { q_num_heads: 8, kv_num_heads: 2 },
    ['float32[2, 16, 512]'],
    { opset: 23 },
  ],
  [
    'LSTM',
    ['float32[seq, batch, 32]', 'float32[2, 256, 32]', 'float32[2, 256, 64]'],
    { hidden_size: 64, direction: 'bidirectional' },
    ['float32[seq, 2, batch, 64]', 'float32[2, batch, 64]', 'float32[2, batch, 64]'],
    { outputs: 3 },
  ],
  [
    'GatedDeltaRule',
    [
      ...Array.from({ length: 2 }, () => 'float32[batch, seq, 4, 32]'),
      'float32[batch, seq, 4, 48]',
      'float32[batch, seq, 4, 32]',
      'float32[batch, seq, 4]',
    ],
    {},
    ['float32[batch, seq, 4, 48]'],
    { domain: 'layercost' },
  ],
  [
    'SelectiveScan',
    [
      ...Array.from({ length: 2 }, () => 'float32[batch, 96, seq]'),
      'float32[96, 16]',
      ...Array.from({ length: 2 }, () => 'float32[batch, 16, seq]'),
    ],
    {},
    ['float32[batch, 96, seq]'],
    { domain: 'layercost' },
  ],
  [
    'StateSpaceScan',
    [
      'float32[batch, seq, 6, 16]',
      'float32[batch, seq, 6]',
      'float32[6]',
      ...Array.from({ length: 2 }, () => 'float32[batch, seq, 2, 24]'),
    ],
    {},
    ['float32[batch, seq, 6, 16]'],
    { domain: 'layercost' },
  ],
  [
    'ProjectedLSTM',
    [
      'float32[seq, batch, 32]',
      'float32[2, 256, 32]',
      'float32[2, 256, 16]',
      undefined,
      undefined,
      undefined,
      undefined,
      'float32[2, 16, 64]',
    ],
    { hidden_size: 64, direction: 'bidirectional' },
    ['float32[seq, 2, batch, 16]', 'float32[2, batch, 16]', 'float32[2, batch, 64]'],
    { outputs: 3, domain: 'layercost' },
  ],
  [
    'GRU',
    ['float32[batch, seq, 32]', 'float32[1, 192, 32]', 'float32[1, 192, 64]'],
    { hidden_size: 64, layout: 1 },
    ['float32[batch, seq, 1, 64]', 'float32[batch, 1, 64]'],
    { outputs: 2 },
  ],
  [
    'ScatterReduce',
    ['float32[n, 4]', 'int64[edges, 4]', 'float32[edges, 4]'],
    { reduction: 'mean' },
    ['float32[n, 4]'],
    { domain: 'layercost' },
  ],
  [
    'GroupedMatMul',
    ['float32[n, 8]', 'float32[4, 8, 6]', 'int32[4]'],
    {},
    ['float32[n, 6]'],
    { domain: 'layercost' },
  ],
  [
    'MaskedScatter',
    ['float32[n, 10, 4]', 'bool[n, 10, 4]', 'float32[6, 4]'],
    {},
    ['float32[n, 10, 4]'],
    { domain: 'layercost' },
  ],
  [
    'Bilinear',
    ['float32[n, 3, 8]', 'float32[n, 3, 6]', 'float32[5, 8, 6]'],
    {},
    ['float32[n, 3, 5]'],
    { domain: 'layercost' },
  ],
  [
    'PairwiseDistance',
    ['float32[n, 9, 8]', 'float32[1, 7, 8]'],
    {},
    ['float32[n, 9, 7]'],
    { domain: 'layercost' },
  ],
  ['PairwiseDistance', ['float32[9, 8]'], {}, ['float32[36]'], { domain: 'layercost' }],
  [
    'FourierTransform',
    ['float32[n, 16, 16]'],
    { kind: 'to-complex', axes: [1, 2], sizes: [16, 9] },
    ['complex64[n, 16, 9]'],
    { domain: 'layercost' },
  ],
  ['ComplexView', ['float32[n, 4, 2]'], { kind: 'as-complex' }, ['complex64[n, 4]'], { domain: 'layercost' }],
  ['ComplexView', ['complex64[n, 4]'], { kind: 'as-real' }, ['float32[n, 4, 2]'], { domain: 'layercost' }],
  ['ComplexAbs', ['complex64[n, 4]'], {}, ['float32[n, 4]'], { domain: 'layercost' }],
  ['ComplexView', ['complex64[n, 4]'], { kind: 'part' }, ['float32[n, 4]'], { domain: 'layercost' }],
  // Resampling
  ['Resize', ['float32[1, 3, 10, w]', undefined, 'float32[4]', undefined], {}, ['float32[?, ?, ?, ?]']],
  ['Resize', ['float32[1, 3, 10, w]', undefined, [1, 1, 2, 2]], {}, ['float32[1, 3, 20, 2*w]']],
  ['Resize', ['float32[1, 3, 10, w]', undefined, undefined, [1, 3, 7, 7]], {}, ['float32[1, 3, 7, 7]']],
  ['Upsample', ['float32[1, 3, 10, 10]', [1, 1, 2, 3]], {}, ['float32[1, 3, 20, 30]'], { opset: 9 }],
  // ConstantOfShape-25: a zero in fp32 where no value is given.
  ['ConstantOfShape', [[2]], {}, ['float32[2] = 0, 0']],
  // SplitToSequence-24: parts of one element each lose their axis without `keepdims`; given parts never do.
  ['SplitToSequence', ['float32[2, 6]'], { axis: 0, keepdims: 0 }, ['sequence(float32[6])']],
  ['SplitToSequence', ['float32[2, 6]'], { axis: 0 }, ['sequence(float32[1, 6])']],
  ['SplitToSequence', ['float32[2, 6]', [1, 1]], { axis: 0, keepdims: 0 }, ['sequence(float32[1, 6])']],
  ['SequenceConstruct', ['float32[2, 3]', 'float32[2, 5]'], {}, ['sequence(float32[2, ≤5])']],
];

for (const [type, inputs, attributes, expected, more] of rows) {
  test(`${type} of ${JSON.stringify(inputs)} with ${JSON.stringify({ ...attributes, ...more })}`, () => {
    expect(outputsOf({ type, inputs, ...(attributes && { attributes }), ...more })).toEqual(expected);
  });
}

const contradictions: readonly (readonly [
  string,
  Application['inputs'],
  Application['attributes'],
  string,
])[] = [
  [
    'Add',
    ['float32[2, 3]', 'float32[4]'],
    {},
    'shapes [2, 3] and [4] cannot be broadcast together; aligned at the end, sizes must be equal or 1',
  ],
  [
    'MatMul',
    ['float32[2, 3]', 'float32[4, 5]'],
    {},
    'shapes [2, 3] and [4, 5] cannot be multiplied: the inner sizes [3, 4] differ',
  ],
  [
    'Gemm',
    ['float32[2, 3]', 'float32[5, 4]'],
    { transB: 1 },
    'shapes [2, 3] and [5, 4]ᵀ cannot be multiplied: the inner sizes [3, 4] differ',
  ],
  [
    'Conv',
    ['float32[1, 3, 8, 8]', 'float32[4, 5, 3, 3]'],
    {},
    'the input [1, 3, 8, 8] has 3 channels, but the weight [4, 5, 3, 3] with 1 group takes 5',
  ],
  [
    'Conv',
    ['float32[1, 3, 2, 2]', 'float32[4, 3, 5, 5]'],
    {},
    'the kernel [5, 5] is larger than the padded input [2, 2]',
  ],
  // One less than the kernel gives no position: PyTorch refuses "Output size is too small".
  [
    'MaxPool',
    ['float32[1, 3, 2, 4]'],
    { kernel_shape: [3, 3], strides: [2, 2] },
    'the kernel [3, 3] is larger than the padded input [2, 4]',
  ],
  ['Reshape', ['float32[2, 3]', [4, 2]], {}, '[2, 3] has 6 elements, which do not fill [4, 2]'],
  [
    'Squeeze',
    ['float32[2, 3]', [1]],
    {},
    'axis 1 of [2, 3] has size 3 and cannot be removed; only axes of size 1 can',
  ],
  [
    'Concat',
    ['float32[2, 3]', 'float32[4, 5]'],
    { axis: 0 },
    'shapes [2, 3] and [4, 5] cannot be joined on axis 0; all other sizes must be equal',
  ],
  [
    'Split',
    ['float32[2, 6]', [2, 3]],
    { axis: 1 },
    'parts [2] do not add up to the 6 elements of axis 1 of [2, 6]',
  ],
  ['Expand', ['float32[3]', [2, 4]], {}, 'the input [3] cannot be broadcast to [2, 4]'],
  ['ReduceMean', ['float32[2, 3]', [2]], {}, 'axes [2] lie outside the input [2, 3]'],
  ['Gather', ['float32[2, 3]', [2]], {}, 'index 2 lies outside axis 0 of [2, 3]'],
  ['Softmax', ['float32[2, 3]'], { axis: 2 }, 'axis 2 lies outside the input [2, 3]'],
];

test.each(contradictions)('%s of %j with %j contradicts its inputs', (type, inputs, attributes, message) => {
  expect(inferText({ type, inputs, ...(attributes && { attributes }) }).problem).toEqual({
    code: 'shape/mismatch',
    message,
  });
});

test('the size of a state is unknown where no weight and no attribute tell it', () => {
  const { outputs } = inferText({
    type: 'LSTM',
    inputs: ['float32[seq, 2, 32]', 'float32[…]', 'float32[…]'],
  });
  const [type] = outputs;
  const shape = type?.kind === 'tensor' && isKnownShape(type.shape) ? type.shape : [];
  expect(shape.map((size) => (isUnknown(size) ? 'unknown' : typeof size))).toEqual([
    'object',
    'number',
    'number',
    'unknown',
  ]);
});

test.each([
  [{ type: 'NonZero', inputs: ['float32[2, 3, n]'] }, 'at most 6*n'],
  [{ type: 'Compress', inputs: ['float32[4, 5]', 'bool[5]'], attributes: { axis: 1 } }, 'at most 5'],
  [{ type: 'Unique', inputs: ['int64[4, 5]'] }, 'at most 20'],
  [{ type: 'NonMaxSuppression', inputs: ['float32[2, 9, 4]', 'float32[2, 3, 9]', [5]] }, 'at most 30'],
] as const)('a count that depends on data says the most it can be: %j', (application, limit) => {
  const [type] = inferText(application).outputs;
  const shape = type?.kind === 'tensor' && isKnownShape(type.shape) ? type.shape : [];
  expect(shape.filter(isUnknown).map(({ reason }) => reason)).toEqual([expect.stringContaining(limit)]);
});
