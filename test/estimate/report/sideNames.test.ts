/** Two sides of a comparison are called by what tells them apart, and never by the same words. */

import { expect, it } from 'vitest';
import type { Report } from '../../../server/src/estimate/report/report.ts';
import { sideNames } from '../../../server/src/estimate/report/sideNames.ts';
import { smallReport } from '../../support/smallReport.ts';

type Scenario = Report['scenario'];

const withScenario = (scenario: Partial<Scenario>): Report => ({
  ...smallReport,
  scenario: { ...smallReport.scenario, ...scenario },
});

it.each<readonly [string, Partial<Scenario>, string, string]>([
  ['a cluster', { cluster: 'dgx-h100' }, 'dgx-a100', 'dgx-h100'],
  ['GPUs', { gpus: 64, nodes: 8 }, '8 GPUs', '64 GPUs'],
  ['a cluster and its GPUs', { cluster: 'g5', gpus: 32 }, 'dgx-a100, 8 GPUs', 'g5, 32 GPUs'],
  ['CPU nodes', { device: 'CPU node', gpus: 4 }, '8 GPUs', '4 CPU nodes'],
  ['a batch', { batchPerGpu: 16 }, 'batch 4', 'batch 16'],
  ['passes', { accumulate: 2 }, 'batch 4', 'batch 2 × 4'],
  ['a batch over all', { globalBatch: 512 }, 'batch 4', 'global batch 512'],
  ['a dimension', { dimensions: { batch: 4, seq: 2048 } }, 'seq = 128', 'seq = 2048'],
  ['a precision', { precision: 'fp8' }, 'bf16', 'fp8'],
  ['an optimizer', { optimizer: 'sgd' }, 'adamw', 'sgd'],
  ['an option', { frameworkOptions: { compile: 'true' } }, 'pytorch-ddp', 'pytorch-ddp (compile=true)'],
  ['checkpoints', { checkpoint: 'block' }, 'no checkpointing', 'checkpoint block'],
  ['adapters', { lora: { rank: 16 } }, 'no LoRA', 'LoRA of rank 16'],
  ['frozen layers', { freeze: ['conv1'] }, 'no frozen layers', 'frozen conv1'],
  [
    'only what fits',
    { cluster: 'p4d-24xlarge', optimizer: 'adafactor', framework: 'horovod' },
    'dgx-a100, adamw',
    'p4d-24xlarge, adafactor',
  ],
  ['nothing', {}, 'first', 'second'],
])('%s', (_, changed, left, right) => {
  expect(sideNames(smallReport, withScenario(changed))).toEqual({ left, right });
});

it('two models are called by their names', () => {
  const other = { ...withScenario({ gpus: 64 }), model: { ...smallReport.model, name: 'large' } };
  expect(sideNames(smallReport, other)).toEqual({ left: 'tiny', right: 'large' });
});

it.each([
  ['v1/model.onnx', 'v2/model.onnx', 'v1', 'v2'],
  ['runs/v1/model.onnx', 'runs/v2/model.onnx', 'v1', 'v2'],
  ['gpt2.onnx', 'gpt2.layers.yaml', 'gpt2.onnx', 'gpt2.layers.yaml'],
  ['model.onnx', 'old/model.onnx', 'model.onnx', 'old/model.onnx'],
  ['a/b/a/m.onnx', 'a/m.onnx', 'b/a/m.onnx', 'm.onnx'],
  ['C:\\one\\m.onnx', 'C:\\two\\m.onnx', 'one', 'two'],
  ['a/a/m.onnx', 'a/m.onnx', 'a/m.onnx', 'm.onnx'],
])('files of one name, %s and %s, are called by where they are', (left, right, one, other) => {
  const named = sideNames(smallReport, withScenario({ gpus: 64 }), { left, right });
  expect(named).toEqual({ left: one, right: other });
});

it('one file in two scenarios is called by them', () => {
  const files = { left: 'm.onnx', right: 'm.onnx' };
  expect(sideNames(smallReport, withScenario({ gpus: 64 }), files)).toEqual({
    left: '8 GPUs',
    right: '64 GPUs',
  });
});
