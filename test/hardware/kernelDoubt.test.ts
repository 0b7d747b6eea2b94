import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { findGpu } from '../../server/src/hardware/gpus.ts';
import { kernelWidth, stepDoubts, stepWidth } from '../../server/src/hardware/kernelDoubt.ts';
import { kernelTime } from '../../server/src/hardware/kernelTime.ts';
import type { KernelWork } from '../../server/src/hardware/kernelWork.ts';
import { bytes, flops } from '../../server/src/model/units.ts';

const copy: KernelWork = {
  class: 'elementwise',
  dtype: 'fp32',
  flops: flops(0),
  operations: 0,
  bytes: bytes(1e9),
  launches: 1,
};
const mixed = { layout: 'channels-last', mixed: true } as const;

describe('what the time of a kernel rests on', () => {
  test.each([
    ['v100-pcie-32gb', copy, 'other', 'own'],
    // Another board of the same die.
    ['v100-sxm2-16gb', copy, 'other', 'own'],
    ['a100-sxm-40gb', copy, 'other', 'own'],
    ['rtx-3090', { ...copy, environment: mixed }, 'steps', 'own'],
    ['a10', { ...copy, environment: mixed }, 'other', 'architecture'],
    ['rtx-4090', { ...copy, environment: mixed }, 'steps', 'generation'],
    ['mi210', copy, 'other', 'generation'],
    ['v100-pcie-32gb', { ...copy, class: 'pooling' } as const, 'roofline', 'own'],
  ])('on %s', (name, work, cause, place) => {
    const gpu = findGpu(name);
    if (gpu === undefined) throw new Error(name);
    const { doubt } = kernelTime(gpu, work);
    expect([doubt.cause, doubt.place]).toEqual([cause, place]);
  });

  // Steps that were between 0.893 and 1.13 of what was predicted.
  test('corrections have the spread of their steps, on each side', () => {
    const seen = { low: -Math.log(0.893), high: Math.log(1.13) };
    expect(kernelWidth({ cause: 'steps', place: 'own', seen })).toEqual({
      low: expect.closeTo(0.1132, 4),
      high: expect.closeTo(0.1222, 4),
    });
    const { low } = kernelWidth(
      { cause: 'steps', place: 'generation', seen },
      { ...stepDoubts, generation: 0.2 },
    );
    expect(low).toBeCloseTo(Math.hypot(0.1132, 0.2), 4);
  });
});

describe('the half-width of a step', () => {
  test('the less alike the GPU is on which kernels were measured, the more doubtful they are', () => {
    expect(stepDoubts.generation).toBeGreaterThanOrEqual(stepDoubts.architecture);
  });

  test('causes add as squares', () => {
    const parts = {
      steps: { low: 0.03, high: 0.06 },
      matmul: 0.04,
      convolution: 0,
      other: 0.12,
      roofline: 0,
    };
    const doubts = { ...stepDoubts, always: 0, assumed: 0.3, framework: 0.1 };
    const { low, high } = stepWidth({ ...parts, assumed: 0.28, isOld: true }, doubts);
    expect(low).toBeCloseTo(Math.sqrt(0.03 ** 2 + 0.04 ** 2 + 0.12 ** 2 + 0.084 ** 2), 12);
    expect(high).toBeCloseTo(Math.sqrt(0.06 ** 2 + 0.04 ** 2 + 0.12 ** 2 + 0.084 ** 2 + 0.1 ** 2), 12);
  });

  const part = fc.double({ min: 0, max: 2, noNaN: true });
  test('no cause makes it narrower, and none makes it wider than all added up', () => {
    fc.assert(
      fc.property(fc.tuple(part, part, part, part, part, part), fc.boolean(), (sizes, isOld) => {
        const [step, matmul, convolution, other, roofline, assumed] = sizes;
        const parts = {
          steps: { low: step, high: step },
          matmul,
          convolution,
          other,
          roofline,
          assumed,
          isOld,
        };
        const { low, high } = stepWidth(parts);
        const part = stepDoubts.assumed * assumed;
        const most = stepDoubts.always + step + matmul + convolution + other + roofline + part;
        expect(low).toBeGreaterThanOrEqual(
          Math.max(stepDoubts.always, step, matmul, convolution, other, roofline, part) * (1 - 1e-12),
        );
        expect(low).toBeLessThanOrEqual(most * (1 + 1e-12));
        expect(high).toBeGreaterThanOrEqual(low);
        expect(high).toBeLessThanOrEqual((most + stepDoubts.framework) * (1 + 1e-12));
      }),
    );
  });
});
