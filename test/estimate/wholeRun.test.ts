/** T = T_init + E · ⌈S / (B · P)⌉ · t, by hand; and what of it is known. */

import { describe, expect, test } from 'vitest';
import { priceOfRun, stepsOfRun, wholeRun } from '../../server/src/estimate/wholeRun.ts';
import type { InputHandling } from '../../server/src/frameworks/exchange.ts';
import type { ClusterProfile, Storage } from '../../server/src/hardware/clusterProfile.ts';
import { findCluster } from '../../server/src/hardware/clusters.ts';
import type { RunScenario, Scenario } from '../../server/src/model/scenario.ts';
import { bytes, bytesPerSecond, seconds } from '../../server/src/model/units.ts';

const found = findCluster('dgx-a100');
if (found === undefined) throw new Error('no cluster');
const rate = (value: number) => ({ value: bytesPerSecond(value), source: 'assumption: of this test' });
const storage: Storage = {
  title: 'a file system',
  local: rate(2e9),
  shared: rate(1e10),
  perClient: rate(1e9),
  sameFile: rate(5e8),
};
const cluster: ClusterProfile = { ...found, storage };

const placement = { nodes: 2, gpusPerNode: 8 };

const run: RunScenario = { samples: 1000, epochs: 3 };
const scenario: Scenario = {
  cluster: 'dgx-a100',
  nodes: 2,
  gpus: 16,
  batchPerGpu: 4,
  dimensions: {},
  precision: 'bf16',
  optimizer: 'adamw',
  framework: { name: 'cntk', options: {} },
  mode: 'training',
  run,
};
const asItGoes: InputHandling = { ahead: 'reading', pipelined: true, reads: 'own share' };
const allFirst: InputHandling = { ...asItGoes, readsAllFirst: true };

describe('steps of all epochs', () => {
  test.each<readonly [string, Partial<Scenario>, number]>([
    // ⌈1000 / (4 · 16)⌉ = 16.
    ['three epochs', {}, 48],
    ['passes of a step', { accumulate: 2 }, 24],
    ['a batch over all GPUs, of which passes are parts', { accumulate: 2, globalBatch: 250 }, 12],
    ['one GPU', { gpus: 1 }, 750],
    ['a part of an epoch', { run: { ...run, epochs: 0.5 } }, 8],
    ['a part of a step', { run: { ...run, epochs: 0.51 } }, 9],
    // 0.7 · 30 is 21, and 20.999999999999996 in doubles; 1.1 · 50 is 55.00000000000001.
    ['a product that is not whole in doubles', { globalBatch: 20, run: { ...run, epochs: 1.1 } }, 55],
  ])('%s', (_, change, steps) => {
    expect(stepsOfRun({ ...scenario, ...change })).toBe(steps);
  });

  test('without a run there are none', () => {
    const { run: _, ...without } = scenario;
    expect(stepsOfRun(without)).toBeUndefined();
    expect(priceOfRun(without, 3600)).toBeUndefined();
  });
});

test.each<readonly [number, number, number]>([
  [3600, 2, 32],
  [1800, 2, 16],
  [3600, 0, 0],
])('%f s of 16 GPUs at $%f an hour: $%f', (time, perGpuHour, price) => {
  expect(priceOfRun({ ...scenario, run: { ...run, price: { perGpuHour } } }, time)).toBeCloseTo(price, 12);
  expect(priceOfRun({ ...scenario, run: { ...run, price: { perGpuHour } }, gpus: 8 }, time)).toBeCloseTo(
    price / 2,
    12,
  );
  expect(priceOfRun(scenario, time)).toBeUndefined();
});

const costOf = (
  change: Partial<Scenario>,
  { handling = asItGoes, step = 0.5, exact = true, waiting = null as number | null, on = cluster } = {},
) =>
  wholeRun(
    { scenario: { ...scenario, ...change }, cluster: on, placement, behaviour: { input: handling } },
    {
      time: seconds(step),
      isExact: exact,
      waitingForHost: waiting === null ? null : seconds(waiting),
    },
  );

