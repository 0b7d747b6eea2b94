/** What stands beside computation and communication in a step: input, unlike workers, a whole run, what limits it. */

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { estimateStep } from '../../server/src/estimate/estimateStep.ts';
import { timelineOf } from '../../server/src/estimate/plan/plannedTimes.ts';
import { planForGpus, planStep } from '../../server/src/estimate/plan/planStep.ts';
import { sumsOf } from '../../server/src/estimate/plan/stepSpread.ts';
import { expectedMaximum, imbalanceFactor } from '../../server/src/estimate/plan/workerImbalance.ts';
import type { ClusterProfile } from '../../server/src/hardware/clusterProfile.ts';
import { findCluster } from '../../server/src/hardware/clusters.ts';
import type { Scenario } from '../../server/src/model/scenario.ts';
import { sumOf } from '../../server/src/model/sumOf.ts';
import { bytes, bytesPerSecond, seconds } from '../../server/src/model/units.ts';
import { chain } from '../support/trainingGraph.ts';

function cluster(name: string): ClusterProfile {
  const found = findCluster(name);
  if (found === undefined) throw new Error(name);
  return found;
}

const scenario = (change: Partial<Scenario>): Scenario => ({
  cluster: 'test',
  nodes: 1,
  gpus: 1,
  batchPerGpu: 64,
  dimensions: {},
  precision: 'fp32',
  optimizer: 'sgd',
  framework: { name: 'pytorch-ddp', options: {} },
  mode: 'training',
  ...change,
});

const model = chain(
  Array.from({ length: 8 }, (_, index) => ({
    name: `layer${index}`,
    class: 'matmul' as const,
    type: 'MatMul',
    flops: 4e10,
    parameters: 1e6,
    output: 4e6,
  })),
  64,
);
const v100 = cluster('v100-infiniband');
const cost = (more: Partial<Scenario>, profile = v100) =>
  estimateStep(model, scenario({ gpus: 4, cluster: profile.name, ...more }), profile).totals;

/** Storage and host of round numbers. */
const stored: ClusterProfile = {
  ...v100,
  host: {
    title: 'host',
    cores: { value: 32, source: 'test' },
    memory: undefined,
    gpusPerHostLink: { value: 2, source: 'test' },
  },
  storage: {
    title: 'disks',
    local: { value: bytesPerSecond(2e9), source: 'test' },
    shared: { value: bytesPerSecond(4e9), source: 'test' },
    perClient: { value: bytesPerSecond(1e9), source: 'test' },
    sameFile: { value: bytesPerSecond(5e8), source: 'test' },
  },
};
const sampleBytes = bytes(1e5);

