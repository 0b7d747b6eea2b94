import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { computePath } from '../../server/src/hardware/computePath.ts';
import { sustainedMatmuls } from '../../server/src/hardware/corrections.ts';
import { curvesOf, type MatmulCurve } from '../../server/src/hardware/curves.ts';
import { builtInGpus, findGpu } from '../../server/src/hardware/gpus.ts';
import { convolutionTime, savedByTransforms } from '../../server/src/hardware/kernels/convolutionTime.ts';
import {
  gemmTime,
  type MatmulSizes,
  operandBytes,
  type Rates,
} from '../../server/src/hardware/kernels/gemmTime.ts';
import { transposedAround } from '../../server/src/hardware/kernels/matrixKernelTime.ts';
import { rowCurveTime } from '../../server/src/hardware/kernels/rowCurveTime.ts';
import { kernelTime } from '../../server/src/hardware/kernelTime.ts';
import type { KernelWork } from '../../server/src/hardware/kernelWork.ts';
import type { ConvolutionShape } from '../../server/src/operators/definition.ts';
import { matmulWork } from '../support/matmulWork.ts';

/** A GPU of round numbers: 100 multiprocessors of 1 TFLOP/s, 1 TB/s; tiles of 128 × 128 that reach the peak. */
const rates: Rates = { multiprocessors: 100, peak: 100e12, bandwidth: 1e12 };
const perfect: MatmulCurve = { tiles: [[128, 128, 1]], memory: 1, depth: 0 };

describe('waves of tiles', () => {
  const waveOf1024 = (2 * 128 * 128 * 1024) / 1e12;
  test.each([
    ['one tile', { batch: 1, m: 128, n: 128, k: 128 }, waveOf1024 / 8],
    ['a hundred tiles fill one wave', { batch: 100, m: 128, n: 128, k: 1024 }, waveOf1024],
    ['one more tile needs a second wave', { batch: 101, m: 128, n: 128, k: 128 }, waveOf1024 / 4],
    ['a ragged edge costs whole tiles', { batch: 50, m: 129, n: 128, k: 1024 }, waveOf1024],
    ['a deep matmul of one tile is cut along k', { batch: 1, m: 128, n: 128, k: 32 * 1024 }, waveOf1024],
  ] as const)('%s', (_, shape, time) => {
    expect(gemmTime(rates, perfect, shape, 0).time).toBeCloseTo(time, 12);
  });

  test('a library that cuts none takes the whole depth', () => {
    const deep = { batch: 1, m: 128, n: 128, k: 32 * 1024 };
    expect(gemmTime(rates, { ...perfect, splits: 1 }, deep, 0).time).toBeCloseTo(32 * waveOf1024, 12);
  });

  test('a matmul of few multiply-adds for each byte is bound by memory', () => {
    const shape = { batch: 1, m: 8, n: 8192, k: 8192 };
    const bytes = operandBytes(shape, 4);
    const { time, bound } = gemmTime(rates, perfect, shape, bytes);
    expect([bound, time]).toEqual(['memory', bytes / 1e12]);
  });
});

describe('convolutions', () => {
  const shape: ConvolutionShape = {
    kind: 'convolution',
    pass: 'forward',
    images: 64,
    channels: 128,
    filters: 128,
    groups: 1,
    positions: 28 * 28,
    spatialSize: 28 * 28,
    kernelElements: 9,
    winograd: true,
    fourier: false,
  };
  const curve = { ...perfect, winograd: undefined, transforms: 1, fourier: undefined };

  // F(4×4, 3×3): 9 · 16 products for 36. Tiles of 32 × 32 for 5 × 5: 2 · 25 · 28² for 8 · 32 · 17.
  test.each([
    [true, false, 9, 4],
    [false, false, 9, 1],
    [false, true, 25, (2 * 25 * 28 * 28) / (8 * 32 * 17)],
    [false, true, 31 * 31, (2 * 31 * 31 * 4) / (8 * 32 * 17)],
    [false, true, 32 * 32, 1],
  ])(
    'transforms (Winograd %s, Fourier %s) of %i elements save a factor of %f',
    (winograd, fourier, kernelElements, saved) => {
      expect(savedByTransforms({ ...shape, winograd, fourier, kernelElements })).toBeCloseTo(saved, 12);
    },
  );

  test('forward is the matmul of images · positions by filters by channels · kernel elements', () => {
    const matmul = { batch: 1, m: 64 * 28 * 28, n: 128, k: 128 * 9 };
    expect(convolutionTime(rates, curve, shape, 0).time).toBe(gemmTime(rates, perfect, matmul, 0).time);
  });

  test('the gradient of images is a matmul over positions, its rows added where windows lie', () => {
    const images = { ...shape, pass: 'data', channels: 3, winograd: false } as const;
    const matmul = { batch: 1, m: 64 * 28 * 28, n: 3 * 9, k: 128 };
    const vector = { ...curve, winograd: [] };
    expect(convolutionTime(rates, vector, images, 0).time).toBe(gemmTime(rates, perfect, matmul, 0).time);
    expect(convolutionTime(rates, curve, images, 0).time).toBeGreaterThan(
      convolutionTime(rates, vector, images, 0).time,
    );
  });

  test('Winograd F(4×4, 3×3) needs a quarter of the multiply-adds', () => {
    const direct = convolutionTime(rates, curve, { ...shape, positions: 32 * 32, spatialSize: 32 * 32 }, 0);
    const winograd = convolutionTime(
      rates,
      { ...curve, winograd: [[4, 1]] },
      { ...shape, positions: 32 * 32, spatialSize: 32 * 32 },
      0,
    );
    expect(direct.time / winograd.time).toBeGreaterThan(3.9);
    expect(direct.time / winograd.time).toBeLessThan(4.4);
  });

  test('a strided data gradient does the work of its forward pass', () => {
    const strided = { ...shape, winograd: false, positions: 14 * 14 };
    const forward = convolutionTime(rates, curve, strided, 0).time;
    const data = convolutionTime(rates, curve, { ...strided, pass: 'data' }, 0).time;
    expect(data / forward).toBeGreaterThan(0.9);
    expect(data / forward).toBeLessThan(1.3);
  });
});

