/**
 * Kernels of a projection and the loss of its scores, part by part, by hand: bytes of each product and how often it is launched.
 * Sources: pytorch/torchtune 10ff7cd2, modules/loss/ce_chunked_output_loss.py; linkedin/Liger-Kernel 00eba634,
 * ops/fused_linear_cross_entropy.py.
 */

import { expect, test } from 'vitest';
import { openLayerSpec } from '../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { elementwise, kernelsOf, matmul, reduction } from '../support/kernelTable.ts';

/** 256 tokens of 64 features, 512 classes: eight times wider, so that a part of the fused loss has 256 / 8 = 32 tokens. */
const inputs = ['tokens: float32[batch, 128, 64]', 'label: int64[256]'];
const layers = [
  'head: Linear(64, 512, bias=False) from tokens',
  'rows: reshape((batch*128, 512))',
  'loss: CrossEntropyLoss() from rows, label',
];
const [features, weight, scores] = [256 * 64, 64 * 512, 256 * 512];
/** Of all tokens at once: two operands and a result. */
const product = features + weight + scores;

const half = { options: { weights: 'half', 'cross-entropy': 'fused-linear' }, precision: 'bf16' } as const;

/** What comes in is trained too. */
const behindOthers = ['t: Linear(64, 64, bias=False) from tokens', 'head: Linear(64, 512, bias=False)'];
/** Scores of a part: one product by the whole weight each. */
const projected = matmul([2 * (product + 7 * weight), '×8']);

test('the fused loss computes every product in forward and keeps two gradients', () => {
  const lines = kernelsOf(inputs, [...behindOthers, ...layers.slice(1)], half);
  expect(lines.at(-1)).toBe(
    // Both gradients are zeros first; scores are read twice and written over by their own.
    `SoftmaxCrossEntropyLoss bf16 2 | F ${elementwise(2 * features, 2 * weight)}, ${projected},` +
      ` ${reduction([2 * 3 * scores, '×8'])},` +
      // Each part reads the gradient of the weight and writes it again.
      ` ${projected}, ${matmul([2 * (product + 7 * 2 * weight), '×8'])}` +
      ` | S 5/gradient of its input ${2 * features}, 5/gradient of its weight ${2 * weight}`,
  );
  expect(lines).toHaveLength(2);
});

test('what is not trained has no gradient', () => {
  expect(kernelsOf(inputs, layers, half)).toEqual([
    `SoftmaxCrossEntropyLoss bf16 2 | F ${elementwise(2 * features, 2 * weight)}, ${projected},` +
      ` ${reduction([2 * 3 * scores, '×8'])}, ${matmul([2 * (product + 7 * 2 * weight), '×8'])}` +
      ` | S 3/gradient of its weight ${2 * weight}`,
  ]);
});

test('autocast casts the weight for every part and once for the gradient, which is summed in fp32', () => {
  const loss = kernelsOf(inputs, [...behindOthers, ...layers.slice(1)], {
    options: { 'cross-entropy': 'fused-linear' },
    precision: 'bf16',
  }).at(-1);
  expect(loss).toContain(elementwise([9 * 6 * weight, '×9']));
  expect(loss).toContain(matmul([2 * product + 7 * 2 * 4 * weight, '×8']));
  expect(loss).toContain(`5/gradient of its weight ${4 * weight}`);
});

test('without gradients the scores are read twice', () => {
  expect(kernelsOf(inputs, layers, { ...half, mode: 'inference' })).toEqual([
    `SoftmaxCrossEntropyLoss bf16 2 | F ${projected}, ${reduction([2 * 2 * scores, '×8'])}`,
  ]);
});