describe('input', () => {
  test('is not modelled where it is not described', () => {
    const { time, input } = cost({}, stored);
    expect([time.input, time.exposedInput, input]).toEqual([null, null, undefined]);
  });

  // Four GPUs of 64 samples of 0.1 MB on each node.
  test.each([
    ['a node’s own disk, shared by its GPUs', { sampleBytes, source: 'local' as const }, 4, 1, 0.0128],
    ['a shared file system: one client is slower than its share', { sampleBytes }, 4, 1, 0.0256],
    ['a shared file system: all clients are slower than one', { sampleBytes }, 32, 8, 0.0512],
    ['a rate of one’s own', { sampleBytes, readRate: bytesPerSecond(5e8) }, 4, 1, 0.0512],
  ])('%s', (_, input, gpus, nodes, expected) => {
    expect(cost({ input, gpus, nodes }, stored).input?.storage).toBeCloseTo(expected, 9);
  });

  test('cores of the host decode for its GPUs: 256 samples by 32 cores of 100 each', () => {
    const input = { sampleBytes, decodeRate: 100 };
    expect(cost({ input }, stored).input?.decoding).toBeCloseTo(0.08, 9);
    // Of half of the node a job has half of the cores.
    expect(cost({ input, gpus: 2 }, stored).input?.decoding).toBeCloseTo(0.08, 9);
  });

  test('a part that is not known is said, not counted as nothing', () => {
    const asked = { input: { sampleBytes, decodeRate: 100 } };
    const { input, time, scalingEfficiency, mfu } = cost(asked, { ...v100, host: undefined });
    expect([input?.storage, input?.decoding]).toEqual([null, null]);
    expect(input?.unknown.join()).toMatch(/how fast its storage is; give read-gbs.*how many cores/);
    expect([time.exact, scalingEfficiency, mfu]).toEqual([false, null, null]);
    expect(cost(asked, stored).time.exact).toBe(true);
  });

  test('a part that nobody described is not modelled, and leaves the step exact', () => {
    const { input, time } = cost({ input: { sampleBytes } }, stored);
    expect(input).toMatchObject({ unknown: [], undescribed: ['decoding (decode-rate)'], decoding: null });
    expect(time.exact).toBe(true);
  });

  test('slow reading limits the step, and a step of a single GPU is not limited by the others', () => {
    const slow = { sampleBytes, readRate: bytesPerSecond(2e7) };
    const { time, limit, input, scalingEfficiency } = cost({ input: slow }, stored);
    expect(time.step).toBeCloseTo(input?.storage ?? Number.NaN, 6);
    expect([limit.kind, input?.slowest]).toEqual(['input', 'storage']);
    expect(scalingEfficiency).toBeLessThan(0.5);
  });

  test('two GPUs behind one PCIe switch copy at half the rate', () => {
    const alone = { ...stored, host: stored.host && { ...stored.host, gpusPerHostLink: undefined } };
    const input = { sampleBytes };
    const startup = 10e-6;
    const [shared, own] = [cost({ input }, stored), cost({ input }, alone)].map(
      (totals) => (totals.input?.copying ?? 0) - startup,
    );
    expect(shared).toBeCloseTo(2 * (own ?? 0), 12);
    // A job of one GPU leaves the rest of the node idle.
    const single = cost({ input, gpus: 1 }, stored).input?.copying ?? 0;
    expect(single - startup).toBeCloseTo(own ?? 0, 12);
  });

  test('more of it never makes a step shorter', () => {
    const rate = fc.double({ min: 1e7, max: 1e10, noNaN: true });
    fc.assert(
      fc.property(rate, rate, (a, b) => {
        const [slow, fast] = [Math.min(a, b), Math.max(a, b)].map(
          (readRate) => cost({ input: { sampleBytes, readRate: bytesPerSecond(readRate) } }).time.step ?? 0,
        );
        expect(fast).toBeLessThanOrEqual((slow ?? 0) * (1 + 1e-9));
      }),
      { numRuns: 30 },
    );
  });
});

describe('unlike workers', () => {
  // E[max] of N standard normals, as tables of order statistics have it (Harter 1961).
  test.each([
    [1, 0],
    [2, 0.5642],
    [4, 1.0294],
    [8, 1.4236],
    [16, 1.766],
    [32, 2.0697],
    [1000, 3.2414],
  ])('the largest of %i normals is %f on average', (n, expected) => {
    expect(expectedMaximum(n)).toBeCloseTo(expected, 4);
  });

  test('one worker waits for nobody; more wait longer', () => {
    expect(imbalanceFactor({ imbalance: 1.5, spread: 0.1 }, 1)).toBe(1);
    const factors = [2, 4, 64, 1024, 65536].map((gpus) => imbalanceFactor({ spread: 0.05 }, gpus));
    expect(factors).toEqual([...factors].sort((a, b) => a - b));
    expect(factors[4]).toBeLessThan(1.25);
  });

  test('a worker half as fast again makes the step longer by half of its computation', () => {
    const [even, uneven] = [cost({}), cost({ workers: { imbalance: 1.5 } })];
    expect(uneven.imbalance?.factor).toBe(1.5);
    expect(uneven.imbalance?.time).toBeCloseTo((uneven.time.step ?? 0) - (even.time.step ?? 0), 12);
    // What the step would be shorter by, over the step.
    const saved = (uneven.imbalance?.time ?? Number.NaN) / (uneven.time.step ?? Number.NaN);
    expect(uneven.limit.kind).toBe('imbalance');
    expect(uneven.limit.share).toBeCloseTo(saved, 2);
  });

  test('a batch that does not divide counts as it is, and the step as its largest share', () => {
    const { throughput, time } = cost({ globalBatch: 250 });
    expect((throughput ?? 0) * (time.step ?? 0)).toBeCloseTo(250, 6);
  });
});