describe('images in the other layout', () => {
  const [rates] = [{ multiprocessors: 80, peak: 1e14, bandwidth: 1e12 }];
  const [images, channels, filters, spatialSize, positions] = [8, 64, 256, 56 * 56, 28 * 28];
  const shape = {
    kind: 'convolution',
    images,
    channels,
    filters,
    groups: 1,
    spatialSize,
    positions,
    kernelElements: 1,
  } as const;
  const curve = {
    tiles: [[128, 128, 1]],
    memory: 1,
    depth: 0,
    winograd: undefined,
    transforms: 1,
    fourier: undefined,
  } as const;
  const [input, output] = [images * channels * spatialSize, images * filters * positions];

  test.each([
    ['forward', 'read', input],
    ['data', 'read', output],
    ['weight', 'read', input + output],
    ['forward', 'all', input + output],
    ['data', 'all', input + output],
    ['weight', 'all', input + output],
  ] as const)(
    '%s transposes %s of its images: each element read and written once more',
    (pass, transposed, moved) => {
      const work: ConvolutionShape = { ...shape, pass, winograd: false, fourier: false };
      const more =
        convolutionTime(rates, curve, work, 2, transposed).time - convolutionTime(rates, curve, work, 2).time;
      const pure = (2 * 2 * moved) / rates.bandwidth;
      // At 0.38 of the bandwidth, by three launches of 2 µs, where no kernel of the convolution does a part of it.
      expect(more).toBeCloseTo(transposed === 'all' ? pure / 0.38 + 6e-6 : pure, 9);
    },
  );

  test.each([
    ['v100-sxm2-16gb', 'fp16', 'forward', 'read'],
    ['t4', 'fp16', 'data', 'read'],
    ['a100-sxm-80gb', 'fp16', 'forward', 'all'],
    ['a100-sxm-80gb', 'tf32', 'forward', 'read'],
    ['a100-sxm-80gb', 'tf32', 'data', 'all'],
    ['v100-sxm2-16gb', 'fp32', 'forward', undefined],
  ] as const)('%s in %s, %s: what cuDNN transposes', (name, dtype, pass, expected) => {
    const gpu = findGpu(name);
    if (gpu === undefined) throw new Error(name);
    expect(transposedAround(gpu, computePath(gpu, dtype), pass)).toBe(expected);
  });
});

describe('kernels over rows', () => {
  const curve = {
    shares: [
      [1024, 0.8],
      [4096, 0.4],
    ] as const,
  };
  test.each([
    [undefined, 0.8],
    [512, 0.8],
    [1024, 0.8],
    [2048, 0.6],
    [4096, 0.4],
    [100_000, 0.4],
  ])('rows of %s entries reach %s of the bandwidth', (columns, share) => {
    expect(rowCurveTime(1e12, curve, 1e9, columns)).toBeCloseTo(1e9 / (1e12 * share), 12);
  });
});

