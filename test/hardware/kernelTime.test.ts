import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { launchTimes, recurrentLaunchTimes } from '../../server/src/hardware/assumedShares.ts';
import type { GpuProfile } from '../../server/src/hardware/clusterProfile.ts';
import { computePath, ridge } from '../../server/src/hardware/computePath.ts';
import { curvesOf } from '../../server/src/hardware/curves.ts';
import efficiency from '../../server/src/hardware/efficiency.json';
import { findGpu } from '../../server/src/hardware/gpus.ts';
import { kernelTime } from '../../server/src/hardware/kernelTime.ts';
import type { KernelWork } from '../../server/src/hardware/kernelWork.ts';
import type { Dtype } from '../../server/src/model/dtype.ts';
import { bytes, bytesPerSecond, flops, flopsPerSecond } from '../../server/src/model/units.ts';

function gpu(name: string): GpuProfile {
  const found = findGpu(name);
  if (found === undefined) throw new Error(name);
  return found;
}

const matmul = (size: number, dtype: Dtype, bytesPerElement: number): KernelWork => ({
  class: 'matmul',
  dtype,
  flops: flops(2 * size ** 3),
  operations: 0,
  bytes: bytes(3 * size * size * bytesPerElement),
  launches: 1,
});

describe('time of a kernel', () => {
  test('a convolution whose output has no element takes the time of what it moves', () => {
    const work: KernelWork = {
      ...matmul(1, 'tf32', 4),
      class: 'convolution',
      flops: flops(0),
      bytes: bytes(2 ** 20),
      bytesPerElement: 4,
      matmuls: [
        {
          shape: {
            kind: 'convolution',
            pass: 'data',
            images: 64,
            channels: 256,
            filters: 1024,
            groups: 1,
            positions: 0,
            spatialSize: 0,
            kernelElements: 1,
            winograd: false,
            fourier: false,
          },
          count: 1,
        },
      ],
    };
    const { time, low, high } = kernelTime(gpu('h100-sxm'), work);
    for (const each of [time, low, high]) expect(each).toBeGreaterThan(0);
  });

  test('a large matmul is bound by compute: 2·8192³ FLOP at 312 TFLOP/s · 0.73, plus 2 µs', () => {
    const { time, bound } = kernelTime(gpu('a100-sxm-80gb'), matmul(8192, 'bf16', 2));
    expect(time).toBeCloseTo((2 * 8192 ** 3) / (312e12 * 0.73) + 2e-6, 9);
    expect(bound).toBe('compute');
  });

  test('an element-wise kernel is bound by memory: 1 GB at the share of 1935 GB/s that was measured, plus 2 µs', () => {
    const share = curvesOf(gpu('a100-pcie-80gb')).row.elementwise?.curve.shares[0]?.[1] ?? 0;
    expect(share).toBeGreaterThan(0.8);
    expect(share).toBeLessThan(0.95);
    const { time, bound, basis } = kernelTime(gpu('a100-pcie-80gb'), {
      class: 'elementwise',
      dtype: 'fp32',
      flops: flops(0),
      operations: 0.1e9,
      bytes: bytes(1e9),
      launches: 1,
    });
    expect(time).toBeCloseTo(1e9 / (1935e9 * share) + 2e-6, 9);
    expect(bound).toBe('memory');
    expect(basis).toBe('measured');
  });

  test('launches of recurrent layers are those of cuDNN, which wait for each other', () => {
    const steps = {
      class: 'recurrent',
      dtype: 'fp32',
      flops: flops(0),
      operations: 0,
      bytes: bytes(64),
    } as const;
    const more = (launches: number) => {
      const [few, many] = [1, 1 + launches].map((count) =>
        kernelTime(gpu('t4'), { ...steps, launches: count }),
      );
      return few && many && [many.low - few.low, many.time - few.time, many.high - few.high];
    };
    const { low, middle, high } = recurrentLaunchTimes;
    expect(more(10)).toEqual([low, middle, high].map((each) => expect.closeTo(10 * each, 12)));
    expect(middle).not.toBe(launchTimes.middle);
  });

  test('a tiny kernel is bound by its launch, and nothing costs nothing', () => {
    const tiny = { class: 'elementwise', dtype: 'fp32', flops: flops(0), operations: 4 } as const;
    expect(kernelTime(gpu('t4'), { ...tiny, bytes: bytes(32), launches: 1 }).bound).toBe('launch');
    // 2 µs of launch beside 0.5 MB at 320 GB/s, which take about as long: the longer one bounds.
    const boundOf = (size: number) => kernelTime(gpu('t4'), { ...tiny, bytes: bytes(size), launches: 1 });
    for (const size of [0.2e6, 0.4e6, 0.5e6, 0.6e6, 0.8e6, 1e6]) {
      const { time, bound } = boundOf(size);
      expect(bound, `${size} B`).toBe(2e-6 > time - 2e-6 ? 'launch' : 'memory');
    }
    expect(new Set([0.2e6, 1e6].map((size) => boundOf(size).bound)).size).toBe(2);
    expect(kernelTime(gpu('t4'), { ...tiny, operations: 0, bytes: bytes(0), launches: 0 }).time).toBe(0);
  });

  test.each([
    ['a100-sxm-80gb', 'bf16', 'bf16', 'tensor', 312e12],
    ['a100-sxm-80gb', 'fp8', 'bf16', 'tensor', 312e12],
    ['a100-sxm-80gb', 'fp32', 'fp32', 'vector', 19.5e12],
    ['v100-sxm2-16gb', 'bf16', 'fp32', 'vector', 15.7e12],
    ['v100-sxm2-16gb', 'tf32', 'fp32', 'vector', 15.7e12],
    ['v100-sxm2-16gb', 'fp16', 'fp16', 'tensor', 125e12],
    ['p100-sxm2', 'fp16', 'fp32', 'vector', 10.6e12],
    ['k80', 'fp8', 'fp32', 'vector', 4.37e12 * 0.82],
    ['h100-sxm', 'fp8', 'fp8', 'tensor', 1978.9e12],
    // Without sparsity (stas00/ml-engineering, compute/accelerator/README.md); what has no FP4 falls to bf16, as from fp8.
    ['b200', 'nvfp4', 'nvfp4', 'tensor', 9000e12],
    ['gb300', 'nvfp4', 'nvfp4', 'tensor', 15000e12],
    ['h100-sxm', 'nvfp4', 'bf16', 'tensor', 989.4e12],
    ['t4', 'fp16', 'fp16', 'tensor', 65e12 * 0.7],
  ] as const)('%s asked for %s computes in %s on %s cores', (name, requested, actual, unit, peak) => {
    const path = computePath(gpu(name), requested);
    expect([path.actual, path.unit]).toEqual([actual, unit]);
    expect(path.peak).toBeCloseTo(peak, -8);
  });

  test('the ridge of A100 SXM 80 GB in bf16 is 153 FLOP/B', () => {
    expect(ridge(gpu('a100-sxm-80gb'), 'bf16')).toBeCloseTo(312e12 / 2039e9, 6);
  });
});

