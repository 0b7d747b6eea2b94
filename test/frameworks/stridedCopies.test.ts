import { expect, test } from 'vitest';
import { openModel } from '../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { planStep } from '../../server/src/estimate/plan/planStep.ts';
import { byteSourceOfBuffer } from '../../server/src/formats/byteSource.ts';

const attention = `
  - q: Linear(64, 64) from x
  - qh: reshape((batch, 10, 4, 16))
  - qt: permute(0, 2, 1, 3)
  - k: Linear(64, 64) from x
  - kh: reshape((batch, 10, 4, 16))
  - kt: permute(0, 2, 3, 1)
  - v: Linear(64, 64) from x
  - vh: reshape((batch, 10, 4, 16))
  - vt: permute(0, 2, 1, 3)
  - scores: matmul(qt, kt)
  - weights: softmax(dim=-1)
  - context: matmul(weights, vt)
  - ct: permute(0, 2, 1, 3)
  - merged: reshape((batch, 10, 64))
  - out: Linear(64, 64)`;

/** Heads beside sequences in the second axis: one stack of matrices whatever the batch. */
const stacked = `
  - q: Linear(64, 64) from x
  - qh: reshape((10, batch * 4, 16))
  - qt: permute(1, 0, 2)
  - k: Linear(64, 64) from x
  - kh: reshape((10, batch * 4, 16))
  - kt: permute(1, 2, 0)
  - v: Linear(64, 64) from x
  - vh: reshape((10, batch * 4, 16))
  - vt: permute(1, 0, 2)
  - scores: matmul(qt, kt)
  - weights: softmax(dim=-1)
  - context: matmul(weights, vt)
  - ct: permute(1, 0, 2)
  - merged: reshape((10, batch, 64))
  - out: Linear(64, 64)`;

const shuffle = `
  - in: Linear(64, 64)
  - groups: reshape((batch, 2, 5, 64))
  - swapped: transpose(1, 2)
  - shuffled: reshape((batch, 10, 64))
  - out: Linear(64, 64)`;

/** The same, as unoptimized exports write `contiguous()`. */
const contiguous = shuffle.replace('  - shuffled', '  - lies: Identity()\n  - shuffled');

const lastTwo = `
  - swapped: transpose(x, 1, 2)
  - scores: matmul(x, swapped)
  - out: Linear(10, 64)`;

const mixing = `
  - swapped: transpose(x, 1, 2)
  - out: Linear(10, 20)`;

/** `matmul` folds the stack into a matrix where the weight before it is trained (LinearAlgebra.cpp, `should_fold`). */
const behindWeight = `
  - w: Parameter(20, 64)
  - swapped: transpose(x, 1, 2)
  - out: matmul(w, swapped)`;

const inOrder = `
  - out: Linear(64, 20)`;

const normalized = `
  - swapped: transpose(x, 1, 2)
  - out: LayerNorm(10)`;

/** A sum lies as its first operand. */
const summed = `
  - other: Linear(10, 10) from y
  - swapped: transpose(other, 1, 2)
  - sum: add(swapped, x)
  - out: LayerNorm(64)`;

/** As `torch.nn.MultiheadAttention` takes queries, keys and values out of one projection. */
const packed = `
  - projected: Linear(64, 192)
  - parted: reshape((batch, 10, 3, 64))
  - turned: permute(2, 0, 1, 3)
  - query: select(turned, 0, 0)
  - q: reshape(query, (batch, 40, 16))
  - qt: permute(1, 0, 2)
  - qh: reshape((10, 4, batch, 16))
  - key: select(turned, 0, 1)
  - k: reshape(key, (batch, 40, 16))
  - kt: permute(1, 0, 2)
  - kh: reshape((10, 4, batch, 16))
  - out: scaled_dot_product_attention(qh, kh, kh)`;

/** What is joined of images that lie channels last lies so too. */
const joined = `
  - a: Linear(64, 64) from x
  - ah: reshape((batch, 2, 5, 64))
  - at: permute(0, 3, 1, 2)
  - b: Linear(64, 64) from x
  - bh: reshape((batch, 2, 5, 64))
  - bt: permute(0, 3, 1, 2)
  - both: cat(at, bt, dim=1)
  - back: permute(0, 2, 3, 1)
  - flat: reshape((batch, 10, 128))
  - out: Linear(128, 64)`;

/** What fused attention gives lies as its queries do. */
const merged = `
  - q: Linear(64, 64) from x
  - qh: reshape((batch, 10, 4, 16))
  - qt: permute(0, 2, 1, 3)
  - context: scaled_dot_product_attention(qt, qt, qt)
  - ct: permute(0, 2, 1, 3)
  - out: reshape((batch, 10, 64))`;

