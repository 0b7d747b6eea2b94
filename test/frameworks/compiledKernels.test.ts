/**
 * Every kernel of small networks that `torch.compile` makes, by hand: what it reads and writes, each tensor once, and what forward keeps.
 * Rules, PyTorch 2.13: torch/_inductor/scheduler.py (what is fused), ir.py (what is stored), torch/_functorch/partitioners.py (what is
 * kept), torch/_inductor/graph.py, `decide_layout_opt` (images). Scales of a normalization are left out where backward reads them.
 */

import { expect, test } from 'vitest';
import {
  convolution,
  elementwise,
  kernelsOf,
  matmul,
  narrowed,
  normalization,
  reduction,
} from '../support/kernelTable.ts';

const compiled = { options: { compile: 'true' } };
const inputs = ['x: float32[batch, 256]'];
/** Elements of a batch of rows, of twice as many columns, and of a square weight. */
const [rows, wide, square] = [2 * 256, 2 * 512, 256 * 256];

test('a layer with a threshold keeps its result for the product behind it, and asks that', () => {
  const layers = ['a: Linear(256, 512)', 'r: ReLU()', 'b: Linear(512, 256, bias=False)', 's: add(b, x)'];
  expect(kernelsOf(inputs, layers, compiled)).toEqual([
    // The gradient of a bias of 512 is a sum of what backward of the threshold wrote for the products.
    `Gemm fp32 4 | F ${matmul(4 * (rows + 2 * square + 512 + wide))} | D ${reduction(4 * (wide + 512))}` +
      ` | W ${matmul([4 * (rows + wide + 2 * square) + 4 * (wide + 512), '×2'])} | S x:${4 * rows} ${4 * rows}`,
    `Relu fp32 4 | F ${elementwise(8 * wide)} | D ${elementwise(12 * wide)}`,
    `Gemm fp32 4 | F ${matmul(4 * (wide + 2 * square + rows))} | D ${matmul(4 * (rows + 2 * square + wide))}` +
      ` | W ${matmul(4 * (wide + 2 * square + rows))} | S r/Relu:${4 * wide} ${4 * wide}`,
    `Add fp32 4 | F ${elementwise(12 * rows)}`,
  ]);
});

test('a normalization and dropout are one kernel, which writes what backward needs of both', () => {
  const layers = [
    'a: Linear(256, 256, bias=False)',
    'n: LayerNorm(256)',
    'd: Dropout(0.1)',
    'o: Linear(256, 256, bias=False)',
  ];
  const product = matmul(4 * (2 * rows + square));
  // A mean and a deviation of each row; a byte of each element.
  const [statistics, mask] = [2 * 8, rows];
  expect(kernelsOf(inputs, layers, compiled)).toEqual([
    `Gemm fp32 4 | F ${product} | W ${product} | S x:${4 * rows} ${4 * rows}`,
    // Gradient, mask, input and statistics are read for what is handed back, and again for the sums of both parameters.
    `LayerNormalization fp32 4 | D ${normalization([4 * 3 * rows + mask + statistics, 'r256'])},` +
      ` ${reduction(4 * 2 * rows + mask + statistics + 4 * 2 * 256)}` +
      ` | S 1/1/statistics#${statistics}:${statistics} ${statistics}, a/Gemm:${4 * rows} ${4 * rows}`,
    // The kernel belongs to its last step: input and parameters are read.
    `Dropout fp32 4 | F ${normalization([4 * 2 * rows + 4 * 2 * 256 + mask + statistics, 'r256'])}` +
      ` | S 2/0/mask#${mask}:${mask} ${mask}`,
    `Gemm fp32 4 | F ${product} | D ${product} | W ${product} | S d/Dropout:${4 * rows} ${4 * rows}`,
  ]);
});

test('an activation and a scale are computed again in backward of the softmax behind them', () => {
  const layers = [
    'a: Linear(256, 256, bias=False)',
    'g: GELU()',
    'w: Parameter(256)',
    'm: mul(g, w)',
    't: softmax(dim=-1)',
    'o: Linear(256, 256, bias=False)',
  ];
  const product = matmul(4 * (2 * rows + square));
  expect(kernelsOf(inputs, layers, compiled)).toEqual([
    `Gemm fp32 4 | F ${product} | W ${product} | S x:${4 * rows} ${4 * rows}`,
    // Gradient and result of the softmax and the activation's input are read; the gradient behind the scale is stored for its sum, and
    // the one before the activation for the products.
    `Gelu fp32 4 | D ${reduction([4 * 5 * rows, 'r256'])} | S a/Gemm:${4 * rows} ${4 * rows}`,
    `Mul fp32 4 | D ${reduction(4 * 2 * rows + 4 * 256)}`,
    `Softmax fp32 4 | F ${reduction([4 * 2 * rows + 4 * 256, 'r256'])} | S t/Softmax:${4 * rows} ${4 * rows}`,
    `Gemm fp32 4 | F ${product} | D ${product} | W ${product}`,
  ]);
});