describe('GPUs of two kinds', () => {
  const mixed = (gpu: string, count: number, more: Partial<Scenario> = {}) =>
    cost({ workers: { others: { gpu, count } }, ...more });
  const all = (gpu: string, more: Partial<Scenario> = {}) => {
    const { gpu: profile } = cluster(gpu);
    return cost(more, { ...v100, gpu: profile });
  };

  test('a synchronous step is that of the slower kind, for which the faster wait', () => {
    const [some, own, slow] = [mixed('k40', 1), cost({}), all('k40')];
    expect(some.time).toEqual(slow.time);
    expect(some.mixed).toEqual({
      slower: { gpu: 'K40', count: 1 },
      faster: { gpu: 'V100 PCIe 32 GB', count: 3 },
      time: (slow.time.step ?? 0) - (own.time.step ?? 0),
    });
    expect(some.throughput).toBe(slow.throughput);
    expect(some.limit.kind).toBe('imbalance');
  });

  test('the cluster’s own kind may be the slower one', () => {
    const some = mixed('h100-sxm', 3);
    expect(some.time).toEqual(cost({}).time);
    expect(some.mixed?.slower).toEqual({ gpu: 'V100 PCIe 32 GB', count: 1 });
  });

  test('what fits is decided by the smaller memory, whichever kind has it', () => {
    expect(mixed('k40', 1).memory.capacity).toBe(findCluster('k40')?.gpu.memory.value);
    expect(mixed('rtx-2080-ti', 1, { gpus: 2 }).memory.capacity).toBe(
      findCluster('rtx-2080-ti')?.gpu.memory.value,
    );
  });

  test.each([
    ['k40', 'K40', 1],
    ['h100-sxm', 'V100 PCIe 32 GB', 5],
  ])('on fewer GPUs there are still both kinds, beside %s', (gpu, slower, count) => {
    const { gpus, nodes } = { gpus: 16, nodes: 4 };
    const workers = { others: { gpu, count } };
    const planned = (on: number, at: number) =>
      planStep(model, scenario({ gpus: on, nodes: at, workers, cluster: v100.name }), v100);
    const fewer = planForGpus(planned(gpus, nodes), 4);
    const direct = planned(4, 1);
    expect(fewer.cluster.gpu.title).toBe(slower);
    expect(fewer.faster?.count).toBe(direct.faster?.count);
    expect(fewer.faster?.plan.cluster.gpu).toBe(direct.faster?.plan.cluster.gpu);
    expect(timelineOf(fewer, 'middle').step).toBe(timelineOf(direct, 'middle').step);
    expect(planForGpus(planned(gpus, nodes), 1).faster).toBeUndefined();
  });

  const asynchronous = {
    framework: { name: 'mxnet', options: { kvstore: 'dist_async' } },
    gpus: 8,
    nodes: 2,
  };

  test('asynchronous workers add up, each at its own pace', () => {
    const [some, own, slow] = [mixed('k40', 2, asynchronous), cost(asynchronous), all('k40', asynchronous)];
    expect(some.throughput).toBeCloseTo(((own.throughput ?? 0) * 6 + (slow.throughput ?? 0) * 2) / 8, 6);
    expect(some.mixed?.time).toBe(0);
  });

  test('a straggler holds up a synchronous step, and of asynchronous workers only itself', () => {
    const workers = { straggler: 4 };
    expect((cost({ workers }).time.step ?? 0) / (cost({}).time.step ?? 0)).toBeGreaterThan(3);
    const [held, free] = [cost({ ...asynchronous, workers }), cost(asynchronous)];
    expect((held.throughput ?? 0) / (free.throughput ?? 1)).toBeCloseTo((7 + 1 / 4) / 8, 2);
    expect(held.imbalance).toBeUndefined();
  });

  test('servers that are the limit are no faster for faster workers', () => {
    const framework = { name: 'mxnet', options: { kvstore: 'dist_async', servers: '1' } };
    const busy = { framework, gpus: 256, nodes: 64 };
    const [some, own] = [mixed('h100-sxm', 128, busy), cost(busy)];
    expect(own.asynchronous?.bound).toBe('server');
    expect(some.throughput).toBeCloseTo(own.throughput ?? 0, 6);
  });
});

