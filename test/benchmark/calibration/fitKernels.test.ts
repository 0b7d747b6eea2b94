/** Rates are found again in timings that were made of them, also beside noise and other work. */

import { expect, it } from 'vitest';
import { fitKernels, type KernelTiming } from '../../../server/src/benchmark/calibration/fitKernels.ts';
import type { KernelWork } from '../../../server/src/hardware/kernelWork.ts';
import { measuredKernelTime } from '../../../server/src/hardware/measuredKernels.ts';
import { bytes, flops, type Seconds, seconds } from '../../../server/src/model/units.ts';

const kernel = (kernelClass: KernelWork['class'], gigaflops: number, megabytes: number): KernelWork => ({
  class: kernelClass,
  dtype: 'fp32',
  flops: flops(gigaflops * 1e9),
  operations: 0,
  bytes: bytes(megabytes * 1e6),
  launches: 1,
});

/** 50 GFLOP/s for matmuls, 10 GB/s for all else, 5 µs for each launch. */
const timeOf = (work: KernelWork): number =>
  work.class === 'matmul' ? work.flops / 50e9 + 5e-6 : work.bytes / 10e9 + 5e-6;

const timing = (
  kernels: readonly KernelWork[],
  factor = 1,
  of: KernelTiming['of'] = 'step',
): KernelTiming => ({
  kernels,
  time: seconds(factor * kernels.reduce((sum, work) => sum + timeOf(work), 0)),
  of,
});

const sizes = [0.001, 0.01, 0.05, 0.2, 1, 4];
const kernelsOf = (size: number): readonly KernelWork[] => [
  kernel('matmul', size, 3 * size ** 0.7),
  kernel('elementwise', 0, 40 * size),
  kernel('normalization', 0, 10 / size ** 0.5),
];
const exact: readonly KernelTiming[] = sizes.flatMap((size) => {
  const [matmul, relu, norm] = kernelsOf(size);
  if (matmul === undefined || relu === undefined || norm === undefined) return [];
  return [timing([matmul, relu]), timing([norm]), timing([matmul, norm]), timing([relu]), timing([matmul])];
});

/** Rates say it all. */
const unknown = (): never => {
  throw new Error('a profile was asked for');
};

/** The largest error of a step that none of the timings is. */
function error(timings: readonly KernelTiming[]): number {
  const kinds = fitKernels(timings);
  const predicted = (work: KernelWork): Seconds | undefined =>
    measuredKernelTime({ source: '', kinds }, work, unknown)?.time;
  const errors = [0.03, 0.5, 2].map((size) => {
    const kernels = kernelsOf(size);
    const sum = kernels.reduce((total, work) => total + (predicted(work) ?? Number.NaN), 0);
    return Math.abs(sum / timing(kernels).time - 1);
  });
  return Math.max(...errors);
}

it('finds rates of kernels that were timed together', () => {
  expect(error(exact)).toBeLessThan(0.01);
  const matmul = fitKernels(exact).get('matmul fp32');
  expect(matmul?.perFlop).toBeCloseTo(1 / 50e9, 13);
  expect(Math.abs((matmul?.perLaunch ?? Number.NaN) / 5e-6 - 1)).toBeLessThan(0.1);
  expect(matmul?.measurements).toBe(3 * sizes.length);
});

it('takes what starts a pass of a layer alone for no part of its kernels', () => {
  const starts = { forward: 20e-6, backward: 120e-6, step: 0 } as const;
  const alone = exact.map(({ kernels }, index) => {
    const of = (['forward', 'backward', 'step'] as const)[index % 3] ?? 'step';
    const own = timing(kernels, 1, of);
    return { ...own, time: seconds(own.time + starts[of]) };
  });
  const views: readonly KernelTiming[] = (['forward', 'backward'] as const).map((of) => ({
    kernels: [],
    time: seconds(starts[of]),
    of,
  }));
  expect(error([...alone, ...views])).toBeLessThan(0.02);
});

it('is not led astray by timings while other work ran', () => {
  const disturbed = exact.map(({ kernels }, index) => timing(kernels, index % 7 === 3 ? 4 : 1));
  expect(error(disturbed)).toBeLessThan(0.1);
});

it('says how far timings are from what was fitted', () => {
  const spread = exact.map(({ kernels }, index) => timing(kernels, index % 2 === 0 ? 0.8 : 1.2));
  for (const { low, high } of fitKernels(spread).values()) {
    expect(low).toBeGreaterThan(0.6);
    expect(low).toBeLessThan(1);
    expect(high).toBeGreaterThan(1);
    expect(high).toBeLessThan(1.6);
  }
});

it('knows nothing of kinds that never ran', () => {
  const kinds = fitKernels(exact);
  expect([...kinds.keys()].sort()).toEqual(['elementwise', 'matmul fp32', 'normalization']);
  expect(measuredKernelTime({ source: '', kinds }, kernel('pooling', 0, 1), unknown)).toBeUndefined();
  expect(fitKernels([])).toEqual(new Map());
});
