/**
 * Every kernel of small networks in eager PyTorch, by hand: what it reads and writes, each tensor once unless a line says otherwise, and
 * what autograd keeps. Sources are named at the cases: PyTorch 2.13, aten/src/ATen/native/ (kernels) and tools/autograd/derivatives.yaml
 * (what backward reads and what is kept).
 */

import { describe, expect, test } from 'vitest';
import type { Precision } from '../../server/src/model/scenario.ts';
import {
  attention,
  convolution,
  elementwise,
  kernelsOf,
  kernelsOfClass,
  matmul,
  movement,
  narrowed,
  normalization,
  pooling,
  reduction,
  widened,
} from '../support/kernelTable.ts';

const inTypes: readonly [Precision, bytes: number, product: string, convolution: string][] = [
  ['fp32', 4, 'fp32', 'tf32'],
  ['bf16', 2, 'bf16', 'bf16'],
  ['fp16', 2, 'fp16', 'fp16'],
];

describe('images', () => {
  const inputs = ['x: float32[batch, 8, 6, 6]'];
  const layers = [
    'c: Conv2d(8, 16, 3, padding=1)',
    'n: BatchNorm2d()',
    'r: ReLU()',
    'd: Conv2d(16, 16, 3, padding=1, groups=16)',
    's: add(d, r)',
    'q: AdaptiveAvgPool2d(1)',
    'f: Flatten()',
    'o: Linear(16, 4)',
  ];
  /** Elements: the input, an image of 16 channels, the filters, and what the last layer has. */
  const [x, image, filter, depthwise] = [2 * 8 * 36, 2 * 16 * 36, 16 * 8 * 9, 16 * 9];
  const [pooled, weight, scores] = [2 * 16, 16 * 4, 2 * 4];
  const depthwiseOf = kernelsOfClass('depthwise-convolution');

  test.each(inTypes)('in %s', (precision, b, product, convolved) => {
    const isMixed = b === 2;
    // Autocast casts what a product reads, and weights with their biases; gradients of weights go back.
    const casts = (...elements: readonly number[]) => (isMixed ? `${narrowed(...elements)}, ` : '');
    const back = (...elements: readonly number[]) => (isMixed ? `${widened(...elements)}, ` : '');
    const kept = (name: string, elements: number) => (isMixed ? `, ${name}:2 ${2 * elements}` : '');
    expect(kernelsOf(inputs, layers, { precision })).toEqual([
      // Convolution.cpp: cuDNN has no bias, which is added in place. The gradient of the filter reads both images, that of the bias one.
      `Conv ${convolved} ${b}` +
        ` | F ${casts(x, filter, 16)}${convolution(b * (x + filter + 16 + image))}, ${elementwise(2 * b * image)}` +
        ` | W ${back(filter, 16)}${convolution([b * (x + image + filter) + b * (image + 16), '×2'])}` +
        ` | S ${isMixed ? `x:2@0 ${2 * x}` : `x:4 ${4 * x}`}${kept('c.weight', filter)}`,
      // Statistics, then the result; running ones and two parameters are read, running ones written (counted as wide as the image).
      // Backward sums, then gives.
      `BatchNormalization fp32 ${b} | F ${normalization(b * (3 * image + 6 * 16))}` +
        ` | D ${normalization(5 * b * image)} | S c/Conv:${b} ${b * image}, 1/1/statistics ${4 * 2 * 16}`,
      `Relu fp32 ${b} | F ${elementwise(2 * b * image)} | D ${elementwise(3 * b * image)} | S r/Relu:${b} ${b * image}`,
      // A depthwise kernel adds its bias itself. The gradient of what it reads is added to that of the sum.
      `Conv ${isMixed ? product : 'fp32'} ${b}` +
        ` | F ${casts(depthwise, 16)}${depthwiseOf(b * (2 * image + depthwise + 16))}` +
        ` | D ${depthwiseOf(b * (2 * image + depthwise))}, ${elementwise(3 * b * image)}` +
        ` | W ${back(depthwise, 16)}${depthwiseOf([b * (2 * image + depthwise) + b * (image + 16), '×2'])}` +
        ` | S r/Relu:${b} ${b * image}${kept('d.weight', depthwise)}`,
      `Add fp32 ${b} | F ${elementwise(3 * b * image)}`,
      `GlobalAveragePool fp32 ${b} | F ${pooling(b * (image + pooled))} | D ${pooling(b * (image + pooled))}`,
      `Gemm ${product} ${b} | F ${casts(weight, 4)}${matmul(b * (pooled + weight + 4 + scores))}` +
        ` | D ${matmul(b * (scores + weight + pooled))}` +
        ` | W ${back(weight, 4)}${matmul([b * (pooled + scores + weight) + b * (scores + 4), '×2'])}` +
        ` | S q/GlobalAveragePool:${b} ${b * pooled}${kept('o.weight', weight)}`,
    ]);
  });
});

