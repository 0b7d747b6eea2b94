/** What PyTorch's tensors share, copy and widen: views, broadcast operands of matmuls, types of sums and matmuls. */

import { expect, test } from 'vitest';
import { openModel } from '../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { byteSourceOfBuffer } from '../../server/src/formats/byteSource.ts';
import type { LoweredOperator } from '../../server/src/frameworks/behaviour.ts';
import { resolveFramework } from '../../server/src/frameworks/registry.ts';
import type { Precision } from '../../server/src/model/scenario.ts';

type Options = Readonly<Record<string, string>>;

function lowered(
  lines: readonly string[],
  precision: Precision,
  options: Options = {},
): readonly (LoweredOperator | undefined)[] {
  const text = [
    'name: small',
    'dims: { batch: 4 }',
    'inputs: { x: "float32[batch, 8, 16, 16]" }',
    'layers:',
    ...lines.map((line) => `  - ${line}`),
  ].join('\n');
  return operatorsOf(text, precision, options);
}

function operatorsOf(
  text: string,
  precision: Precision,
  options: Options = {},
): readonly (LoweredOperator | undefined)[] {
  const opened = openModel(byteSourceOfBuffer(Buffer.from(text)), 'small.layers.yaml');
  const { training, issues } = estimateModel(opened, [{ cluster: 'a100-sxm-80gb', gpus: 1, precision }]);
  if (training === undefined) throw new Error(issues.map(({ message }) => message).join('\n'));
  const { behaviour } = resolveFramework({ name: 'pytorch-ddp', options });
  return behaviour.lower(training, precision, 'training').operators;
}

/** Bytes kept for backward, of weights' copies none. */
function keptBytes(lines: readonly string[], precision: Precision, options: Options = {}): number {
  const kept = new Map<string, number>();
  for (const operator of lowered(lines, precision, options)) {
    for (const { key, bytes, weightCopy } of operator?.saved ?? []) if (!weightCopy) kept.set(key, bytes);
  }
  return [...kept.values()].reduce((total, bytes) => total + bytes, 0);
}

const conv = 'conv: Conv2d(8, 1, bias=False)';
const image = 4 * 8 * 16 * 16;

test.each([
  ['a scale for each channel', ['w: Parameter(8, 1, 1)', 'out: mul(conv, w)'], 4],
  ['a shift for each channel', ['w: Parameter(8, 1, 1)', 'out: add(conv, w)'], 4],
  ['a number', ['out: mul(conv, 0.5)'], 2],
] as const)('fp16: %s gives tensors of the size it says', (_, lines, bytesPerElement) => {
  expect(lowered([conv, ...lines], 'fp16').at(-1)?.bytesPerElement).toBe(bytesPerElement);
});

