import { expect, test } from 'vitest';
import { openLayerSpec } from '../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { givenStepRange } from '../../server/src/estimate/plan/givenStepRange.ts';
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
  const { low, high } = givenStepRange(8);
  expect(rangeOf(8)).toEqual([expect.closeTo(low, 2), expect.closeTo(high, 2)]);
});

test('it grows with the workers, upwards alone', () => {
  const ranges = [2, 4, 8, 64, 512].map((gpus) => givenStepRange(gpus));
  expect(new Set(ranges.map(({ low }) => low)).size).toBe(1);
  for (const [index, { high }] of ranges.slice(1).entries()) {
    expect(high).toBeGreaterThan(ranges[index]?.high ?? Number.NaN);
  }
});