describe('rows', () => {
  const inputs = ['x: float32[batch, 10, 64]'];
  const [rows, weight] = [2 * 10 * 64, 64 * 64];

  test('in fp32: a gated layer, dropout, a softmax, and what is joined', () => {
    const layers = [
      'q: Linear(64, 64) from x',
      'n: LayerNorm(64)',
      'g: SiLU()',
      'u: Linear(64, 64) from n',
      'm: mul(g, u)',
      'd: Dropout(0.1)',
      's: softmax(dim=-1)',
      'e: exp(s)',
      'z: add(e, m)',
      'c: cat((z, x), dim=-1)',
      'w: Parameter(128)',
      'v: mul(c, w)',
      'k: mean(dim=-1)',
    ];
    const product = 4 * (2 * rows + weight);
    expect(kernelsOf(inputs, layers)).toEqual([
      `MatMul fp32 4 | F ${matmul(product)} | W ${matmul(product)} | S x:4 ${4 * rows}`,
      // Linear.cpp, `addmm`: the product adds the bias, whose gradient is a sum.
      `Add fp32 4 | W ${elementwise(4 * (rows + 64))}`,
      // Scale and shift are read; backward reads both, and gives two gradients of 64 elements in another pass. Mean and deviation are kept.
      `LayerNormalization fp32 4 | F ${normalization([4 * (2 * rows + 2 * 64), 'r64'])} | D ${normalization([12 * rows, 'r64'])}` +
        ` | W ${normalization(4 * (2 * rows + 2 * 64))} | S q/Add:4 ${4 * rows}, 3/1/statistics ${4 * 2 * 20}`,
      // `silu` is one call, which keeps its input.
      `Mul fp32 4 | F ${elementwise([8 * rows, '[silu-forward]'])} | D ${elementwise([12 * rows, '[silu-backward]'])} | S n/LayerNormalization:4 ${4 * rows}`,
      // The gradient of what both read is a sum of two.
      `MatMul fp32 4 | F ${matmul(product)} | D ${matmul(product)}, ${elementwise(12 * rows)} | W ${matmul(product)}` +
        ` | S n/LayerNormalization:4 ${4 * rows}`,
      `Add fp32 4 | W ${elementwise(4 * (rows + 64))}`,
      // Two gradients, each of which reads one and the other factor.
      `Mul fp32 4 | F ${elementwise(12 * rows)} | D ${elementwise([24 * rows, '×2'])}` +
        ` | S u/Add:4 ${4 * rows}, g/Mul:4 ${4 * rows}`,
      // Dropout.cu: a mask of one byte for each element is written, and read in backward.
      `Dropout fp32 4 | F ${elementwise([9 * rows, '[dropout-wide]'])} | D ${elementwise(9 * rows, 12 * rows)} | S 10/0/mask ${rows}`,
      // SoftMax.cu, `softmax_backward_cuda_out`: the gradient is multiplied by the result before rows are summed.
      `Softmax fp32 4 | F ${reduction([8 * rows, 'r64'])} | D ${elementwise(12 * rows)}, ${reduction([12 * rows, 'r64'])} | S s/Softmax:4 ${4 * rows}`,
      `Exp fp32 4 | F ${elementwise(8 * rows)} | D ${elementwise(12 * rows)} | S e/Exp:4 ${4 * rows}`,
      `Add fp32 4 | F ${elementwise(12 * rows)}`,
      // Gradients of parts are views.
      `Concat fp32 4 | F ${movement(4 * 4 * rows)}`,
      // That of the vector is a product, which is summed to 128 elements.
      `Mul fp32 4 | F ${elementwise([4 * (4 * rows + 128), '[strided]'])} | D ${elementwise([4 * (4 * rows + 128), '[strided]'])}` +
        ` | W ${elementwise([24 * rows + 8 * rows + 4 * 128, '×2'])} | S c/Concat:4 ${8 * rows}`,
      `ReduceMean fp32 4 | F ${reduction(4 * (2 * rows + 20))} | D ${reduction(4 * (2 * rows + 20))}`,
    ]);
  });

  test('in bf16: a normalization widens what it reads, and a product narrows that again', () => {
    const layers = [
      'q: Linear(64, 64)',
      'n: LayerNorm(64)',
      'g: GELU()',
      'u: Linear(64, 64) from n',
      'm: cat((g, u), dim=-1)',
    ];
    const product = 2 * (2 * rows + weight);
    expect(kernelsOf(inputs, layers, { precision: 'bf16' })).toEqual([
      `MatMul bf16 2 | F ${narrowed(rows, weight)}, ${matmul(product)} | W ${widened(weight)}, ${matmul(product)} | S x:2@1 ${2 * rows}`,
      `Add fp32 2 | W ${elementwise(2 * (rows + 64))}`,
      `LayerNormalization fp32 4 | F ${widened(rows)}, ${normalization([4 * (2 * rows + 2 * 64), 'r64'])}` +
        ` | D ${narrowed(rows)}, ${normalization([12 * rows, 'r64'])} | W ${normalization(4 * (2 * rows + 2 * 64))}` +
        ` | S q/Add:4@3 ${4 * rows}, 3/1/statistics ${4 * 2 * 20}`,
      // The layer came last, and its gradient comes first: that of the activation is added to it.
      `Gelu fp32 4 | F ${elementwise([8 * rows, '[gelu-forward]'])} | D ${elementwise([12 * rows, '[gelu-backward]'], 12 * rows)} | S n/LayerNormalization:4 ${4 * rows}`,
      `MatMul bf16 2 | F ${narrowed(rows, weight)}, ${matmul(product)} | D ${widened(rows)}, ${matmul(product)}` +
        ` | W ${widened(weight)}, ${matmul(product)} | S n/LayerNormalization:2@6 ${2 * rows}, u.weight:2 ${2 * weight}`,
      `Add fp32 2 | W ${elementwise(2 * (rows + 64))}`,
      // `cat` is on the list of the widest type: the product is cast before it, its gradient behind.
      `Concat fp32 4 | F ${widened(rows)}, ${movement(4 * 4 * rows)} | D ${narrowed(rows)}`,
    ]);
  });

  test.each(inTypes)('in %s: the loss of scores', (precision, b, product) => {
    const isMixed = b === 2;
    const [scores, labels] = [2 * 100, 2];
    const layers = [
      'head: Linear(64, 100, bias=False) from row',
      'loss: CrossEntropyLoss() from head, label',
    ];
    const made = kernelsOf(['row: float32[batch, 64]', 'label: int64[batch]'], layers, { precision });
    expect(made[0]?.split(' | ')[0]).toBe(`Gemm ${product} ${b}`);
    // LossNLL.cpp: `log_softmax` in the type of scores, whose result is cast for `nll_loss`, which runs in fp32. Loss.cu: backward fills
    // the gradient of all scores with zeros first. Rows and their logarithms are read, with the gradient, and one is written.
    expect(made[1]).toBe(
      isMixed
        ? `SoftmaxCrossEntropyLoss fp32 4 | F ${reduction([4 * scores, '×2'])}, ${widened(scores)}` +
            ` | D ${elementwise(4 * scores)}, ${narrowed(scores)}, ${reduction([6 * scores, '×2'])}` +
            ` | S 1/0/log-probabilities ${4 * scores}, label:8 ${8 * labels}, 1/narrow ${2 * scores}`
        : `SoftmaxCrossEntropyLoss fp32 4 | F ${reduction([4 * 3 * scores + 8 * labels + 4, '×2'])}` +
            ` | D ${elementwise(4 * scores)}, ${reduction([12 * scores, '×2'])}` +
            ` | S 1/0/log-probabilities ${4 * scores}, label:8 ${8 * labels}`,
    );
  });
});