test.each([
  // The input of the convolution in fp16, what it gives as it lies, and the weight, which is there anyway.
  ['operands keep their types', 'fp16', [conv, 'w: Parameter(8, 1, 1)', 'out: mul(conv, w)'], 4 * image],
  [
    'what is expanded is kept once',
    'fp32',
    [conv, 'mean: mean(conv, -1, keepdim=True)', 'all: expand(mean, -1, -1, -1, 16)', 'out: mul(conv, all)'],
    8 * image + image / 4,
  ],
  [
    'a slice keeps the whole',
    'fp32',
    [conv, 'half: narrow(conv, 1, 0, 4)', 'out: sigmoid(half)', 'more: mul(half, out)'],
    4 * image + 4 * image + 2 * image,
  ],
  // What the sigmoid gave is kept by it, the rows that the matmul reads lie in another order: torch 2.13 keeps both.
  [
    'a reshape of what was transposed is kept beside what it was made from',
    'fp32',
    [
      conv,
      'on: sigmoid(conv)',
      'swapped: transpose(on, 1, 2)',
      'rows: reshape((batch, 16, 128))',
      'out: Linear(128, 4, bias=False)',
    ],
    4 * image + 4 * image + 4 * image,
  ],
  [
    'a reshape that strides can show is kept once',
    'fp32',
    [
      conv,
      'on: sigmoid(conv)',
      'rows: reshape((batch, 8, 256))',
      'swapped: transpose(rows, 1, 2)',
      'same: reshape((batch, 16, 16, 8))',
      'out: sigmoid(same)',
    ],
    4 * image + 4 * image + 4 * image,
  ],
  [
    'an entry keeps the whole',
    'fp32',
    [conv, 'one: select(conv, 1, 0)', 'out: sigmoid(one)', 'more: mul(one, out)'],
    4 * image + 4 * image + image / 2,
  ],
  // Places are computed from shapes, and are 16 numbers of 8 bytes, for all rows: torch 2.13 keeps those, and what is gathered from.
  [
    'places that are expanded are kept once',
    'fp32',
    [
      conv,
      'size: onnx.Shape(conv, start=3)',
      'end: onnx.Squeeze(size)',
      'places: onnx.Range(0, end, 1)',
      'wide: expand(places, 4, 1, 16, 16)',
      'out: onnx.GatherElements(conv, wide, axis=3)',
    ],
    8 * image + 16 * 8,
  ],
  ['a padding that mirrors keeps what it was given', 'fp32', [conv, 'out: ReflectionPad2d(1)'], 8 * image],
  ['a padding of zeros keeps nothing', 'fp32', [conv, 'out: ZeroPad2d(1)'], 4 * image],
  // Scores of all channels with one matrix for each image: the matrix is written out for each channel.
  [
    'a stack of matmuls writes out what it broadcasts',
    'fp32',
    [conv, 'one: narrow(conv, 1, 0, 1)', 'out: matmul(conv, one)'],
    4 * image * 3,
  ],
  // What torch 2.13 keeps of each: what is convolved, and then the whole where strides show a stack of matrices, or copies.
  [
    'a product keeps the whole of a stack that strides show',
    'fp32',
    [conv, 'turned: transpose(conv, 2, 3)', 'out: matmul(conv, turned)'],
    4 * image * 2,
  ],
  [
    'a product copies operands whose batch axes do not lie one in the other',
    'fp32',
    [conv, 'heads: transpose(conv, 1, 2)', 'turned: transpose(heads, 2, 3)', 'out: matmul(heads, turned)'],
    4 * image * 3,
  ],
  [
    'what is computed of a transposed tensor lies as that does',
    'fp32',
    [
      conv,
      'heads: transpose(conv, 1, 2)',
      'scaled: mul(heads, 0.5)',
      'turned: transpose(scaled, 2, 3)',
      'out: matmul(scaled, turned)',
    ],
    4 * image * 3,
  ],
  [
    'a sum over indices keeps the whole of what it puts in order again',
    'fp32',
    [conv, 'heads: transpose(conv, 1, 2)', "out: onnx.Einsum(heads, heads, equation='bicj,bkcj->bcik')"],
    4 * image * 2,
  ],
  [
    'a sum over indices copies what no strides show',
    'fp32',
    [conv, "out: onnx.Einsum(conv, conv, equation='bcij,bckj->bik')"],
    4 * image * 3,
  ],
  [
    'attention lays heads first where queries do',
    'fp32',
    [
      conv,
      'one: onnx.Attention(conv, conv, conv)',
      'swapped: transpose(one, 1, 2)',
      'rows: reshape((batch, 16, 128))',
      'out: Linear(128, 4, bias=False)',
    ],
    4 * image * 4 + 4 * 4 * 8 * 16,
  ],
] as const)('%s', (_, precision, lines, bytes) => {
  expect(keptBytes(lines, precision)).toBe(bytes);
});

/**
 * PyTorch's strides of images [4, 8, 16, 16]: channels last they are (2048, 1, 128, 8), whose rows and columns are one axis of stride
 * 8. Tokens of `flatten(2).transpose(1, 2)` lie in order then, and elements of `flatten(1)` do not; channels first it is the other way.
 */