test('in bf16 what lies between products is computed in fp32 and stored as they read it', () => {
  const layers = [
    'a: Linear(256, 256, bias=False)',
    'g: GELU()',
    'o: Linear(256, 256, bias=False)',
    's: softmax(dim=-1)',
  ];
  const product = matmul(2 * (2 * rows + square));
  const kept = (name: string): string => `${name}:${2 * rows} ${2 * rows}`;
  expect(kernelsOf(inputs, layers, { ...compiled, precision: 'bf16' }).slice(1)).toEqual([
    // Both ways in two bytes: input and result, and with the gradient.
    `Gelu fp32 2 | F ${elementwise(2 * 2 * rows)} | D ${elementwise(2 * 3 * rows)} | S ${kept('a/Gemm')}`,
    // The weight is cast before, and its gradient behind.
    `Gemm bf16 2 | F ${narrowed(square)}, ${product} | D ${product}, ${narrowed(square)} | W ${product}` +
      ` | S o.weight:2 ${2 * square}, ${kept('g/Gelu')}`,
    // The result goes to the caller, and is kept; its gradient is written in two bytes for the products.
    `Softmax fp32 4 | F ${reduction([2 * rows + 4 * rows, 'r256'])}` +
      ` | D ${reduction([4 * rows + 4 * rows + 2 * rows, 'r256'])} | S s/Softmax:${4 * rows} ${4 * rows}`,
  ]);
});

test('images: masks and places of maxima are a byte each, and wide convolutions lie channels last', () => {
  const layers = [
    'a: Conv2d(16, 128, 3, padding=1, bias=False)',
    'r: ReLU()',
    'p: MaxPool2d(2)',
    'c: Conv2d(128, 128, 1, bias=False)',
  ];
  const [x, filter, image, pooled, point] = [
    2 * 16 * 64,
    128 * 16 * 9,
    2 * 128 * 64,
    2 * 128 * 16,
    128 * 128,
  ];
  const [first, last] = [convolution(4 * (x + filter + image)), convolution(4 * (2 * pooled + point))];
  expect(kernelsOf(['x: float32[batch, 16, 8, 8]'], layers, compiled)).toEqual([
    // The image that comes in and the filter are copied in each step; one of a single pixel lies the same either way.
    `Conv tf32 4 | F ${elementwise(8 * x, 8 * filter)}, ${first} | W ${first} | S x:${4 * x} ${4 * x}`,
    `Relu fp32 4 | F ${elementwise(8 * image + image)} | D ${elementwise(8 * image + image)}` +
      ` | S mask of r/Relu#${image}:${image} ${image}`,
    // Backward fills the gradient with zeros, and adds what is read at its places.
    `MaxPool fp32 4 | F ${elementwise(4 * (image + pooled) + pooled)}` +
      ` | D ${elementwise(4 * image)}, ${reduction(4 * pooled + pooled + 4 * image)}` +
      ` | S 2/offsets#${pooled}:${pooled} ${pooled}`,
    `Conv tf32 4 | F ${last} | D ${last} | W ${last} | S p/MaxPool:${4 * pooled} ${4 * pooled}`,
  ]);
  // Narrow ones stay as they are.
  const narrow = ['a: Conv2d(16, 32, 3, padding=1, bias=False)', 'r: ReLU()'];
  expect(kernelsOf(['x: float32[batch, 16, 8, 8]'], narrow, compiled)[0]).not.toContain('elementwise');
});

test('inference keeps nothing, and writes nothing for backward', () => {
  const layers = [
    'a: Linear(256, 256, bias=False)',
    'n: LayerNorm(256)',
    'd: Dropout(0.1)',
    'o: Linear(256, 256, bias=False)',
  ];
  const product = matmul(4 * (2 * rows + square));
  expect(kernelsOf(inputs, layers, { ...compiled, mode: 'inference' })).toEqual([
    `Gemm fp32 4 | F ${product}`,
    `LayerNormalization fp32 4 | F ${normalization([4 * 2 * rows + 4 * 2 * 256, 'r256'])}`,
    `Gemm fp32 4 | F ${product}`,
  ]);
});

