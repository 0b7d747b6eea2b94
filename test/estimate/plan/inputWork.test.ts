/** How long a batch takes to come to its GPU, by hand: bytes over rates, samples over cores. */

import { describe, expect, test } from 'vitest';
import { openLayerSpec } from '../../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../../server/src/estimate/estimateModel.ts';
import { inputWork, readingTime } from '../../../server/src/estimate/plan/inputWork.ts';
import { type InputHandling, prefetchedInput } from '../../../server/src/frameworks/exchange.ts';
import type { ClusterProfile, Storage } from '../../../server/src/hardware/clusterProfile.ts';
import type { InputScenario } from '../../../server/src/model/scenario.ts';
import { bytes, bytesPerSecond } from '../../../server/src/model/units.ts';

const rate = (gigabytes: number) => ({ value: bytesPerSecond(gigabytes * 1e9), source: 'a test' });
const storageOf = (rates: Partial<Storage>): Storage => ({
  title: 'a test',
  ...{ local: undefined, shared: undefined, perClient: undefined, sameFile: undefined },
  ...rates,
});
const [local, shared, perClient, sameFile] = [rate(2), rate(10), rate(1), rate(5)];

/** Of 4 GB by each node and 40 GB by all ten. */
describe('reading takes', () => {
  test.each<
    [string, Pick<InputScenario, 'source' | 'readRate'>, Storage | undefined, boolean, number | null]
  >([
    [
      '4 GB at the rate of a node that is given',
      { readRate: bytesPerSecond(8e9) },
      storageOf({ local }),
      false,
      0.5,
    ],
    ['nobody knows how long without storage', {}, undefined, false, null],
    ['4 GB from its own disk', {}, storageOf({ local }), false, 2],
    ['4 GB from its own disk, asked for', { source: 'local' }, storageOf({ local, shared }), false, 2],
    [
      'nobody knows how long from a disk that is not described',
      { source: 'local' },
      storageOf({ shared }),
      false,
      null,
    ],
    ['40 GB from what all share, where there is such', {}, storageOf({ local, shared }), false, 4],
    ['4 GB by a client of what all share', {}, storageOf({ local, perClient }), false, 4],
    ['the longer of both', {}, storageOf({ shared: rate(5), perClient }), false, 8],
    ['the longer of both, of the client', {}, storageOf({ shared: rate(50), perClient }), false, 4],
    [
      'nobody knows how long from what nobody shares',
      { source: 'shared' },
      storageOf({ local }),
      false,
      null,
    ],
    ['40 GB of one file, which fewer servers keep', {}, storageOf({ shared, sameFile }), true, 8],
    ['40 GB of one file at the rate of all where its own is not known', {}, storageOf({ shared }), true, 4],
    ['40 GB of many files at the rate of all', {}, storageOf({ shared, sameFile }), false, 4],
  ])('%s', (_, input, storage, isSameFile, time) => {
    expect(readingTime(input, storage, 4e9, 40e9, isSameFile)).toBe(time);
  });
});

// 8 samples of 1,000 float32 numbers: 32,000 bytes for each GPU.
const { training, scenario, cluster } = estimateModel(
  openLayerSpec('inputs: { x: "float32[batch, 1000]" }\nlayers:\n  - l: Linear(1000, 8)\n', 'm.layers.yaml'),
  [{ cluster: 'dgx-a100', gpus: 16, batch: 8 }],
);
if (training === undefined || scenario === undefined || cluster === undefined) throw new Error('not costed');
const host = { ...cluster.host, cores: { value: 64, source: 'a test' } } as const;
const known: ClusterProfile = {
  ...cluster,
  gpusPerNode: { value: 8, source: 'a test' },
  host: { ...host, gpusPerHostLink: undefined } as ClusterProfile['host'],
  storage: storageOf({ shared }),
};
const unknown: ClusterProfile = { ...known, host: undefined, storage: undefined };

const workOf = (
  input: InputScenario | undefined,
  of = known,
  handling: InputHandling = prefetchedInput,
  gpusPerNode = 8,
) => inputWork(training, { ...scenario, ...(input && { input }) }, of, { nodes: 2, gpusPerNode }, handling);

describe('input', () => {
  const sampleBytes = bytes(1e6);
  test('that nobody described is none', () => {
    expect(workOf(undefined)).toBeUndefined();
  });

  // 16 GPUs · 8 samples · 1 MB at 10 GB/s; 8 GPUs · 8 samples over 64 cores of 10 a second.
  test.each<[string, InputScenario, object]>([
    [
      'that is read',
      { sampleBytes },
      {
        storage: 0.0128,
        decoding: null,
        slowest: 'storage',
        unknown: [],
        undescribed: ['decoding (decode-rate)'],
      },
    ],
    [
      'that is decoded',
      { decodeRate: 10 },
      {
        storage: null,
        decoding: 0.1,
        slowest: 'decoding',
        unknown: [],
        undescribed: ['reading (sample-bytes)'],
      },
    ],
    [
      'that is both',
      { sampleBytes, decodeRate: 10 },
      { storage: 0.0128, decoding: 0.1, slowest: 'decoding', unknown: [], undescribed: [] },
    ],
    ['that is hardly decoded', { sampleBytes, decodeRate: 1e6 }, { storage: 0.0128, slowest: 'storage' }],
    [
      'that is only copied',
      {},
      {
        storage: null,
        decoding: null,
        slowest: 'copying',
        undescribed: ['reading (sample-bytes)', 'decoding (decode-rate)'],
      },
    ],
  ])('%s', (_, input, wanted) => {
    const work = workOf(input);
    expect(work).toMatchObject(wanted);
    expect(work?.timed.read).toBe(Math.max(work?.storage ?? 0, work?.decoding ?? 0));
    expect(work?.timed.copy).toBe(work?.copying);
  });

  test('that every worker reads is read by all of them', () => {
    expect(workOf({ sampleBytes }, known, { ...prefetchedInput, reads: 'everything' })?.storage).toBeCloseTo(
      16 * 0.0128,
      12,
    );
  });

  test('of a part of a node is decoded by its part of the cores', () => {
    expect(workOf({ decodeRate: 10 }, known, prefetchedInput, 2)?.decoding).toBeCloseTo(0.1, 12);
  });

  test('of which a cluster says nothing is not known', () => {
    expect(workOf({ sampleBytes, decodeRate: 10 }, unknown)).toMatchObject({
      storage: null,
      decoding: null,
      unknown: [
        'reading (`dgx-a100` does not say how fast its storage is; give read-gbs)',
        'decoding (`dgx-a100` does not say how many cores its host has)',
      ],
      undescribed: [],
    });
    expect(workOf({}, unknown)?.unknown).toEqual([]);
  });

  test('is copied over a link that two GPUs share in twice the time', () => {
    const shares = (gpus: number | undefined): number => {
      const gpusPerHostLink = gpus === undefined ? undefined : { value: gpus, source: 'a test' };
      const of = { ...known, host: { ...host, gpusPerHostLink } as ClusterProfile['host'] };
      return workOf({}, of)?.copying ?? Number.NaN;
    };
    const wire = (time: number): number => time - 2 * shares(1) + shares(2);
    expect(shares(undefined)).toBe(shares(1));
    expect(wire(shares(4))).toBeGreaterThan(0);
    expect(shares(4) - shares(2)).toBeCloseTo(2 * (shares(2) - shares(1)), 12);
  });
});
