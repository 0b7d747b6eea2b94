/** Steps of several passes, and runs of several steps: what is lost, waited for and known of them. */

import { expect, test } from 'vitest';
import { openModel } from '../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { byteSourceOfBuffer } from '../../server/src/formats/byteSource.ts';
import type { ScenarioRequest } from '../../server/src/model/scenario.ts';
import { bytes, bytesPerSecond, seconds } from '../../server/src/model/units.ts';

const opened = openModel(
  byteSourceOfBuffer(
    Buffer.from('inputs: { x: "float32[batch, 1024]" }\nlayers:\n  - l: Linear(1024) * 8\n'),
  ),
  'm.layers.yaml',
);

function costOf(request: ScenarioRequest) {
  const { cost, issues } = estimateModel(opened, [{ precision: 'fp32', ...request }]);
  if (cost === undefined) throw new Error(issues.map(({ message }) => message).join());
  return { ...cost, issues };
}

test.each<[ScenarioRequest, string | undefined]>([
  // 33 samples in 32 shares: each has room for 2.
  [
    { gpus: 8, accumulate: 4, globalBatch: 33 },
    'A batch of 33 does not divide by 4 passes of 8 GPUs: the busiest GPU takes 2 samples in each, and 48 % of GPU time is lost',
  ],
  [
    { gpus: 8, globalBatch: 9 },
    'A batch of 9 does not divide by 8 GPUs: the busiest GPU takes 2 samples, and 44 % of GPU time is lost',
  ],
  [{ gpus: 8, accumulate: 4, globalBatch: 64 }, undefined],
])('a batch over all GPUs: %j', (request, message) => {
  const found = costOf({ cluster: 'dgx-a100', ...request }).findings.filter(
    ({ code }) => code === 'findings/load-imbalance',
  );
  expect(found.map((finding) => finding.message.replaceAll('\u00a0', ' '))).toEqual(
    message === undefined ? [] : [message],
  );
});

test('passes without a sample are said', () => {
  const { issues } = costOf({ cluster: 'dgx-a100', gpus: 8, accumulate: 4, globalBatch: 20 });
  expect(issues.map(({ message }) => message)).toContain(
    'A batch of 20 over 4 passes of 8 GPUs leaves 12 of them without a sample; use fewer passes or GPUs or a larger batch',
  );
});

test.each([1, 2, 4])('a step of %i passes takes as long as its input is read', (accumulate) => {
  // 64 samples of 5 MB at 0.2 GB/s.
  const input = { sampleBytes: bytes(5e6), readRate: bytesPerSecond(2e8) };
  const { totals } = costOf({ cluster: 'a100-sxm-80gb', gpus: 1, batch: 64, accumulate, input });
  expect(totals.time.step).toBeCloseTo(1.6 * accumulate, 9);
});

test.each<[number, number, number, number]>([
  [1000, 1, 16, 63],
  [1000, 1.5, 16, 95],
  [1000, 90, 16, 5670],
  // 0.1 · 30 is more than 3 in its last digit.
  [30, 0.1, 1, 3],
])('%i samples in %f epochs and batches of %i are %i steps', (samples, epochs, batch, steps) => {
  const { totals } = costOf({ cluster: 'a100-sxm-80gb', gpus: 1, batch, run: { samples, epochs } });
  expect(totals.run?.steps).toBe(steps);
});

test.each<[ScenarioRequest, number]>([
  // 1,000 samples in steps of 32, of 96 in three passes, and of 100 over all GPUs.
  [{ gpus: 8, batch: 4 }, 32],
  [{ gpus: 8, batch: 4, accumulate: 3 }, 11],
  [{ gpus: 8, accumulate: 3, globalBatch: 100 }, 10],
])('a run of %j has %i steps', (request, steps) => {
  const { totals } = costOf({ cluster: 'dgx-a100', run: { samples: 1000, epochs: 1 }, ...request });
  expect(totals.run?.steps).toBe(steps);
});

test.each<[ScenarioRequest, number]>([
  [{ gpus: 8, batch: 4 }, 32],
  [{ gpus: 8, batch: 4, accumulate: 3 }, 96],
  // The busiest GPU has room for 2 samples in each pass, but no more than 33 are trained on.
  [{ gpus: 8, accumulate: 4, globalBatch: 33 }, 33],
  [{ gpus: 8, batch: 4, mode: 'inference' }, 32],
])('%j has %i samples in a step', (request, samples) => {
  const { time, throughput } = costOf({ cluster: 'dgx-a100', ...request }).totals;
  expect((throughput ?? 0) * (time.step ?? 0)).toBeCloseTo(samples, 6);
});

test('a single GPU takes the whole of a batch that does not divide, in as many passes', () => {
  const shared = costOf({ cluster: 'dgx-a100', gpus: 8, accumulate: 4, globalBatch: 35 }).totals;
  const single = costOf({ cluster: 'dgx-a100', gpus: 1, accumulate: 4, batch: 9 }).totals;
  expect(shared.strongScalingEfficiency).toBeCloseTo(
    (single.time.step ?? Number.NaN) / (8 * (shared.time.step ?? Number.NaN)),
    9,
  );
});

test('a run is no more exact than its steps', () => {
  const run = { samples: 1000, epochs: 1, start: seconds(60) };
  const known = costOf({ cluster: 'titan-x-pascal', gpus: 1, batch: 8, run });
  const unknown = costOf({
    cluster: 'titan-x-pascal',
    gpus: 1,
    batch: 8,
    run,
    input: { sampleBytes: bytes(110_000), source: 'local' },
  });
  expect([known.totals.run?.exact, unknown.totals.run?.exact]).toEqual([true, false]);
});

test('a run of workers that do not wait for each other follows their throughput', () => {
  const { totals } = costOf({
    cluster: 'dgx-a100',
    gpus: 32,
    batch: 8,
    framework: { name: 'mxnet', options: { kvstore: 'dist_async' } },
    workers: { straggler: 4 },
    run: { samples: 256_000, epochs: 1 },
  });
  expect(totals.run?.time).toBeCloseTo(256_000 / (totals.throughput ?? Number.NaN), 6);
});

test.each(['pytorch-ddp', 'horovod'])('%s: one GPU by itself updates the rows it looked up', (name) => {
  const tables = openModel(
    byteSourceOfBuffer(
      Buffer.from(
        'inputs: { ids: "int64[batch, 16]" }\nlayers:\n  - e: Embedding(100000, 64, sparse=True)\n  - m: mean(dim=1)\n  - l: Linear(2)\n',
      ),
    ),
    'tables.layers.yaml',
  );
  const framework = { name, options: {} };
  const timeOn = (gpus: number) =>
    estimateModel(tables, [{ cluster: 'dgx-a100', batch: 64, precision: 'fp32', framework, gpus }]).cost
      ?.totals;
  const [alone, together] = [timeOn(1), timeOn(8)];
  expect(together?.scalingEfficiency).toBeCloseTo((alone?.time.step ?? 0) / (together?.time.step ?? 1), 9);
});