describe('heads', () => {
  const inputs = ['x: float32[batch, 10, 64]'];
  const layers = [
    'a: Linear(64, 192, bias=False)',
    'q, k, v: split([64, 64, 64], dim=-1)',
    'qs: reshape(q, batch, 10, 4, 16)',
    'qh: transpose(1, 2)',
    'ks: reshape(k, batch, 10, 4, 16)',
    'kh: transpose(1, 2)',
    'vs: reshape(v, batch, 10, 4, 16)',
    'vh: transpose(1, 2)',
    'o: scaled_dot_product_attention(qh, kh, vh, is_causal=True)',
    'ot: transpose(1, 2)',
    'om: reshape(batch, 10, 64)',
    'p: Linear(64, 64, bias=False)',
  ];
  const [rows, heads] = [2 * 10 * 64, 2 * 4 * 10];

  test.each(inTypes)(
    'in %s: views of one projection are put together again in backward',
    (precision, b, product) => {
      const isMixed = b === 2;
      const casts = (...elements: readonly number[]) => (isMixed ? `${narrowed(...elements)}, ` : '');
      const back = (...elements: readonly number[]) => (isMixed ? `${widened(...elements)}, ` : '');
      const [packed, merged] = [b * (rows + 64 * 192 + 3 * rows), b * (2 * rows + 64 * 64)];
      const whole = `a/MatMul:${b} ${b * 3 * rows}`;
      expect(kernelsOf(inputs, layers, { precision })).toEqual([
        `MatMul ${product} ${b} | F ${casts(rows, 64 * 192)}${matmul(packed)} | W ${back(64 * 192)}${matmul(packed)}` +
          ` | S ${isMixed ? `x:2@1 ${2 * rows}` : `x:4 ${4 * rows}`}`,
        // FunctionsManual.cpp, `split_backward`: the three gradients are read, and written side by side.
        `Split fp32 ${b} | D ${elementwise(2 * b * 3 * rows)}`,
        // Four tensors in forward, eight in backward (three and the result, its gradient, three gradients). Whoever keeps a part keeps the
        // whole. The logarithm of a sum is kept for each query, in fp32.
        `Attention ${product} ${b} | F ${attention(4 * b * rows)} | D ${attention(8 * b * rows)}` +
          ` | S ${whole}, ${whole}, ${whole}, o/Attention:${b} ${b * rows}, 9/4/logarithm of the sum per query ${4 * heads}`,
        `MatMul ${product} ${b} | F ${casts(64 * 64)}${matmul(merged)} | D ${matmul(merged)} | W ${back(64 * 64)}${matmul(merged)}` +
          ` | S o/Attention:${b} ${b * rows}${isMixed ? `, p.weight:2 ${2 * 64 * 64}` : ''}`,
      ]);
    },
  );

  test('a mask is read with queries, keys and values, which are one tensor here, and cast', () => {
    const given = ['x: float32[batch, 4, 10, 16]', 'm: float32[batch, 1, 10, 10]'];
    const own = ['a: Linear(16, 16, bias=False) from x', 'o: scaled_dot_product_attention(a, a, a, m)'];
    const [mask, statistics] = [2 * 10 * 10, `2/4/logarithm of the sum per query ${4 * heads}`];
    const kept = (b: number) =>
      Array(3)
        .fill(`a/MatMul:${b} ${b * rows}`)
        .join(', ');
    expect(kernelsOf(given, own).at(-1)).toBe(
      `Attention fp32 4 | F ${attention(4 * (4 * rows + mask))} | D ${attention(4 * 8 * rows)}, ${elementwise(12 * rows, 12 * rows)}` +
        ` | S ${kept(4)}, o/Attention:4 ${4 * rows}, ${statistics}, m:4 ${4 * mask}`,
    );
    expect(kernelsOf(given, own, { precision: 'bf16' }).at(-1)).toBe(
      `Attention bf16 2 | F ${narrowed(mask)}, ${attention(2 * (4 * rows + mask))} | D ${attention(2 * 8 * rows)}, ${elementwise(6 * rows, 6 * rows)}` +
        ` | S ${kept(2)}, o/Attention:2 ${2 * rows}, ${statistics}, m:2@2 ${2 * mask}`,
    );
  });
});