test('a loss in eight parts multiplies by the whole weight in each, and adds up its gradients', () => {
  const [head, loss] = kernelsOf(inputs, layers, {
    options: { 'cross-entropy': 'chunked' },
    precision: 'fp32',
  });
  const parts = matmul([4 * (product + 7 * weight), '×8']);
  expect(head).toBe(
    `MatMul fp32 4 | F ${parts} | W ${parts}, ${elementwise([4 * 3 * 7 * weight, '×7'])} | S tokens:4 ${4 * features}`,
  );
  // As in whole, eight times as often.
  expect(loss).toContain(
    `F ${reduction([4 * 3 * scores + 8 * 256 + 4, '×16'])} | D ${elementwise([4 * scores, '×8'])}, ${reduction([12 * scores, '×16'])}`,
  );
});

test.each([
  // Its own example: 16,384 tokens of 4,096 features, 32,000 classes: parts of 2,048.
  [16384, 4096, 32000, 8],
  // Llama 3.2 3B, two sequences of 4,096: 42 times wider, parts of 256.
  [8192, 3072, 128256, 32],
  // Fewer classes than features: all at once.
  [1000, 512, 256, 1],
  // 100 tokens in parts of 16, the last of which has four.
  [100, 64, 640, 7],
])('%i tokens of %i features and %i classes are %i parts', (tokens, width, classes, parts) => {
  const [line] = kernelsOf(
    [`tokens: float32[${tokens}, ${width}]`, `label: int64[${tokens}]`],
    [
      `head: Linear(${width}, ${classes}, bias=False) from tokens`,
      'loss: CrossEntropyLoss() from head, label',
    ],
    half,
  );
  expect(/matmul \d+(?: ×(\d+))?/.exec(line ?? '')?.[1] ?? '1').toBe(String(parts));
});

const stepOf = (own: readonly string[], options: Readonly<Record<string, string>>) => {
  const text = `dims: { batch: 2 }\ninputs:\n${inputs.map((line) => `  ${line}\n`).join('')}layers:\n${own
    .map((line) => `  - ${line}\n`)
    .join('')}`;
  const { cost } = estimateModel(openLayerSpec(text, 'net.layers.yaml'), [
    { cluster: 'a100-sxm-80gb', gpus: 1, framework: { name: 'pytorch-ddp', options } },
  ]);
  if (cost === undefined) throw new Error('it costs nothing');
  return cost;
};

test.each(['chunked', 'fused-linear'])('%s computes the same FLOPs', (how) => {
  const [whole, inParts] = [{}, { 'cross-entropy': how }].map((options) => stepOf(layers, options).totals);
  expect(inParts?.flops).toEqual(whole?.flops);
});

test('scores of all tokens are at no time in memory: the peak falls by more than they are', () => {
  const [whole, inParts] = [{}, { 'cross-entropy': 'fused-linear' }].map(
    (options) => stepOf(layers, options).totals.memory.peak,
  );
  expect((whole ?? 0) - (inParts ?? 0)).toBeGreaterThan(4 * scores);
});

test('a cap of the scores, as Gemma 2 has it, is part of the loss', () => {
  const capped = [layers[0] ?? '', 'low: div(30)', 'bent: tanh()', 'cap: mul(30)', ...layers.slice(1)];
  const [plain, own] = [layers, capped].map((each) => kernelsOf(inputs, each, half));
  expect(own?.map(withoutIndex)).toEqual(plain?.map(withoutIndex));
});

const withoutIndex = (line: string): string => line.replace(/\d+\/gradient/g, 'gradient');

test.each([
  ['a bias', ['head: Linear(64, 512) from tokens', ...layers.slice(1)]],
  ['a tangent of unscaled scores', [layers[0] ?? '', 'cap: tanh()', ...layers.slice(1)]],
  ['another reader', [...layers, 'most: softmax(dim=-1) from rows']],
])('%s leaves the loss whole', (_, own) => {
  const lines = ['whole', 'fused-linear'].map((how) =>
    kernelsOf(inputs, own, { options: { 'cross-entropy': how } }),
  );
  expect(lines[1]).toEqual(lines[0]);
});
