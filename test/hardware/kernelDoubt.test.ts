import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { findGpu } from '../../server/src/hardware/gpus.ts';
import { stepDoubts, stepWidth } from '../../server/src/hardware/kernelDoubt.ts';
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
    ['v100-pcie-32gb', copy, 'measured'],
    // Another board of the same die.
    ['v100-sxm2-16gb', copy, 'measured'],
    ['a100-sxm-40gb', copy, 'measured'],
    ['rtx-3090', { ...copy, environment: mixed }, 'steps'],
    ['a10', { ...copy, environment: mixed }, 'architecture'],
    ['rtx-4090', { ...copy, environment: mixed }, 'generation'],
    ['mi210', copy, 'generation'],
    ['v100-pcie-32gb', { ...copy, class: 'pooling' } as const, 'roofline'],
  ])('on %s', (name, work, cause) => {
    const gpu = findGpu(name);
    if (gpu === undefined) throw new Error(name);
    expect(kernelTime(gpu, work).doubt.cause).toBe(cause);
  });
});

describe('the half-width of a step', () => {
  test('the less alike the GPU is on which kernels were measured, the more doubtful they are', () => {
    const { always, measured, architecture, generation } = stepDoubts;
    expect([always, measured, architecture, generation]).toEqual(
      [always, measured, architecture, generation].toSorted((a, b) => a - b),
    );
  });

  test('causes add as squares', () => {
    expect(
      stepWidth(
        { own: 0.03, other: 0.04, roofline: 0.12, launches: 0.5 },
        { always: 0, measured: 0, architecture: 0, generation: 0, launches: 0.168 },
      ),
    ).toBeCloseTo(Math.sqrt(0.03 ** 2 + 0.04 ** 2 + 0.12 ** 2 + 0.084 ** 2), 12);
  });

  const part = fc.double({ min: 0, max: 2, noNaN: true });
  test('no cause makes it narrower, and none makes it wider than all added up', () => {
    fc.assert(
      fc.property(
        part,
        part,
        part,
        fc.double({ min: 0, max: 1, noNaN: true }),
        (own, other, roofline, launches) => {
          const width = stepWidth({ own, other, roofline, launches });
          const most = stepDoubts.always + own + other + roofline + stepDoubts.launches * launches;
          expect(width).toBeGreaterThanOrEqual(
            Math.max(stepDoubts.always, own, other, roofline) * (1 - 1e-12),
          );
          expect(width).toBeLessThanOrEqual(most * (1 + 1e-12));
        },
      ),
    );
  });
});