describe('parts of a tensor', () => {
  const inputs = ['x: float32[batch, 10, 64]'];
  const [rows, row, five] = [2 * 10 * 64, 2 * 64, 2 * 5 * 64];

  test.each([
    ['fp32', 4],
    ['bf16', 2],
  ] as const)('in %s: gradients of an entry and of a slice are copied into zeros', (precision, b) => {
    const layers = [
      'p: Linear(64, 64, bias=False)',
      'first: select(p, 1, 0)',
      'some: narrow(p, 1, 2, 5)',
      't: sigmoid(first)',
      'tt: sigmoid(some)',
      'ex: unsqueeze(t, 1)',
      'big: expand(ex, batch, 5, 64)',
      'z: mul(tt, big)',
    ];
    // The first line is the product.
    expect(kernelsOf(inputs, layers, { precision }).slice(1)).toEqual([
      // TensorShape.cpp, `select_backward`: zeros, and the entry is copied. Both gradients of what the product gave are added.
      `Gather fp32 ${b} | D ${elementwise(b * rows, 2 * b * row, 3 * b * rows)}`,
      // FunctionsManual.cpp, `slice_backward_wrapper`.
      `Slice fp32 ${b} | D ${elementwise(b * rows, 2 * b * five)}`,
      `Sigmoid fp32 ${b} | F ${elementwise(2 * b * row)} | D ${elementwise(3 * b * row)} | S t/Sigmoid:${b} ${b * row}`,
      `Sigmoid fp32 ${b} | F ${elementwise(2 * b * five)} | D ${elementwise(3 * b * five)} | S tt/Sigmoid:${b} ${b * five}`,
      // What is expanded is kept as it lies, once.
      `Mul fp32 ${b} | F ${elementwise([3 * b * five, '[strided]'])} | D ${elementwise([6 * b * five, '×2'])}` +
        ` | S t/Sigmoid:${b} ${b * row}, tt/Sigmoid:${b} ${b * five}`,
    ]);
  });
});

