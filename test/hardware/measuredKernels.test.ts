/** Kernel times of a calibrated machine go before curves and rooflines, for the kinds that were measured. */

import { expect, it } from 'vitest';
import { kernelTime } from '../../server/src/hardware/kernelTime.ts';
import type { KernelWork } from '../../server/src/hardware/kernelWork.ts';
import { readClusterProfile } from '../../server/src/hardware/readClusterProfile.ts';
import { bytes, flops } from '../../server/src/model/units.ts';

const profile = (kernels: string): string => `{
  "name": "calibrated", "gpu": "a100-pcie-80gb", "gpusPerNode": 1,
  "kernels": { "source": "layercost calibrate: a test", "kinds": { ${kernels} } }
}`;
const rates =
  '"gflops": 50, "gbytesPerSecond": 10, "microseconds": 5, "low": 0.8, "high": 1.3, "measurements": 9';

const work = (changes: Partial<KernelWork> = {}): KernelWork => ({
  class: 'elementwise',
  dtype: 'fp32',
  flops: flops(1e9),
  operations: 0,
  bytes: bytes(1e8),
  launches: 2,
  ...changes,
});

const gpuOf = (text: string) => {
  const { cluster, issues } = readClusterProfile(text);
  if (cluster === undefined) throw new Error(issues[0]?.message);
  return cluster.gpu;
};

it('adds FLOPs, bytes and launches at the rates of their kind', () => {
  const time = kernelTime(gpuOf(profile(`"elementwise": { ${rates} }`)), work());
  // 1 GFLOP at 50 GFLOP/s, 100 MB at 10 GB/s, two launches.
  expect(time.time).toBeCloseTo(0.02 + 0.01 + 10e-6, 9);
  expect(time.low).toBeCloseTo(0.8 * time.time, 9);
  expect(time.high).toBeCloseTo(1.3 * time.time, 9);
  expect(time).toMatchObject({ bound: 'compute', basis: 'measured' });
});

it('takes no time for a rate that is left out', () => {
  const gpu = gpuOf(
    profile('"elementwise": { "gbytesPerSecond": 10, "low": 1, "high": 1, "measurements": 1 }'),
  );
  expect(kernelTime(gpu, work())).toMatchObject({ time: 0.01, bound: 'memory' });
});

it.each<[string, Partial<KernelWork>]>([
  ['pooling', { class: 'pooling' }],
  ['matmul fp32', { class: 'matmul' }],
  ['update', { purpose: 'update' }],
])('knows the kind %s', (kind, changes) => {
  const own = gpuOf(profile(`"${kind}": { ${rates} }`));
  expect(kernelTime(own, work(changes)).time).toBeCloseTo(0.03001, 9);
  const other = gpuOf(profile(`"softmax": { ${rates} }`));
  expect(kernelTime(other, work(changes))).toEqual(
    kernelTime(gpuOf('{ "name": "plain", "gpu": "a100-pcie-80gb", "gpusPerNode": 1 }'), work(changes)),
  );
});
