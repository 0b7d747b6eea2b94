/** Ticks are round numbers within the domain, scales keep order and ratios. */

import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import {
  binaryTicks,
  decadeTicks,
  linearScale,
  logScale,
  niceStep,
  niceTicks,
} from '../../server/src/charts/scales.ts';
import { efficiencyBounds } from '../../server/src/charts/scalingChart.ts';

describe('ticks', () => {
  test.each([
    [0, 1, 5, [0, 0.2, 0.4, 0.6, 0.8, 1]],
    [0, 38.3, 5, [0, 10, 20, 30]],
    [0.97, 1, 4, [0.97, 0.98, 0.99, 1]],
    [3, 3, 5, [3]],
  ])('from %d to %d, about %d', (low, high, count, expected) => {
    expect(niceTicks(low, high, count)).toEqual(expected);
  });

  test.each([
    [0.7, 1],
    [1, 1],
    [1.1, 2],
    [2.3, 5],
    [51, 100],
    [0.0012, 0.002],
  ])('a step of about %d is %d', (rough, step) => {
    expect(niceStep(rough)).toBe(step);
  });

  it('sizes are in binary units, and rates in decades', () => {
    expect(binaryTicks(3.4 * 2 ** 30, 4)).toEqual([0, 1, 2, 3].map((each) => each * 2 ** 30));
    expect(decadeTicks(0.5, 2000)).toEqual([1, 10, 100, 1000]);
    expect(decadeTicks(1, 100)).toEqual([1, 10, 100]);
    expect(decadeTicks(10, 100)).toEqual([10, 20, 50, 100]);
  });

  it('are few, in order and within the domain, whatever it is', () => {
    fc.assert(
      fc.property(
        fc.double({ min: -1e12, max: 1e12, noNaN: true }),
        fc.double({ min: 1e-9, max: 1e12, noNaN: true }),
        fc.integer({ min: 1, max: 10 }),
        (low, span, count) => {
          fc.pre(low + span > low + Math.abs(low) * 1e-6);
          const ticks = niceTicks(low, low + span, count);
          const slack = 1e-9 * (Math.abs(low) + span);
          expect(ticks.length).toBeLessThanOrEqual(count + 1);
          expect(ticks).toEqual(ticks.toSorted((one, other) => one - other));
          for (const tick of ticks) {
            expect(tick).toBeGreaterThanOrEqual(low - slack);
            expect(tick).toBeLessThanOrEqual(low + span + slack);
          }
        },
      ),
    );
  });
});

it('a scale maps ends to ends; equal differences or equal ratios are equally far', () => {
  const linear = linearScale([10, 20], [100, 0]);
  expect([10, 15, 20].map(linear.at)).toEqual([100, 50, 0]);
  const log = logScale([1, 100], [0, 10]);
  expect([1, 10, 100].map(log.at)).toEqual([0, 5, 10].map((each) => expect.closeTo(each, 9)));
});

describe('the axis of efficiency shows the differences there are', () => {
  test.each([
    [[1, 0.995, 0.99], 0.985, 1.0025],
    [[1, 0.9, 0.75], 0.6, 1.05],
    [[1, 0.34], 0, 1.1],
    [[1, 1.22], 0.9, 1.25],
    [[1, 1.05, 0.04], 0, 1.25],
  ])('%j', (values, floor, ceiling) => {
    expect(efficiencyBounds(values)).toEqual([expect.closeTo(floor, 6), expect.closeTo(ceiling, 6)]);
  });
});