test('what repeats is written out by a reshape, and summed again in backward', () => {
  const layers = [
    'a: Linear(64, 64, bias=False)',
    'm: mean(a, dim=-1, keepdim=True)',
    'e: expand(m, batch, 10, 64)',
    'r: reshape(e, (batch, 640))',
    's: sigmoid(r)',
  ];
  const rows = 2 * 10 * 64;
  expect(kernelsOf(['x: float32[batch, 10, 64]'], layers).slice(2)).toEqual([
    `Reshape fp32 4 | F ${elementwise(8 * rows)} | D ${elementwise(8 * rows)}`,
    `Sigmoid fp32 4 | F ${elementwise(8 * rows)} | D ${elementwise(12 * rows)} | S s/Sigmoid:4 ${4 * rows}`,
  ]);
});

test('a loss without gradients fills none and keeps nothing', () => {
  const layers = ['head: Linear(64, 100, bias=False) from row', 'loss: CrossEntropyLoss() from head, label'];
  const given = ['row: float32[batch, 64]', 'label: int64[batch]'];
  const scores = 2 * 100;
  expect(kernelsOf(given, layers, { precision: 'bf16', mode: 'inference' }).at(-1)).toBe(
    `SoftmaxCrossEntropyLoss fp32 4 | F ${reduction([4 * scores, '×2'])}, ${widened(scores)}`,
  );
  // Scores that come in have none.
  const own = kernelsOf(['head: float32[batch, 100]', 'label: int64[batch]'], layers.slice(1));
  expect(own.at(-1)).not.toContain(' | D ');
});