describe('a run', () => {
  test('without one there is nothing to say', () => {
    const { run: _, ...without } = scenario;
    expect(
      wholeRun(
        { scenario: without, cluster, placement, behaviour: { input: asItGoes } },
        { time: seconds(1), isExact: true, waitingForHost: null },
      ),
    ).toBeUndefined();
  });

  test('whose start nobody gave takes its steps, and more', () => {
    expect(costOf({})).toEqual({
      steps: 48,
      initialisation: null,
      loading: 0,
      time: 24,
      exact: false,
      price: null,
      energy: null,
    });
  });

  test('with a start and a price', () => {
    const priced = { ...run, start: seconds(36), price: { perGpuHour: 6 } };
    // 36 s and 24 s, of 16 GPUs.
    expect(costOf({ run: priced })).toEqual({
      steps: 48,
      initialisation: 36,
      loading: 0,
      time: 60,
      exact: true,
      price: 1.6,
      energy: null,
    });
    expect(costOf({ run: priced }, { exact: false })?.exact).toBe(false);
    const offer = {
      provider: 'AWS',
      instance: 'p4d.24xlarge',
      region: 'us-east-1',
      kind: 'spot',
      date: '2026-03-01',
      source: 'assumption: of this test',
    } as const;
    const offered = { ...priced, price: { perGpuHour: 6, offer } };
    expect(costOf({ run: offered })).toEqual({ ...costOf({ run: priced }), offer });
  });

  test('that starts at once is known', () => {
    expect(costOf({ run: { ...run, start: seconds(0) } })).toMatchObject({
      initialisation: 0,
      time: 24,
      exact: true,
    });
  });

  test('draws the power of its boards while they compute', () => {
    const power = cluster.gpu.boardPower?.value ?? Number.NaN;
    const { energy } = costOf({ run: { ...run, pue: 1 } }, { waiting: 0.125 }) ?? {};
    expect(energy).toEqual({ atMost: power * 0.75 * 16 * 24, boardPower: power, utilisation: 0.75, pue: 1 });
  });
});

describe('a framework that reads all of the data first', () => {
  // 1000 samples of 1 MB: 1 GB, which each of 16 GPUs reads.
  const input = { sampleBytes: bytes(1e6) };
  const loading = (change: Partial<Scenario>, on = cluster) =>
    costOf(change, { handling: allFirst, on })?.loading;

  test('from storage for all nodes: what all take of one file, or what a node takes', () => {
    expect(loading({ input })).toBe(16e9 / 5e8);
    const quick = { ...cluster, storage: { ...storage, sameFile: rate(1e12) } };
    expect(loading({ input }, quick)).toBe(8e9 / 1e9);
    const noFile = {
      ...cluster,
      storage: { ...storage, shared: rate(1e9), perClient: undefined, sameFile: undefined },
    };
    expect(loading({ input }, noFile)).toBe(16e9 / 1e9);
  });

  test('from disks of each node', () => {
    expect(loading({ input: { ...input, source: 'local' } })).toBe(8e9 / 2e9);
  });

  test('at a rate that was given', () => {
    expect(loading({ input: { ...input, readRate: bytesPerSecond(1e8) } })).toBe(80);
  });

  test('nobody knows how long where size or storage is unknown', () => {
    expect(loading({})).toBeNull();
    expect(loading({ input: {} })).toBeNull();
    expect(loading({ input }, found)).toBeNull();
    const started = { ...run, start: seconds(36) };
    expect(costOf({ run: started }, { handling: allFirst })).toMatchObject({
      initialisation: 36,
      loading: null,
      time: 60,
      exact: false,
    });
    expect(costOf({}, { handling: allFirst })).toMatchObject({ initialisation: null, exact: false });
  });

  test('what is read counts before the first step, also where the rest of the start is unknown', () => {
    expect(costOf({ input }, { handling: allFirst })).toMatchObject({
      initialisation: 32,
      time: 56,
      exact: false,
    });
  });
});
