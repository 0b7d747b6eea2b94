import { expect, test } from 'vitest';
import { openLayerSpec } from '../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { givenStepFactors } from '../../server/src/estimate/plan/givenStepFactors.ts';
import type { WorkersScenario } from '../../server/src/model/scenario.ts';
import { seconds } from '../../server/src/model/units.ts';

const opened = openLayerSpec(
  `inputs: { x: "float32[32, 64]" }\nlayers:\n  - l: Linear(64, bias=False)\n`,
  'one',
);

test('a given step has a range on several GPUs, and none on the GPU it was measured on', () => {
  const rangeOf = (gpus: number) => {
    const { cost } = estimateModel(opened, [{ cluster: 'dgx-a100', gpus, measuredStep: seconds(0.5) }]);
    const { step, range } = cost?.totals.time ?? {};
    return [(range?.low ?? 0) / (step ?? 1), (range?.high ?? 0) / (step ?? 1)];
  };
  expect(rangeOf(1)).toEqual([1, 1]);
  // Half a second of work beside 16 KiB of gradients: what messages add is nothing.
  const { low, middle, high } = givenStepFactors(8);
  expect(rangeOf(8)).toEqual([expect.closeTo(low / middle, 2), expect.closeTo(high / middle, 2)]);
});

test('workers that nothing is said of differ as others did, and as is said where something is', () => {
  const costOf = (workers?: WorkersScenario) =>
    estimateModel(opened, [
      {
        cluster: 'dgx-a100',
        gpus: 8,
        measuredStep: seconds(0.5),
        ...(workers === undefined ? {} : { workers }),
      },
    ]).cost;
  const { totals, findings = [] } = costOf() ?? {};
  expect(totals?.imbalance?.factor).toBeCloseTo(1 + 0.025 * 1.4236, 4);
  expect(totals?.time.step).toBeCloseTo(costOf({ spread: 0.025 })?.totals.time.step ?? 0, 9);
  expect(costOf({ spread: 0 })?.totals.imbalance).toBeUndefined();
  expect(findings.filter(({ code }) => code === 'findings/load-imbalance')).toEqual([]);
});

test('what several workers add grows with their number', () => {
  const factors = [1, 2, 4, 8, 64, 512].map((gpus) => givenStepFactors(gpus));
  expect(factors[0]).toEqual({ low: 1, middle: 1, high: 1 });
  // Of 8 normals the greatest is 1.4236 on average; runs differ by 0.013 besides, which adds up as squares do.
  const { low: least, high: most } = givenStepFactors(8);
  expect(Math.log(least)).toBeCloseTo(-0.013, 9);
  expect(Math.log(most) ** 2).toBeCloseTo(0.013 ** 2 + Math.log(1 + 0.245 * 1.4236) ** 2, 6);
  for (const [index, { low, middle, high }] of factors.slice(1).entries()) {
    expect(low).toBeLessThan(1);
    expect(middle).toBeGreaterThan(factors[index]?.middle ?? Number.NaN);
    expect(high).toBeGreaterThan(middle);
  }
});
