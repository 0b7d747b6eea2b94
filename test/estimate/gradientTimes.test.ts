/** What a step does with its gradients is part of its backward: counted by layer, once for each pass that does it. */

import { expect, test } from 'vitest';
import { openModel } from '../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { byteSourceOfBuffer } from '../../server/src/formats/byteSource.ts';
import type { ScenarioRequest } from '../../server/src/model/scenario.ts';

const opened = openModel(
  byteSourceOfBuffer(
    Buffer.from(
      'inputs: { x: "float32[batch, 4096]" }\nlayers:\n  - l: Linear(4096, 4096, bias=False) * 4\n',
    ),
  ),
  'm.layers.yaml',
);
const elements = 4096 * 4096;

function costOf(request: ScenarioRequest) {
  const { cost, issues } = estimateModel(opened, [
    { cluster: 'dgx-a100', precision: 'bf16', batch: 16384, gpus: 1, optimizer: 'sgd', ...request },
  ]);
  if (cost === undefined) throw new Error(issues.map(({ message }) => message).join());
  return cost;
}

const ddp = { name: 'pytorch-ddp', options: {} };
const wide = { name: 'deepspeed-zero', options: { stage: '1', 'grad-accum-dtype': 'fp32' } };
const fsdp = { name: 'pytorch-fsdp', options: { 'reduce-dtype': 'fp32' } };

/** Bytes per element of a layer's gradient in a whole step, over those of as many steps of one pass on one GPU. */
test.each<[ScenarioRequest, number]>([
  [{ framework: ddp }, 0],
  // Each pass but the first adds: 12 bytes.
  [{ framework: ddp, accumulate: 2 }, 12],
  [{ framework: ddp, accumulate: 3 }, 24],
  [{ framework: ddp, accumulate: 8 }, 84],
  // Buckets are filled and emptied once in a step: 16 bytes.
  [{ framework: ddp, gpus: 8 }, 16],
  [{ framework: ddp, gpus: 8, accumulate: 3 }, 40],
  // Every pass casts, 6 bytes, and adds, 12; buckets are filled and emptied once.
  [{ framework: wide, accumulate: 3 }, 0],
  [{ framework: wide, gpus: 8, accumulate: 3 }, 16],
  // FSDP sends in each pass, 18 bytes, of which one GPU by itself has 4; a shard of fp32 is added to in each but the first.
  [{ framework: fsdp, gpus: 8 }, 14],
  [{ framework: fsdp, gpus: 8, accumulate: 3 }, 3 * 14 + 2 * (12 / 8)],
])('%j moves %d bytes more for each element', (request, bytesPerElement) => {
  const passes = request.accumulate ?? 1;
  const { framework = ddp } = request;
  const [step] = costOf(request).layers;
  const [one] = costOf({ framework }).layers;
  const more = (step?.bytes.backward ?? 0) - passes * (one?.bytes.backward ?? 0);
  expect(more / elements).toBeCloseTo(bytesPerElement, 6);
});

test('a cast to fp32 and an addition to the sum move 18 bytes for each element', () => {
  const [alone] = costOf({
    framework: { name: 'pytorch-ddp', options: { weights: 'half-with-copy' } },
  }).layers;
  const [summed] = costOf({ framework: wide }).layers;
  expect(((summed?.bytes.backward ?? 0) - (alone?.bytes.backward ?? 0)) / elements).toBeCloseTo(18, 6);
});

test('the time is that of moving the bytes', () => {
  const one = costOf({ framework: ddp }).totals.time.backward ?? 0;
  const eight = costOf({ framework: ddp, accumulate: 8 }).totals.time.backward ?? 0;
  // Element-wise kernels of A100 reach 0.875 of 2,039 GB/s (measured/rows.csv).
  const moved = (4 * 7 * 12 * elements) / (0.875 * 2039e9);
  expect((eight - 8 * one) / moved).toBeGreaterThan(0.99);
  expect((eight - 8 * one) / moved).toBeLessThan(1.03);
});

test('fp32 sums stay allocated', () => {
  const options = { weights: 'half' };
  const sums = { ...options, gradients: 'fp32-sums' };
  const memoryOf = (request: ScenarioRequest) => costOf({ accumulate: 2, ...request }).totals.memory;
  const half = memoryOf({ framework: { ...ddp, options } }).gradients ?? 0;
  const wide = memoryOf({ framework: { ...ddp, options: sums } }).gradients ?? 0;
  expect(wide).toBe(2 * half);
});
