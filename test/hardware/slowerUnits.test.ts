import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { curvesOf } from '../../server/src/hardware/curves.ts';
import { findGpu } from '../../server/src/hardware/gpus.ts';
import { slowerUnit } from '../../server/src/hardware/slowerUnits.ts';

function unitOf(name: string, source: string) {
  const gpu = findGpu(name);
  if (gpu === undefined) throw new Error(name);
  return slowerUnit(gpu, source);
}

describe('shares on a unit of half the rate', () => {
  // A kernel that takes 1/0.8 of the unit's time waits a quarter of it elsewhere: 1/(2 + 0.25) of twice the rate.
  test.each([
    ['rtx-3090', 'a40', 0.8, 2 / 2.25],
    ['rtx-3090', 'a40', 0.5, 2 / 3],
    ['rtx-5090', 'rtx-pro-6000-server', 1, 1],
    // Of the 0.81 that the limit of power leaves L40S.
    ['rtx-4090', 'l40s', 0.81, 0.81],
    ['rtx-4090', 'l40s', 0.405, (0.81 * 2) / 3],
  ])('%s by %s: %s becomes %s', (name, source, measured, expected) => {
    expect(unitOf(name, source)?.share(measured)).toBeCloseTo(expected, 2);
  });

  test('what a tile takes besides its products takes as long as before', () => {
    const [depth, share] = [100, 0.6];
    const slower = unitOf('rtx-3090', 'a40');
    // Depth over rate and share is the time.
    expect((slower?.depth(depth, share) ?? 0) / (0.499 * (slower?.share(share) ?? 0))).toBeCloseTo(
      depth / share,
      0,
    );
  });

  test('a slower unit takes at most as much longer as it is slower, and never less', () => {
    fc.assert(
      fc.property(fc.double({ min: 0.01, max: 1, noNaN: true }), (measured) => {
        const reached = unitOf('rtx-3090', 'a40')?.share(measured) ?? 0;
        expect(reached).toBeGreaterThanOrEqual(measured);
        expect(reached * 0.499).toBeLessThanOrEqual(measured);
      }),
    );
  });

  test('boards of one rate differ by what their data sheets round', () => {
    expect(unitOf('rtx-a6000', 'a40')?.share(0.5) ?? 0.5).toBeCloseTo(0.5, 3);
  });

  test.each([
    ['a40', 'a40'],
    ['h100-sxm', 'a100-sxm-80gb'],
    ['mi300x', 'h100-sxm'],
  ])('%s by %s: the shares stay', (name, source) => {
    expect(unitOf(name, source)).toBeUndefined();
  });
});

test.each(['rtx-3090', 'rtx-4090', 'rtx-5090', 'rtx-2080-ti', 'a10g', 'l40'])(
  'products on %s reach more of the peak than where the curve was measured',
  (name) => {
    const gpu = findGpu(name);
    const calibrated = gpu && curvesOf(gpu).matmul.tensor.tn;
    const source = calibrated && findGpu(calibrated.gpu);
    const there = source && curvesOf(source).matmul.tensor.tn;
    if (calibrated === undefined || there === undefined) throw new Error(name);
    for (const [index, [, , share]] of calibrated.curve.tiles.entries()) {
      expect(share).toBeGreaterThan(there.curve.tiles[index]?.[2] ?? 1);
    }
    expect(calibrated.curve.depth).toBeLessThan(there.curve.depth);
  },
);