test.each([
  [
    'channels-first',
    'rows of an image',
    ['rows: reshape((batch, 8, 256))', 'tokens: transpose(rows, 1, 2)'],
    8,
    1,
  ],
  [
    'channels-last',
    'rows of an image',
    ['rows: reshape((batch, 8, 256))', 'tokens: transpose(rows, 1, 2)'],
    8,
    0,
  ],
  ['channels-first', 'a whole image', ['rows: reshape((batch, 2048))'], 2048, 0],
  ['channels-last', 'a whole image', ['rows: reshape((batch, 2048))'], 2048, 1],
] as const)('%s: %s as a linear layer reads them', (format, _, lines, width, copies) => {
  const layers = [conv, 'on: sigmoid(conv)', ...lines, `out: Linear(${width}, 4, bias=False)`];
  // The input of the convolution, what the sigmoid gave, and a copy of it where strides do not show what is read.
  expect(keptBytes(layers, 'fp32', { 'memory-format': format })).toBe((2 + copies) * 4 * image);
});

test('a matmul reads each operand as it lies where one matrix, or the whole stack, is broadcast', () => {
  const kernels = (lines: readonly string[]) => lowered(lines, 'fp32').at(-1)?.forward.length;
  expect(kernels([conv, 'one: narrow(conv, 1, 0, 1)', 'out: matmul(conv, one)'])).toBe(2);
  expect(kernels([conv, 'w: Parameter(16, 16)', 'out: matmul(conv, w)'])).toBe(1);
  expect(kernels([conv, 'w: Parameter(1, 1, 16, 16)', 'out: matmul(conv, w)'])).toBe(1);
});

/** PyTorch 2.x derivatives.yaml: `leaky_relu` and `elu` keep what they are given, `leaky_relu_` and `elu_` what they give. */
test.each([
  ['LeakyReLU', 'false', 3],
  ['LeakyReLU', 'true', 2],
  ['ELU', 'false', 3],
  ['ELU', 'true', 2],
  // They keep what they give anyway.
  ['ReLU', 'false', 2],
  ['ReLU', 'true', 2],
  ['Sigmoid', 'true', 2],
  // It keeps what it was given, in its place or not.
  ['SiLU', 'true', 3],
] as const)('%s with in-place=%s between convolutions keeps %d images', (layer, inPlace, images) => {
  const layers = [conv, `on: ${layer}()`, 'out: Conv2d(8, 1, bias=False)'];
  expect(keptBytes(layers, 'fp32', { 'in-place': inPlace })).toBe(images * 4 * image);
});

/** Layer normalization has a block of threads for each row (PyTorch 2.x layer_norm_kernel.cu, `vectorized_layer_norm_kernel`). */
test.each([
  ['LayerNorm(16)', 4 * 8 * 16],
  ['LayerNorm((16, 16))', 4 * 8],
  ['softmax(dim=-1)', undefined],
  ['BatchNorm2d()', undefined],
] as const)('rows of %s that have a block each: %s', (layer, rows) => {
  const norm = lowered([conv, `out: ${layer}`], 'fp32').at(-1);
  const rowsOf = (pass: 'forward' | 'backward') => (rows === undefined ? undefined : { rows, pass });
  expect(norm?.forward[0]?.normalized).toEqual(rowsOf('forward'));
  expect(norm?.backwardData[0]?.normalized).toEqual(rowsOf('backward'));
});

test('autocast casts numbers in fp32 alone: of a choice by true and false it casts nothing', () => {
  const launches = (lines: readonly string[]) => lowered(lines, 'fp16').at(-1)?.forward.length;
  const chosen = [conv, 'more: onnx.Greater(conv, conv)', 'out: onnx.Where(more, conv, conv)'];
  expect(launches(chosen)).toBe(1);
});