/** Of PyTorch 2.13 on a CPU: calls of `aten::copy_`, forward and backward, by torch.profiler. */
test.each([
  ['attention, 3 sequences', attention, 3, [4, 4]],
  ['attention, 1 sequence', attention, 1, [1, 2]],
  ['heads beside sequences', stacked, 3, [1, 3]],
  ['channel shuffle', shuffle, 3, [1, 1]],
  ['channel shuffle, made contiguous', contiguous, 3, [1, 1]],
  ['a matrix transposed in its stack', lastTwo, 3, [0, 0]],
  ['images joined that lie channels last', joined, 3, [0, 0]],
])('%s: as often copied as PyTorch does', (_, layers, batch, expected) => {
  const input = layers === stacked ? '[10, batch, 64]' : '[batch, 10, 64]';
  const { training, operators } = lowered(layers, input, { attention: 'eager' }, batch);
  const copies = training.analysis.graph.operators
    .filter(({ type }) => type === 'Transpose')
    .map(({ index }) => operators[index]);
  expect([
    copies.reduce((sum, copy) => sum + (copy?.forward.length ?? 0), 0),
    copies.reduce((sum, copy) => sum + (copy?.backwardData.length ?? 0), 0),
  ]).toEqual(expected);
});

/** As timm takes queries, keys and values out of one projection. */
const unbound = (call: string): string => `
  - qkv: Linear(64, 192)
  - parted: reshape((batch, 10, 3, 4, 16))
  - turned: permute(2, 0, 3, 1, 4)
  - q, k, v: unbind(dim=0)
  - context: ${call}
  - ct: permute(0, 2, 1, 3)
  - merged: reshape((batch, 10, 64))
  - out: Linear(64, 64)`;

/**
 * Gradients of queries, keys and values are put into one tensor, each by a copy of what lies tokens first, and that is copied once more
 * to lie as the projection gave it. Of PyTorch 2.13 on a CPU, whose kernel of attention lays gradients out as the CUDA ones do:
 * `aten::stack`, and `aten::copy_` of all three below `aten::reshape`.
 */
test('gradients of parts are put together, and laid out for the projection', () => {
  const { training, operators } = lowered(
    unbound('scaled_dot_product_attention(q, k, v)'),
    '[batch, 10, 64]',
    {},
  );
  const kernels = training.analysis.graph.operators.flatMap(({ index, type }) =>
    type === 'Split' || type === 'Transpose' ? (operators[index]?.backwardData ?? []) : [],
  );
  const whole = 2 * 3 * 10 * 192 * 4;
  expect(kernels.map((kernel) => [kernel.bytes, kernel.instructions?.kernel])).toEqual([
    [whole, 'strided'],
    [whole, 'strided'],
  ]);
});

/** Of PyTorch 2.13 on a CPU: calls of `aten::copy_`, `aten::add` and `aten::add_` in forward, but for what `addmm` copies, by torch.profiler. */
test.each([
  ['a linear layer adds its bias to what it read in order', inOrder, 0],
  ['one of what is transposed copies it and adds its bias by itself', mixing, 2],
  ['a stack that is transposed behind a trained matrix', behindWeight, 1],
  ['a layer normalization copies what is transposed', normalized, 1],
  ['and a sum of it', summed, 2],
  ['packed queries and keys are laid out', packed, 1],
  ['the heads of fused attention are not', merged, 0],
])('%s', (_, layers, expected) => {
  const { training, operators } = lowered(layers, '[batch, 10, 64]', {});
  const all = training.analysis.graph.operators.flatMap(({ index }) => operators[index]?.forward ?? []);
  expect(all.filter((kernel) => kernel.class === 'elementwise')).toHaveLength(expected);
});

function lowered(layers: string, input: string, options: Readonly<Record<string, string>>, batch = 3) {
  const other = layers.includes('from y') ? '  y: float32[batch, 64, 10]\n' : '';
  const text = `dims: { batch: ${batch} }\ninputs:\n  x: float32${input}\n${other}layers:${layers}\n`;
  const opened = openModel(byteSourceOfBuffer(new TextEncoder().encode(text)), 'net.layers.yaml');
  const framework = { name: 'pytorch-ddp', options };
  const request = { cluster: 'v100-sxm2-16gb', precision: 'fp32' as const, framework };
  const { training, scenario, cluster } = estimateModel(opened, [request]);
  if (training === undefined || scenario === undefined || cluster === undefined)
    throw new Error('not costed');
  return { training, operators: planStep(training, scenario, cluster).lowered.operators };
}
