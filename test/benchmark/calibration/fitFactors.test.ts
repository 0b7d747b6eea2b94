/** Factors are found again in timings that were made of them, and are drawn towards 1 as far as models do not agree. */

import { describe, expect, it } from 'vitest';
import { fitFactors, type TimedModel } from '../../../server/src/benchmark/calibration/fitFactors.ts';
import type { KernelTiming } from '../../../server/src/benchmark/calibration/fitKernels.ts';
import type { KernelWork } from '../../../server/src/hardware/kernelWork.ts';
import { bytes, flops, type Seconds, seconds } from '../../../server/src/model/units.ts';

const kernel = (kernelClass: KernelWork['class'], megabytes: number): KernelWork => ({
  class: kernelClass,
  dtype: 'fp32',
  flops: flops(0),
  operations: 0,
  bytes: bytes(megabytes * 1e6),
  launches: 1,
});
const known = (work: KernelWork): Seconds => seconds(work.bytes / 8e9);

type Factors = Readonly<Partial<Record<KernelWork['class'], number>>>;

const timing = (
  kernels: readonly KernelWork[],
  factors: Factors,
  start = 0,
  of: KernelTiming['of'] = 'forward',
): KernelTiming => ({
  kernels,
  of,
  time: seconds(start + kernels.reduce((sum, work) => sum + known(work) * (factors[work.class] ?? 1), 0)),
});

const sizes = [0.02, 0.03, 0.05, 0.06, 0.07, 0.5, 4, 20];

/** Alone and together. */
const modelOf = (name: string, factors: Factors, start = 0): TimedModel => ({
  model: name,
  timings: sizes.flatMap((size) => {
    const [first, second] = [kernel('elementwise', size), kernel('pooling', 2 * size)];
    return [[first], [second], [first, second]].map((kernels) => timing(kernels, factors, start));
  }),
});

const many = (count: number, factorsOf: (index: number) => Factors, start = 0): readonly TimedModel[] =>
  Array.from({ length: count }, (_, index) => modelOf(`m${index}`, factorsOf(index), start));

const factorsOf = (models: readonly TimedModel[]) => {
  const kinds = fitFactors(models, known);
  return { elementwise: kinds.get('elementwise')?.ofProfile, pooling: kinds.get('pooling')?.ofProfile };
};

it('finds factors on which many models agree', () => {
  const { elementwise, pooling } = factorsOf(many(12, () => ({ elementwise: 0.8, pooling: 1.2 })));
  expect(elementwise).toBeCloseTo(0.8, 1);
  expect(pooling).toBeCloseTo(1.2, 1);
});

it('takes what starts a pass of a layer alone for no part of its kernels', () => {
  const { elementwise, pooling } = factorsOf(many(12, () => ({}), 20e-6));
  expect(Math.abs((elementwise ?? 0) - 1)).toBeLessThan(0.02);
  expect(Math.abs((pooling ?? 0) - 1)).toBeLessThan(0.02);
});

it('believes one model less than several', () => {
  const slower = { elementwise: 1.3, pooling: 1.3 };
  const [one, three, twelve] = [1, 3, 12].map(
    (count) => factorsOf(many(count, () => slower)).elementwise ?? 0,
  );
  expect(one).toBeGreaterThan(1);
  expect(three).toBeGreaterThan(one ?? 0);
  expect(twelve).toBeGreaterThan(three ?? 0);
  expect(twelve).toBeLessThan(1.3);
});

it('counts runs of one file as one model', () => {
  const slower = { elementwise: 1.3, pooling: 1.3 };
  const twice = [modelOf('m', slower), modelOf('m', slower)];
  expect(factorsOf(twice).elementwise).toBeCloseTo(factorsOf([modelOf('m', slower)]).elementwise ?? 0, 6);
});

it('stays nearer to the profile where models differ', () => {
  const agreeing = factorsOf(many(4, () => ({ elementwise: 1.3 }))).elementwise ?? 0;
  const differing =
    factorsOf(many(4, (index) => ({ elementwise: index % 2 === 0 ? 0.8 : 2.1 }))).elementwise ?? 0;
  expect(Math.abs(differing - 1)).toBeLessThan(agreeing - 1);
});

it('is not led astray by layers that run other kernels than predicted', () => {
  const models = many(12, () => ({})).map(({ model, timings }) => ({
    model,
    timings: timings.map((each, index) =>
      index % 8 === 3 ? { ...each, time: seconds(6 * each.time) } : each,
    ),
  }));
  const { elementwise, pooling } = factorsOf(models);
  expect(Math.abs((elementwise ?? 0) - 1)).toBeLessThan(0.1);
  expect(Math.abs((pooling ?? 0) - 1)).toBeLessThan(0.1);
});

describe('ranges', () => {
  it.each([
    ['models that agree', 0.05],
    ['models that differ', 0.6],
  ])('hold 1, for %s', (_, spread) => {
    const models = many(8, (index) => ({ elementwise: Math.exp(spread * ((index % 3) - 1)) }));
    for (const { low, high } of fitFactors(models, known).values()) {
      expect(low).toBeLessThanOrEqual(1);
      expect(high).toBeGreaterThanOrEqual(1);
    }
  });

  it('are wider for a kind in which models differ more', () => {
    const kinds = fitFactors(
      many(8, (index) => ({ pooling: Math.exp(0.5 * ((index % 3) - 1)) })),
      known,
    );
    expect(kinds.get('pooling')?.high).toBeGreaterThan(kinds.get('elementwise')?.high ?? 0);
  });
});

it('knows nothing of kinds that never ran', () => {
  expect([...fitFactors([modelOf('m', {})], known).keys()].sort()).toEqual(['elementwise', 'pooling']);
  expect(fitFactors([], known)).toEqual(new Map());
});
