/** The scenario of a report: what is always there, and what stands in it only where somebody asked for it. */

import { expect, test } from 'vitest';
import { estimateStep } from '../../../server/src/estimate/estimateStep.ts';
import { reportScenario } from '../../../server/src/estimate/report/reportScenario.ts';
import { findCluster } from '../../../server/src/hardware/clusters.ts';
import type { Scenario } from '../../../server/src/model/scenario.ts';
import { seconds } from '../../../server/src/model/units.ts';
import { oneWorker } from '../../support/oneWorker.ts';
import { chain } from '../../support/trainingGraph.ts';

const cluster = findCluster('dgx-a100');
if (cluster === undefined) throw new Error('no cluster');
const plain: Scenario = {
  ...{ cluster: 'dgx-a100', nodes: 1, gpus: 8, batchPerGpu: 4, dimensions: { batch: 4 } },
  ...{
    precision: 'bf16',
    optimizer: 'sgd',
    framework: { name: 'pytorch-ddp', options: {} },
    mode: 'training',
  },
};
const cost = estimateStep(chain([{ parameters: 8 }], 4), plain, cluster);
const reported = (change: Partial<Scenario>, device = cost.device) =>
  reportScenario({ ...cost, device, scenario: { ...plain, ...change } });

const shown = {
  ...{
    cluster: 'dgx-a100',
    gpu: 'A100 SXM 80 GB',
    nodes: 1,
    gpus: 8,
    batchPerGpu: 4,
    dimensions: { batch: 4 },
  },
  ...{ precision: 'bf16', optimizer: 'sgd', framework: 'pytorch-ddp', mode: 'training' },
};

test('of a plain step', () => {
  expect(reported({})).toEqual({ ...shown, gpu: cost.gpu });
});

test.each<Partial<Scenario>>([
  { globalBatch: 32 },
  { accumulate: 2 },
  { past: 0 },
  { loss: 'none' },
  { checkpoint: 'block' },
  { parallel: oneWorker },
  { freeze: ['a', 'b'] },
  { lora: { rank: 8 } },
  { lora: { rank: 8, layers: ['q'], dropout: 0 } },
  { measuredStep: seconds(2) },
])('with %j', (change) => {
  expect(reported(change)).toEqual({ ...shown, gpu: cost.gpu, ...change });
});

test('with options of a framework', () => {
  expect(reported({ framework: { name: 'horovod', options: { embeddings: 'sparse' } } })).toEqual({
    ...shown,
    gpu: cost.gpu,
    framework: 'horovod',
    frameworkOptions: { embeddings: 'sparse' },
  });
});

test('on processors', () => {
  expect(reported({}, 'CPU node')).toEqual({ ...shown, gpu: cost.gpu, device: 'CPU node' });
});