describe('a whole run', () => {
  test('initialisation, steps of all epochs, price', () => {
    const { run, time } = cost({
      run: { samples: 1000, epochs: 3, start: seconds(60), price: { perGpuHour: 2 } },
    });
    // 1000 samples in steps of 256.
    expect(run?.steps).toBe(12);
    expect(run?.time).toBeCloseTo(60 + 12 * (time.step ?? 0), 9);
    expect(run?.price).toBeCloseTo((4 * 2 * (run?.time ?? 0)) / 3600, 12);
    expect(run?.exact).toBe(true);
  });

  // Each of 4 or 8 GPUs reads all of 1000 samples of 0.1 MB: of a disk of 2 GB/s, of one file at 0.5 GB/s.
  test.each([
    ['local', 4, 1, (4 * 1e8) / 2e9],
    ['local', 8, 2, (4 * 1e8) / 2e9],
    ['shared', 4, 1, (4 * 1e8) / 5e8],
    ['shared', 8, 2, (8 * 1e8) / 5e8],
  ] as const)(
    'a framework that reads all first, from %s storage, %i GPUs on %i nodes',
    (source, gpus, nodes, loading) => {
      const { run } = cost(
        {
          gpus,
          nodes,
          framework: { name: 'cntk', options: { reader: 'text' } },
          input: { sampleBytes, source },
          run: { samples: 1000, epochs: 1, start: seconds(60) },
        },
        stored,
      );
      expect(run?.loading).toBeCloseTo(loading, 9);
      expect(run?.initialisation).toBeCloseTo(60 + loading, 9);
    },
  );

  test('what nobody gave stays unknown', () => {
    const { run } = cost({ run: { samples: 1000, epochs: 1 } });
    expect([run?.initialisation, run?.price, run?.exact]).toEqual([null, null, false]);
  });
});

describe('workers that do not wait for each other', () => {
  const framework = {
    name: 'mxnet',
    options: { kvstore: 'dist_async', servers: '1', colocated: 'false' },
  };
  const slow = cluster('k80-10gbe');
  const of = (nodes: number) => cost({ framework, gpus: 4 * nodes, nodes }, slow);

  test('few wait for themselves, many queue at the server: throughput stops growing', () => {
    const [few, many, more] = [of(2), of(512), of(1024)];
    expect([few.asynchronous?.bound, many.asynchronous?.bound]).toEqual(['worker', 'server']);
    expect(few.asynchronous?.staleness).toBe(7);
    expect(more.throughput).toBeCloseTo(many.throughput ?? Number.NaN, 6);
    expect(more.limit.kind).toBe('server');
  });

  test('the server is the limit from where it says', () => {
    const { asynchronous, time } = of(2);
    const nodes = Math.ceil((asynchronous?.saturatesAt ?? Number.NaN) / 4);
    expect(of(nodes - 1).asynchronous?.bound).toBe('worker');
    expect(of(nodes + 1).asynchronous?.bound).toBe('server');
    expect(of(nodes - 1).time.step).toBeCloseTo(time.step ?? Number.NaN, 9);
  });
});

test('the parts of a step add up, whatever is described', () => {
  for (const name of ['pytorch-ddp', 'naive', 'horovod', 'pytorch-fsdp', 'mxnet', 'cntk', 'tensorflow']) {
    const framework = { name, options: {} };
    const input = { sampleBytes, decodeRate: 30 };
    const { time } = cost({ framework, input, workers: { spread: 0.1 }, gpus: 8, nodes: 2 }, stored);
    const parts = [
      time.exposedInput,
      time.forward,
      time.backward,
      time.exposedCommunication,
      time.update,
    ].reduce<number>((total, part) => total + (part ?? Number.NaN), 0);
    expect([name, parts]).toEqual([name, expect.closeTo(time.step ?? 0, 9)]);
    expect(time.exposedCommunication).toBeLessThanOrEqual((time.communication ?? 0) + 1e-12);
  }
});

test('the range of a step counts each of its passes, and the update once', () => {
  const { times, updateTimes } = planStep(model, scenario({ cluster: v100.name }), v100);
  const sum = (passes: number, isTraining: boolean) =>
    sumsOf({ times, updateTimes, passes, isTraining })('middle');
  const [forward, backward] = [sumOf(times.forward.middle), sumOf(times.backward.middle)];
  expect(sum(3, true)).toBeCloseTo(3 * (forward + backward) + sumOf(updateTimes.middle), 12);
  expect(sum(1, false)).toBeCloseTo(forward, 12);
});
