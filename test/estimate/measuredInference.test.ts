/** What a trace measured of backward is no part of inference; and the range of a step covers launches. */

import { expect, test } from 'vitest';
import { openLayerSpec } from '../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { stepDoubts } from '../../server/src/hardware/kernelDoubt.ts';
import type { LayerMeasurements } from '../../server/src/model/measurement.ts';
import type { ScenarioRequest } from '../../server/src/model/scenario.ts';
import type { StepCost } from '../../server/src/model/stepCost.ts';
import { seconds } from '../../server/src/model/units.ts';

const model = openLayerSpec(
  'inputs: { x: "float32[batch, 64]" }\nlayers:\n  - a: Linear(64)\n  - b: Linear(64)\n',
  'm.layers.yaml',
);

const costOf = (request: ScenarioRequest, measurements?: LayerMeasurements): StepCost => {
  const { cost } = estimateModel(model, [{ cluster: 'a100-sxm-80gb', ...request }], undefined, measurements);
  if (cost === undefined) throw new Error('no cost');
  return cost;
};

test('a measured step of inference is filled by forward alone', () => {
  const trace: LayerMeasurements = {
    origin: 'trace',
    layers: new Map([['a', { forward: seconds(1e-3), backward: seconds(5e-3) }]]),
    step: seconds(3e-3),
  };
  const { totals, layers } = costOf({ mode: 'inference' }, trace);
  expect(totals.time.step).toBeCloseTo(3e-3, 12);
  expect(layers.map(({ time }) => time.forward)).toEqual([
    expect.closeTo(1e-3, 12),
    expect.closeTo(2e-3, 12),
  ]);
  expect(layers.reduce((sum, { time }) => sum + (time.backward ?? 0), 0)).toBe(0);
});

// Eager PyTorch launches a kernel every 23 to 60 µs, 37 in the middle (eagerLaunch.ts). A number that a person gives has no range, so what is
// left is the doubt about any step.
test('the range of a step that waits for its host is that of launches', () => {
  const rangeOf = (options: Record<string, string>) => {
    const { range, step } = costOf({ framework: { name: 'pytorch-ddp', options } }).totals.time;
    return { low: (range?.low ?? 0) / (step ?? 1), high: (range?.high ?? 0) / (step ?? 1) };
  };
  expect(rangeOf({}).high).toBeGreaterThan(1.6);
  expect(rangeOf({}).low).toBeLessThan(0.65);
  const { low, high } = rangeOf({ 'launch-us': '100' });
  expect(Math.log(high)).toBeCloseTo(stepDoubts.always, 2);
  expect(Math.log(low)).toBeCloseTo(-stepDoubts.always, 2);
});
