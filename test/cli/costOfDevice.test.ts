/** What stands beside a measurement is the prediction for the GPU that ran. */

import { expect, it } from 'vitest';
import type { BenchmarkDevice } from '../../server/src/benchmark/deviceSchema.ts';
import { costModelFile, openModelFile } from '../../server/src/cli/costFile.ts';
import { costOfDevice } from '../../server/src/cli/costOfDevice.ts';
import type { ScenarioRequest } from '../../server/src/model/scenario.ts';

const device = (name: string, gib: number, precision = 'bf16'): BenchmarkDevice => ({
  kind: 'cuda',
  name,
  torch: '2.13.0',
  cuda: '12.9',
  memoryBytes: gib * 2 ** 30,
  precision,
});

const open = (request: ScenarioRequest) =>
  openModelFile('samples/resnet50.layers.yaml', {
    request,
    clusterFile: undefined,
    frameworkFile: undefined,
    layerTrace: undefined,
  });

async function costs(request: ScenarioRequest, ran: BenchmarkDevice) {
  const file = await open(request);
  if (file === undefined) throw new Error('not opened');
  const { scenario } = costModelFile(file, request);
  if (scenario === undefined) throw new Error('not costed');
  return costOfDevice(file, request, scenario, ran);
}

it('is for one of the GPUs that ran, at the batch of one GPU and in the precision that ran', async () => {
  const cost = await costs(
    { cluster: 'dgx-a100', gpus: 8, globalBatch: 64 },
    device('Tesla T4', 14.6, 'fp16'),
  );
  expect(cost?.scenario).toMatchObject({ cluster: 't4', gpus: 1, batchPerGpu: 8, precision: 'fp16' });
});

it('has the kernels of the same GPU alone, which functions launch sooner than modules', async () => {
  const request = { cluster: 'h200-sxm', batch: 16, precision: 'bf16' } as const;
  const cost = await costs(request, device('NVIDIA H200', 139.8));
  const file = await open(request);
  const alone = file && costModelFile(file, request).cost;
  const kernelsOf = (one: typeof alone) => one?.layers.map(({ time }) => time.kernels);
  expect(kernelsOf(cost)).toEqual(kernelsOf(alone));
  expect(cost?.totals.memory).toEqual(alone?.totals.memory);
  // At this batch the host decides.
  const ratio = (alone?.totals.time.forward ?? 0) / (cost?.totals.time.forward ?? Number.NaN);
  expect(ratio).toBeGreaterThan(1.1);
  expect(ratio).toBeLessThan(1.17);
});

it('is unknown for a GPU without a profile, and for a processor', async () => {
  expect(await costs({}, device('NVIDIA GeForce RTX 2060', 5.8))).toBeUndefined();
  expect(await costs({}, { ...device('NVIDIA H200', 139.8), kind: 'cpu' })).toBeUndefined();
});