describe('curves', () => {
  test('every GPU has curves, near or far; CPUs have none', () => {
    for (const gpu of builtInGpus) {
      expect(curvesOf(gpu).matmul.vector.nn === undefined, gpu.name).toBe(gpu.architecture === 'cpu');
    }
  });

  test.each([
    ['a100-sxm-80gb', 'a100-sxm-80gb', 'measured'],
    ['a100-sxm-40gb', 'a100-sxm-80gb', 'architecture'],
    ['rtx-3090', 'a40', 'architecture'],
    ['rtx-2080-ti', 't4', 'architecture'],
    ['h100-pcie', 'h100-sxm', 'architecture'],
    ['h200-sxm', 'h200-sxm', 'measured'],
    ['b200', 'b200', 'measured'],
    ['gb200', 'gb200', 'measured'],
    ['rtx-4090', 'l40s', 'architecture'],
    ['mi300x', 'h100-sxm', 'generation'],
  ])('tensor matmuls on %s follow %s (%s)', (name, from, nearness) => {
    const gpu = findGpu(name);
    const curve = gpu && curvesOf(gpu).matmul.tensor.tn;
    expect([curve?.gpu, curve?.nearness]).toEqual([from, nearness]);
  });

  test.each([
    ['h200-sxm', 'h200-sxm'],
    ['b200', 'h100-sxm'],
    ['gb200', 'h100-sxm'],
    ['a40', undefined],
    ['l40s', undefined],
  ])('matmuls of %s in a step are stretched as those of %s', (curve, from) => {
    expect(sustainedMatmuls(curve)?.gpu).toBe(from);
  });
});

test.each([1, 8])(
  '%s matmuls at once take as much longer in a step: a GPU of one limit of power runs both',
  (batch) => {
    const gpu = findGpu('h100-sxm');
    if (gpu === undefined) throw new Error('h100-sxm');
    const side = 4096;
    const work: KernelWork = {
      ...matmulWork({ layout: 'tn', batch, m: side, n: side, k: side }, 'bf16'),
      launches: 0,
    };
    const inStep = kernelTime(gpu, { ...work, environment: { layout: 'channels-first', mixed: true } });
    expect(inStep.time / kernelTime(gpu, work).time).toBeCloseTo(
      sustainedMatmuls('h100-sxm')?.factor ?? 0,
      9,
    );
  },
);

test('matmuls follow the curve of their layout; where a GPU has one alone, that of the other', () => {
  const rowsOf = (name: string, unit: 'vector' | 'tensor', layout: 'tn' | 'nn'): unknown => {
    const gpu = findGpu(name);
    const curve = gpu && curvesOf(gpu).matmul[unit][layout];
    return [curve?.gpu, curve?.rows];
  };
  expect(rowsOf('gtx-1080-ti', 'vector', 'nn')).toEqual(['gtx-1080-ti', 87]);
  expect(rowsOf('gtx-1080-ti', 'vector', 'tn')).toEqual(['gtx-1080-ti', 73]);
  expect(rowsOf('a100-sxm-80gb', 'tensor', 'nn')).toEqual(rowsOf('a100-sxm-80gb', 'tensor', 'tn'));
});

test('single matmuls follow curves of single ones, batched matmuls those of batched ones, whatever their layout', () => {
  const gpu = findGpu('a100-pcie-80gb');
  if (gpu === undefined) throw new Error('no profile');
  const { matmul, batchedMatmul } = curvesOf(gpu);
  expect(matmul.vector.nn?.curve).toEqual(matmul.vector.tn?.curve);
  expect(batchedMatmul.vector.tn?.curve).toEqual(batchedMatmul.vector.nn?.curve);
  expect(matmul.vector.nn?.curve).not.toEqual(batchedMatmul.vector.nn?.curve);
});

describe('what holds for every matmul', () => {
  const sizes: fc.Arbitrary<MatmulSizes> = fc.record({
    batch: fc.integer({ min: 1, max: 256 }),
    m: fc.integer({ min: 1, max: 10_000 }),
    n: fc.integer({ min: 1, max: 10_000 }),
    k: fc.integer({ min: 1, max: 10_000 }),
  });
  const curves = ['v100-sxm2-16gb', 't4', 'h100-sxm', 'p4'].flatMap((name) => {
    const gpu = findGpu(name);
    const curve = gpu && curvesOf(gpu).matmul.vector.nn?.curve;
    return curve === undefined ? [] : [curve];
  });
  const timeWith = (changed: Partial<Rates>, curve: MatmulCurve, shape: MatmulSizes): number =>
    gemmTime({ ...rates, ...changed }, curve, shape, operandBytes(shape, 4)).time;

  test('never below the roofline; faster memory or clocks never cost time; twice the clock at most halves it', () => {
    fc.assert(
      fc.property(sizes, fc.constantFrom(...curves), (shape, curve) => {
        const time = timeWith({}, curve, shape);
        const flops = 2 * shape.batch * shape.m * shape.n * shape.k;
        expect(time).toBeGreaterThanOrEqual(
          Math.max(flops / rates.peak, operandBytes(shape, 4) / rates.bandwidth) * (1 - 1e-9),
        );
        expect(timeWith({ bandwidth: 2e12 }, curve, shape)).toBeLessThanOrEqual(time);
        const faster = timeWith({ peak: 200e12 }, curve, shape);
        expect(faster).toBeLessThanOrEqual(time);
        expect(faster).toBeGreaterThanOrEqual((time / 2) * (1 - 1e-9));
      }),
    );
  });
});
