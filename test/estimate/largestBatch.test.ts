/** The largest batch that a report names is the largest whose tensors fit, whatever batch is costed. */

import { expect, test } from 'vitest';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import type { ScenarioRequest } from '../../server/src/model/scenario.ts';
import { openGraph } from '../support/savedActivations.ts';

const memoryAt = (path: string, request: ScenarioRequest) => {
  const { cost } = estimateModel(openGraph(path), [request]);
  if (cost === undefined) throw new Error(`${path} cannot be costed`);
  return cost.totals.memory;
};

test.each<[string, ScenarioRequest]>([
  ['samples/resnet50.onnx', { cluster: 'rtx-3090', gpus: 1, optimizer: 'momentum' }],
  ['samples/gpt2.onnx', { cluster: 'a100-sxm-80gb', gpus: 1, precision: 'bf16' }],
  ['samples/vgg16.layers.yaml', { cluster: 'dgx-1-v100', gpus: 8, precision: 'fp16' }],
  ['samples/resnet50.onnx', { cluster: 't4', gpus: 1, mode: 'inference' }],
])('%s %j', (path, request) => {
  const { largestBatch } = memoryAt(path, { ...request, batch: 4 });
  if (largestBatch === null) throw new Error('no batch is known');
  expect(largestBatch).toBeGreaterThan(4);
  const needs = (batch: number): number => {
    const { peak, context, capacity } = memoryAt(path, { ...request, batch });
    return (peak + context) / (capacity ?? Number.NaN);
  };
  // Some of what a step holds does not grow with the batch in proportion: workspaces of convolutions.
  expect(needs(Math.floor(0.95 * largestBatch))).toBeLessThanOrEqual(1);
  expect(needs(Math.ceil(1.05 * largestBatch) + 1)).toBeGreaterThan(1);
});

test.each([
  // Tensors of batch 3 fit, and cannot be placed.
  ['samples/tinyllama.layers.yaml', { cluster: 'rtx-4090', gpus: 1, precision: 'bf16', batch: 3 }],
  ['samples/gpt2.onnx', { cluster: 'rtx-3090', gpus: 1, precision: 'bf16', batch: 4096 }],
  ['samples/vgg16.layers.yaml', { cluster: 't4', gpus: 1, batch: 4096 }],
] as const)('%s %j does not fit, and report and finding name one batch', (path, request) => {
  const { cost } = estimateModel(openGraph(path), [request]);
  const change = cost?.findings.find(({ code }) => code === 'findings/out-of-memory')?.change;
  expect(cost?.fits).toBe('no');
  expect(cost?.totals.memory.largestBatch).toBe(change?.kind === 'batch' ? change.batch : 0);
  expect(cost?.totals.memory.largestBatch).toBeLessThan(request.batch);
});

test('there is none where nothing fits, and none is named where something is unknown', () => {
  const state = { cluster: 't4', gpus: 1, batch: 1 } as const;
  expect(memoryAt('samples/more/llama-3-8b.layers.yaml', state).largestBatch).toBe(0);
});
