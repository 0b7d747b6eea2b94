/** How several processes share a step, and what is said of it. */

import { expect, it } from 'vitest';
import { openLayerSpec } from '../../server/src/analysis/openModel.ts';
import { planBenchmark } from '../../server/src/benchmark/planBenchmark.ts';
import { busBandwidth } from '../../server/src/benchmark/runCollectives.ts';
import { planSharedStep } from '../../server/src/benchmark/sharedStep.ts';
import { sharedStepLines } from '../../server/src/benchmark/sharedStepLines.ts';
import { computeOfStep } from '../../server/src/estimate/computeOfStep.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { formatTime } from '../../server/src/model/format.ts';
import type { ScenarioRequest } from '../../server/src/model/scenario.ts';
import { seconds, sum } from '../../server/src/model/units.ts';

const model = `inputs: { x: "float32[batch, 16]" }
dims: { batch: 4 }
blocks:
  part:
    - fc: Linear(16)
    - act: ReLU()
    - out: Linear(16)
layers:
  - stem: Linear(16)
  - h: part() * 2
  - head: Linear(8)
`;

function shared(name: string, options: Readonly<Record<string, string>> = {}, request: ScenarioRequest = {}) {
  const { training, scenario } = estimateModel(openLayerSpec(model, 'm.layers.yaml'), [
    { gpus: 1, framework: { name, options }, ...request },
  ]);
  if (training === undefined || scenario === undefined) throw new Error('not costed');
  return planSharedStep(planBenchmark(training, scenario), scenario);
}

it('DDP is given the buckets of the scenario', () => {
  expect(shared('pytorch-ddp', { 'bucket-mb': '10', 'gradient-as-bucket-view': 'true' })).toEqual({
    how: {
      kind: 'ddp',
      bucketMb: 10,
      firstBucketMb: 1,
      gradientAsBucketView: true,
      gradientDtype: 'fp32',
    },
  });
});

it('FSDP shards block by block; the rest is of the root', () => {
  const found = shared('pytorch-fsdp', { 'reduce-dtype': 'fp32' });
  if (!('how' in found) || found.how.kind !== 'fsdp') throw new Error('not sharded');
  expect(found.how).toMatchObject({ reshards: true, parameterDtype: 'half', reduceDtype: 'fp32' });
  expect(found.how.units.map(({ parameters }) => parameters)).toEqual([
    ['h[0].fc.weight', 'h[0].fc.bias', 'h[0].out.weight', 'h[0].out.bias'],
    ['h[1].fc.weight', 'h[1].fc.bias', 'h[1].out.weight', 'h[1].out.bias'],
  ]);
  // The stem is operator 0; a block is two products with an activation between, and another follows it.
  expect(found.how.units.map(({ operators }) => operators)).toEqual([
    [1, 2, 3],
    [4, 5, 6],
  ]);
});

it('SHARD_GRAD_OP keeps parameters whole between forward and backward', () => {
  expect(shared('pytorch-fsdp', { sharding: 'shard-grad-op' })).toMatchObject({ how: { reshards: false } });
});

it.each<[string, Readonly<Record<string, string>>, ScenarioRequest, RegExp]>([
  ['deepspeed-zero', {}, {}, /choose pytorch-ddp or pytorch-fsdp/],
  ['pytorch-fsdp', { 'backward-prefetch': 'none' }, {}, /no backward-prefetch/],
  ['pytorch-ddp', {}, { mode: 'inference' }, /no step to share/],
])('%s %j %j is refused by name', (name, options, request, message) => {
  expect(shared(name, options, request)).toEqual({ refusal: expect.stringMatching(message) });
});

// nccl-tests, doc/PERFORMANCE.md: 2(n − 1)/n of an all-reduce, (n − 1)/n of the others.
it.each([
  ['all-reduce', 8, 1.75e9],
  ['all-gather', 8, 0.875e9],
  ['reduce-scatter', 2, 0.5e9],
  ['all-to-all', 4, 0.75e9],
] as const)('bus bandwidth of %s over %d', (operation, ranks, expected) => {
  const time = { median: seconds(1e-3), low: seconds(1e-3), high: seconds(1e-3) };
  expect(busBandwidth({ operation, ranks, bytes: 1e6, ...time })).toBeCloseTo(expected, 0);
});

it('what communication adds is the difference of two steps, beside what is predicted of as many GPUs', () => {
  const { cost } = estimateModel(openLayerSpec(model, 'm.layers.yaml'), [
    { cluster: 'dgx-h200', gpus: 8, precision: 'bf16' },
  ]);
  const compute = cost === undefined ? null : computeOfStep(cost);
  const exposed = cost?.totals.time.exposedCommunication ?? null;
  if (compute === null || exposed === null) throw new Error('not costed');
  const text = sharedStepLines(
    {
      origin: '',
      device: { kind: 'cuda', name: 'NVIDIA H200', torch: '2.13.0', precision: 'bf16' },
      layers: new Map(),
      notMeasured: new Map(),
      notes: [],
      wholeStep: {
        whole: seconds(0.008),
        quartiles: { low: seconds(0.008), high: seconds(0.008) },
        repeats: 5,
      },
    },
    {
      ranks: 8,
      backend: 'nccl',
      whole: seconds(0.01),
      quartiles: { low: seconds(0.0098), high: seconds(0.0104) },
    },
    cost,
  );
  expect(text).toContain('predicted for 8 × H200 SXM of dgx-h200');
  expect(text).toContain(`10.0 ms (9.80 ms to 10.4 ms), predicted ${formatTime(sum([compute, exposed]))}\n`);
  expect(text).toContain(`8.00 ms, predicted ${formatTime(compute)}\n`);
  expect(text).toContain('measured on 8 × NVIDIA H200, bf16, torch 2.13.0, nccl');
  expect(text).toContain(
    `exposed communication      2.00 ms, predicted ${formatTime(exposed)}, efficiency 80.0 %`,
  );
});