test('a batch normalization is computed again for the sums of its backward, and its result kept for the product behind', () => {
  const layers = [
    'a: Conv2d(16, 32, 3, padding=1, bias=False)',
    'n: BatchNorm2d()',
    'r: ReLU()',
    'c: Conv2d(32, 32, 1, bias=False)',
  ];
  const [x, image, channels] = [2 * 16 * 1024, 2 * 32 * 1024, 32];
  const [first, last] = [convolution(4 * (x + 32 * 16 * 9 + image)), convolution(4 * (2 * image + 32 * 32))];
  // A mean and a deviation of each channel, and two sums.
  const [statistics, sums] = [8 * channels, 8 * channels];
  expect(kernelsOf(['x: float32[batch, 16, 32, 32]'], layers, compiled)).toEqual([
    `Conv tf32 4 | F ${first} | W ${first} | S x:${4 * x} ${4 * x}`,
    // Batches are counted in 8 bytes. Gradient, result, input and statistics are read twice in backward: for the sums, and with them.
    `BatchNormalization fp32 4 | F ${elementwise(16)}, ${reduction(4 * image + statistics)}` +
      ` | D ${reduction(12 * image + statistics + sums)}, ${elementwise(16 * image + statistics + sums)}` +
      ` | S 1/1/statistics#${statistics}:${statistics} ${statistics}, a/Conv:${4 * image} ${4 * image}`,
    // Input, statistics and both parameters are read.
    `Relu fp32 4 | F ${elementwise(8 * image + statistics + 8 * channels)}`,
    `Conv tf32 4 | F ${last} | D ${last} | W ${last} | S r/Relu:${4 * image} ${4 * image}`,
  ]);
});

test('gradients of parts, and of a part of one, are written into their places', () => {
  const layers = [
    'a: Linear(64, 64, bias=False)',
    'q, k: split([32, 32], dim=-1)',
    'qr: reshape(q, (batch, 512))',
    'qs: sigmoid(qr)',
    'o: Linear(512, 4, bias=False)',
    'kn: narrow(k, 1, 0, 4)',
    'kr: reshape(kn, (batch, 128))',
    'ks: sigmoid(kr)',
    'p: Linear(128, 4, bias=False)',
    's: add(o, p)',
  ];
  const [whole, half, quarter] = [2 * 16 * 64, 2 * 512, 2 * 128];
  const made = kernelsOf(['x: float32[batch, 16, 64]'], layers, compiled);
  // Each is computed of its gradient and its result; what is not read has zeros.
  expect(made[1]).toBe(`Split fp32 4 | D ${elementwise(4 * (2 * half + 2 * quarter + whole))}`);
  expect(made[2]).toBe(`Sigmoid fp32 4 | F ${elementwise(8 * half)} | S qs/Sigmoid:${4 * half} ${4 * half}`);
  expect(made[4]).toBe(
    `Sigmoid fp32 4 | F ${elementwise(8 * quarter)} | S ks/Sigmoid:${4 * quarter} ${4 * quarter}`,
  );
});

test('a loss reduces rows of scores, and keeps those with two numbers of each row', () => {
  const layers = ['head: Linear(64, 100, bias=False) from row', 'loss: CrossEntropyLoss() from head, label'];
  const [scores, labels, rowsKept] = [4 * 2 * 100, 8 * 2, 8 * 2];
  expect(kernelsOf(['row: float32[batch, 64]', 'label: int64[batch]'], layers, compiled)[1]).toBe(
    // The two numbers are left out in forward; backward reads them, with the gradient of the loss.
    `SoftmaxCrossEntropyLoss fp32 4 | F ${reduction([scores + labels + 4, 'r100'])}` +
      ` | D ${reduction([2 * scores + rowsKept + labels + 4, 'r100'])}` +
      ` | S head/Gemm:${scores} ${scores}, 1/rows#${rowsKept}:${rowsKept} ${rowsKept}, label:${labels} ${labels}`,
  );
});

test('in bf16 a normalization that a product alone reads is written in two bytes', () => {
  const layers = ['a: Linear(256, 256, bias=False)', 'n: LayerNorm(256)', 'o: Linear(256, 256, bias=False)'];
  const statistics = 2 * 8;
  const [, norm] = kernelsOf(inputs, layers, { ...compiled, precision: 'bf16' });
  expect(norm?.split(' | ').slice(0, 2)).toEqual([
    'LayerNormalization fp32 4',
    `F ${normalization([2 * rows + 2 * rows + 4 * 2 * 256 + statistics, 'r256'])}`,
  ]);
});

const [kept, threshold] = [
  (name: string) => `${name}:${4 * rows} ${4 * rows}`,
  `mask of a/Gemm#${rows}:${rows} ${rows}`,
];

/**
 * What autograd keeps is its result for some, what it was given for others (PyTorch 2.13, tools/autograd/derivatives.yaml), and backward
 * reads that beside the gradient. A threshold is a byte of each element. Bytes of an element: read and written, each 4.
 */
