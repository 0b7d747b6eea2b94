/** What the runner cannot do is refused by name; what it can is not. */

import { expect, it } from 'vitest';
import { openLayerSpec } from '../../server/src/analysis/openModel.ts';
import { notRunnable } from '../../server/src/benchmark/notRunnable.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { frameworks } from '../../server/src/frameworks/registry.ts';
import type { ScenarioRequest } from '../../server/src/model/scenario.ts';

const model = (mark = ''): string => `inputs: { x: "float32[batch, 16]" }
dims: { batch: 4 }
blocks:
  part:
    - fc: Linear(16)${mark}
layers:
  - h: part() * 3
`;

function refusal(request: ScenarioRequest, text = model()): string | undefined {
  const { training, scenario } = estimateModel(openLayerSpec(text, 'm.layers.yaml'), [
    { gpus: 1, ...request },
  ]);
  if (training === undefined || scenario === undefined) throw new Error('not costed');
  return notRunnable(training, scenario);
}

const ddp = (options: Readonly<Record<string, string>>): ScenarioRequest => ({
  framework: { name: 'pytorch-ddp', options },
});

it.each<[ScenarioRequest, RegExp]>([
  [{ framework: { name: 'caffe-mpi', options: {} } }, /^caffe-mpi is not PyTorch.* pytorch-ddp/],
  [{ optimizer: 'lion' }, /cannot run Lion: choose another optimizer, such as adamw/],
  [{ optimizer: 'muon' }, /cannot run Muon/],
  [ddp({ 'in-place': 'true' }), /cannot run in-place=true/],
  [ddp({ gradients: 'fp32-sums' }), /cannot run gradients=fp32-sums/],
  [ddp({ embeddings: 'table-wise' }), /cannot run embeddings=table-wise/],
  [ddp({ 'attention-kernel': 'flash-attention-3' }), /cannot run attention-kernel=flash-attention-3/],
  [ddp({ 'attention-kernel': 'triton' }), /cannot run attention-kernel=triton/],
  [{ gpus: 2, parallel: { tensor: 2 } }, /whole model on each GPU: leave out the parallel layout/],
  [ddp({ compile: 'true', 'compile-loss': 'false' }), /cannot run compile-loss=false/],
  [{ lora: { rank: 2, base: 'nf4' } }, /weights whole, and none in nf4: leave out `base`/],
])('%j', (request, message) => {
  expect(refusal(request)).toMatch(message);
});

it('marks of layers are named', () => {
  expect(refusal({}, model(' precision=fp32'))).toMatch(/precision` of .*fc/);
  expect(refusal({}, model(' recompute'))).toBeUndefined();
});

it.each<[ScenarioRequest]>([
  [{}],
  [{ checkpoint: 'selective' }],
  [{ lora: { rank: 2 } }],
  [{ accumulate: 4, optimizer: 'sgd' }],
  [{ optimizer: 'adafactor' }],
  [{ optimizer: 'lion', mode: 'inference' }],
  [ddp({ compile: 'true', 'memory-format': 'channels-last', 'clip-norm': 'true' })],
  [ddp({ 'optimizer-kernels': 'fused', gradients: 'added', weights: 'half', attention: 'eager' })],
  [ddp({ weights: 'half-with-copy' })],
  [ddp({ 'attention-kernel': 'flash-attention-2' })],
  [{ framework: { name: 'pytorch-fsdp', options: {} } }],
])('%j runs', (request) => {
  expect(refusal(request)).toBeUndefined();
});

it('every framework that runs on PyTorch is run, and no other', () => {
  const refused = frameworks.filter(
    ({ name }) => refusal({ framework: { name, options: {} } }) !== undefined,
  );
  expect(refused.map(({ name }) => name).sort()).toEqual([
    'caffe-mpi',
    'chainer',
    'cntk',
    'mxnet',
    'tensorflow',
  ]);
});
