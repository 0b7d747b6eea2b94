import { expect, test } from 'vitest';
import { openModel } from '../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { planStep } from '../../server/src/estimate/plan/stepPlan.ts';
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

/** Of PyTorch 2.13 on a CPU: calls of `aten::copy_`, forward and backward, by torch.profiler. */
test.each([
  ['attention, 3 sequences', attention, 3, [4, 4]],
  ['attention, 1 sequence', attention, 1, [1, 2]],
  ['heads beside sequences', stacked, 3, [1, 3]],
  ['channel shuffle', shuffle, 3, [1, 1]],
  ['channel shuffle, made contiguous', contiguous, 3, [1, 1]],
  ['a matrix transposed in its stack', lastTwo, 3, [0, 0]],
])('%s: as often copied as PyTorch does', (_, layers, batch, expected) => {
  const input = layers === stacked ? '[10, batch, 64]' : '[batch, 10, 64]';
  const text = `dims: { batch: ${batch} }\ninputs:\n  x: float32${input}\nlayers:${layers}\n`;
  const opened = openModel(byteSourceOfBuffer(new TextEncoder().encode(text)), 'net.layers.yaml');
  const request = {
    cluster: 'v100-sxm2-16gb',
    framework: { name: 'pytorch-ddp', options: { attention: 'eager' } },
  };
  const { training, scenario, cluster } = estimateModel(opened, [request]);
  if (training === undefined || scenario === undefined || cluster === undefined)
    throw new Error('not costed');
  const { operators } = planStep(training, scenario, cluster).lowered;
  const copies = training.analysis.graph.operators
    .filter(({ type }) => type === 'Transpose')
    .map(({ index }) => operators[index]);
  expect([
    copies.reduce((sum, copy) => sum + (copy?.forward.length ?? 0), 0),
    copies.reduce((sum, copy) => sum + (copy?.backwardData.length ?? 0), 0),
  ]).toEqual(expected);
});