test.each<[layer: string, type: string, forward: number, backward: number, keeps: string | undefined]>([
  ['Sigmoid()', 'Sigmoid', 8, 12, undefined],
  ['Tanh()', 'Tanh', 8, 12, undefined],
  ['GELU()', 'Gelu', 8, 12, kept('a/Gemm')],
  ['Softplus()', 'Softplus', 8, 12, kept('a/Gemm')],
  ['ReLU()', 'Relu', 8, 12, undefined],
  ['Hardtanh()', 'Clip', 9, 9, threshold],
  ['Dropout(0.1)', 'Dropout', 9, 9, `1/0/mask#${rows}:${rows} ${rows}`],
])('%s between two products', (layer, type, forward, backward, keeps) => {
  const layers = ['a: Linear(256, 256, bias=False)', `t: ${layer}`, 'o: Linear(256, 256, bias=False)'];
  const product = matmul(4 * (2 * rows + square));
  // The result is kept for the product, whoever is the first that asks for it.
  const own = kept(`t/${type}`);
  const isFirst = type === 'Sigmoid' || type === 'Tanh';
  const saved = isFirst ? own : keeps;
  expect(kernelsOf(inputs, layers, compiled)).toEqual([
    `Gemm fp32 4 | F ${product} | W ${product} | S x:${4 * rows} ${4 * rows}`,
    `${type} fp32 4 | F ${elementwise(forward * rows)} | D ${elementwise(backward * rows)}${saved ? ` | S ${saved}` : ''}`,
    `Gemm fp32 4 | F ${product} | D ${product} | W ${product}${isFirst ? '' : ` | S ${own}`}`,
  ]);
  // Nothing is kept and nothing runs backwards where nothing is trained: a threshold writes no mask.
  expect(kernelsOf(inputs, layers, { ...compiled, mode: 'inference' })).toEqual([
    `Gemm fp32 4 | F ${product}`,
    ...(type === 'Dropout' ? [] : [`${type} fp32 4 | F ${elementwise(8 * rows)}`]),
    `Gemm fp32 4 | F ${product}`,
  ]);
});

/** An image of 2 × 32 channels of 8 × 8 behind a convolution. */
const image = 2 * 32 * 64;
/**
 * torch/_inductor/lowering.py: a mean over a window is computed where it is read, one over all of an image is a sum over rows. What a
 * window was given is kept (torch/_functorch/partitioners.py), what a whole image was is not, whose backward reads the gradient alone.
 */
test.each<[layer: string, type: string, results: number, rowLength: number | undefined]>([
  ['AvgPool2d(2)', 'AveragePool', image / 4, undefined],
  ['AvgPool2d(4)', 'AveragePool', image / 16, undefined],
  // One row of results, but not one of both: no mean of the whole image.
  ['AvgPool2d((1, 8))', 'AveragePool', image / 8, undefined],
  ['AvgPool2d((8, 1))', 'AveragePool', image / 8, undefined],
  ['AdaptiveAvgPool2d(1)', 'GlobalAveragePool', 2 * 32, 64],
])('a mean of an image: %s', (layer, type, results, rowLength) => {
  const layers = ['a: Conv2d(16, 32, 1, bias=False)', `p: ${layer}`, 'c: Conv2d(32, 8, 1, bias=False)'];
  const [, own = ''] = kernelsOf(['x: float32[batch, 16, 8, 8]'], layers, compiled);
  const size = 4 * (image + results);
  const forward = rowLength === undefined ? elementwise(size) : normalization([size, `r${rowLength}`]);
  expect(own.split(' | ').filter((part) => rowLength !== undefined || !part.startsWith('D '))).toEqual([
    `${type} fp32 4`,
    `F ${forward}`,
    rowLength === undefined ? `S a/Conv:${4 * image} ${4 * image}` : `D ${elementwise(size)}`,
  ]);
});

test('a table is filled with zeros before gradients are added to its rows; places are 8 bytes', () => {
  const [places, results, table] = [2 * 16, 2 * 16 * 64, 100 * 64];
  const layers = ['e: Embedding(100, 64)', 'o: Linear(64, 8, bias=False)'];
  expect(kernelsOf(['ids: int64[batch, 16]'], layers, compiled)[0]).toBe(
    `Gather fp32 4 | F ${elementwise(8 * places + 4 * 2 * results)}` +
      ` | D ${elementwise(4 * table)}, ${reduction(8 * places + 4 * (results + table))} | S ids:${8 * places} ${8 * places}`,
  );
});

test('halves of a product are read where they lie, and their gradients are written', () => {
  const layers = ['a: Linear(256, 512, bias=False)', 'g: GLU()', 'o: Linear(256, 256, bias=False)'];
  // Two halves and the result; backward reads the gradient and both, and writes both gradients.
  expect(kernelsOf(inputs, layers, compiled)[1]).toBe(
    `Mul fp32 4 | F ${elementwise(4 * 3 * rows)} | D ${elementwise(4 * 5 * rows)} | S a/Gemm:${8 * rows} ${8 * rows}`,
  );
});