describe('what holds for every kernel', () => {
  const kernel = fc.record({
    class: fc.constantFrom('matmul', 'convolution', 'normalization', 'elementwise', 'attention', 'embedding'),
    dtype: fc.constantFrom<Dtype>('fp32', 'tf32', 'fp16', 'bf16', 'fp8', 'nvfp4'),
    flops: fc.integer({ min: 0, max: 1e15 }).map(flops),
    operations: fc.integer({ min: 0, max: 1e12 }),
    bytes: fc.integer({ min: 0, max: 1e12 }).map(bytes),
    launches: fc.nat(1000),
  }) as fc.Arbitrary<KernelWork>;
  const names = fc.constantFrom('k80', 'v100-sxm2-16gb', 't4', 'a100-sxm-40gb', 'h100-sxm', 'rtx-4090');

  test('low ≤ time ≤ high, and time is at least the roofline', () => {
    fc.assert(
      fc.property(names, kernel, (name, work) => {
        const profile = gpu(name);
        const { time, low, high } = kernelTime(profile, work);
        const roof = Math.max(
          work.flops / computePath(profile, work.dtype).peak,
          work.bytes / profile.memoryBandwidth.value,
        );
        expect(low).toBeLessThanOrEqual(time);
        expect(time).toBeLessThanOrEqual(high);
        expect(low).toBeGreaterThanOrEqual(roof);
      }),
    );
  });

  test('twice the bandwidth or the peaks, half the bytes: never slower, and never less than half', () => {
    fc.assert(
      fc.property(names, kernel, (name, work) => {
        const profile = gpu(name);
        const { time } = kernelTime(profile, work);
        const { memoryBandwidth, peak } = profile;
        const wide = {
          ...profile,
          memoryBandwidth: { ...memoryBandwidth, value: bytesPerSecond(memoryBandwidth.value * 2) },
        };
        const fast = {
          ...wide,
          peak: new Map(
            [...peak].map(([key, entry]) => [key, { ...entry, value: flopsPerSecond(entry.value * 2) }]),
          ),
        };
        expect(kernelTime(wide, work).time).toBeLessThanOrEqual(time);
        expect(kernelTime(fast, work).time).toBeLessThanOrEqual(time);
        expect(kernelTime(fast, work).time).toBeGreaterThanOrEqual(time / 2);
        expect(kernelTime(profile, { ...work, bytes: bytes(work.bytes / 2) }).time).toBeLessThanOrEqual(time);
      }),
    );
  });

  test('every share is ordered, within reason, and says where it comes from', () => {
    const classes = { ...efficiency.classes, fusedAttention: efficiency.fusedAttention };
    for (const [name, entry] of Object.entries(classes)) {
      for (const [roof, { share, source }] of Object.entries(entry)) {
        const [middle = 0, low = 0, high = 0] = share;
        expect(low, `${name}.${roof}`).toBeGreaterThan(0);
        expect(low, `${name}.${roof}`).toBeLessThanOrEqual(middle);
        expect(middle, `${name}.${roof}`).toBeLessThanOrEqual(high);
        expect(high, `${name}.${roof}`).toBeLessThanOrEqual(1);
        expect(source.length, `${name}.${roof}`).toBeGreaterThan(5);
      }
    }
  });
});