/** What backward needs is neither launched nor kept; what forward computes is the same. */
test.each<[string, readonly string[], readonly string[]]>([
  [
    'heads',
    ['x: float32[batch, 10, 64]'],
    [
      'a: Linear(64, 192, bias=False)',
      'q, k, v: split([64, 64, 64], dim=-1)',
      'qs: reshape(q, batch, 10, 4, 16)',
      'qh: transpose(1, 2)',
      'ks: reshape(k, batch, 10, 4, 16)',
      'kh: permute(0, 2, 3, 1)',
      'o: matmul(qh, kh)',
      'first: select(o, 1, 0)',
      's: softmax(first, dim=-1)',
    ],
  ],
  [
    'rows',
    ['x: float32[batch, 10, 64]'],
    [
      'a: Linear(64, 64)',
      'n: LayerNorm(64)',
      'g: SiLU()',
      'e: mean(g, dim=-1, keepdim=True)',
      'w: expand(e, batch, 10, 64)',
      'r: reshape(w, (batch, 640))',
      'o: sigmoid(r)',
    ],
  ],
  [
    'images',
    ['x: float32[batch, 8, 6, 6]'],
    ['c: Conv2d(8, 16, 3)', 'g: GroupNorm(4, 16)', 'r: GELU()', 'p: AvgPool2d(2)'],
  ],
])('inference of %s launches forward alone', (_, inputs, layers) => {
  const forward = (row: string): readonly string[] => {
    const [head = '', ...parts] = row.split(' | ');
    const own = parts.find((part) => part.startsWith('F '));
    return own === undefined ? [] : [`${head} | ${own}`];
  };
  expect(kernelsOf(inputs, layers, { mode: 'inference' })).toEqual(
    kernelsOf(inputs, layers).flatMap(forward),
  );
});

/** Of [2, 10, 64], which lies in order: entries of the last axis are 64 elements apart, and rows of the second 640. */
test.each([
  [
    'the last axis, whose entries are one axis: the whole is kept',
    'onnx.Gather(h, 0, axis=-1)',
    '(batch * 10,)',
    2 * 10 * 64,
  ],
  [
    'the second axis, whose rows are none: a copy is kept',
    'onnx.Gather(h, 0, axis=1)',
    '(batch * 64,)',
    2 * 64,
  ],
  ['the same, counted from the end', 'onnx.Gather(h, 0, axis=-2)', '(batch * 64,)', 2 * 64],
  ['the first axis: the whole is kept', 'onnx.Gather(h, 0, axis=0)', '(640,)', 2 * 10 * 64],
])('one entry of %s', (_, entry, shape, kept) => {
  const layers = [
    'h: Linear(64, 64, bias=False)',
    `one: ${entry}`,
    `flat: reshape(one, ${shape})`,
    'out: softplus(flat)',
  ];
  const row = kernelsOf(['x: float32[batch, 10, 64]'], layers).at(-1);
  expect(row?.split(' ').at(-1)).toBe(String(4 * kept));
});

/** derivatives.yaml, `native_group_norm`, `native_layer_norm`, `_fused_rms_norm`: the gradient of a scale needs what came in. */
test.each([
  ['GroupNorm(2, 8)', 2 * 2 * 8],
  ['LayerNorm(6)', 2 * 8 * 6 * 8],
  ['LayerNorm(6, fused=False)', undefined],
  ['RMSNorm(6)', 2 * 8 * 6 * 4],
])('%s of what comes into the model keeps it', (layer, statistics) => {
  const kept = kernelsOf(['x: float32[batch, 8, 6, 6]'], [`n: ${layer}`]).join(' ');
  expect(kept).toContain(`x:4 ${4 * 2 * 8 * 36}`);
  if (statistics !== undefined) expect(kept).toMatch(new RegExp(`statistics ${statistics}$`));
});