test('bags of a table keep which rows they have, rows added to others are kept with them', () => {
  const rowsKept = (rows: string): boolean => {
    const text = [
      'name: rows',
      'dims: { batch: 64 }',
      'inputs: { ids: "int64[batch]", offsets: "int64[16]" }',
      'layers:',
      `  - rows: ${rows} from ids`,
      '  - none: Parameter(16, 32)',
      '  - place: unsqueeze(offsets, 1)',
      '  - first: narrow(rows, 0, 0, 16)',
      "  - out: onnx.ScatterND(none, place, first, reduction='add')",
    ].join('\n');
    return operatorsOf(text, 'fp32').some((operator) =>
      operator?.saved.some(({ bytes }) => bytes === 4 * 64 * 32),
    );
  };
  expect(rowsKept('Embedding(1000, 32)')).toBe(true);
  const bag = "bag: EmbeddingBag(1000, 32, mode='sum') from ids, offsets";
  const bags = ['name: bags', 'inputs: { ids: "int64[64]", offsets: "int64[16]" }', 'layers:', `  - ${bag}`];
  const kept = operatorsOf(bags.join('\n'), 'fp32').flatMap((operator) => operator?.saved ?? []);
  expect(kept.map(({ bytes }) => Number(bytes))).not.toContain(4 * 64 * 32);
});

test('real numbers that a view takes from complex ones are copied for a product as real ones', () => {
  const text = `<ir_version: 10, opset_import: ["" : 20, "layercost" : 1]>
g (float[2, 32, 8, 4, 2] x, float[64] w) => (y) {
  rows = Constant<value_ints = [2, 32, 64]>() given = Reshape(x, rows) made = LayerNormalization(given, w, w)
  pairs = Constant<value_ints = [2, 32, 8, 4, 2]>() split = Reshape(made, pairs)
  z = layercost.ComplexView<kind = "as-complex">(split) turned = Mul(z, z)
  real = layercost.ComplexView<kind = "as-real">(turned)
  heads = Constant<value_ints = [2, 32, 8, 8]>() q = Reshape(real, heads)
  swapped = Transpose<perm = [0, 2, 1, 3]>(q) across = Transpose<perm = [0, 1, 3, 2]>(swapped)
  y = MatMul(swapped, across)
}`;
  const kept = operatorsOf(text, 'fp32').flatMap((operator) => operator?.saved ?? []);
  const copies = kept.filter(({ key }) => key.startsWith('swapped:'));
  expect(copies.map(({ bytes }) => Number(bytes))).toEqual([4 * 2 * 32 * 64]);
});

test('indices that are stored are not kept, however an export joins them', () => {
  const text = [
    'name: biases',
    'inputs: { x: "float32[64, 8]" }',
    'layers:',
    '  - table: Parameter(100, 8)',
    "  - places: Buffer(64, dtype='int64')",
    '  - wide: expand(places, 32, 64)',
    '  - joined: unsqueeze(wide, -1)',
    '  - whole: cat((joined), dim=-1)',
    '  - biases: onnx.GatherND(table, whole)',
    '  - out: add(x, biases)',
  ].join('\n');
  const kept = operatorsOf(text, 'fp32').flatMap((operator) => operator?.saved ?? []);
  expect(kept.map(({ bytes }) => Number(bytes))).toEqual([]);
});

/** PyTorch 2.13 under autocast: `apply_rotary_pos_emb` of Llama, Cohere and ModernBERT in transformers 5.18, of heads in bf16. */
test.each([
  ['none', 0, 4],
  ['input', 2, 2],
  ['operands', 3, 2],
] as const)(
  'a rotation with cast=%s launches %i casts and gives %i bytes',
  (cast, casts, bytesPerElement) => {
    const rotated = (option: string, precision: Precision) =>
      lowered(['heads: Conv2d(8, 8, 1)', `out: RotaryPositionalEmbeddings(16, cast='${option}')`], precision);
    const count = (option: string, precision: Precision): number =>
      rotated(option, precision).reduce((sum, operator) => sum + (operator?.forward.length ?? 0), 0);
    expect(count(cast, 'bf16') - count('none', 'bf16')).toBe(casts);
    expect(count(cast, 'fp32')).toBe(count('none', 'fp32'));
    expect(rotated(cast, 'bf16').at(-1)?.bytesPerElement).toBe(bytesPerElement);
  },
);
