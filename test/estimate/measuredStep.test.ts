/** What is said of a measured step: what it is taken for, and that it cannot be. */

import { expect, test } from 'vitest';
import { openLayerSpec } from '../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import type { ScenarioRequest } from '../../server/src/model/scenario.ts';
import { seconds } from '../../server/src/model/units.ts';

// Forward and the gradient of the weight are 2 · 2 · 4096 · 8192² FLOPs: 3.524 ms at the 312 TFLOP/s of an A100 in bf16.
const text = `inputs: { x: "float32[4096, 8192]" }\nlayers:\n  - l: Linear(8192, bias=False)\n`;
const opened = openLayerSpec(text, 'one');

test.each([
  ['training', 0.1, ['The measured layers take 300 ms, more than the measured step of 100 ms']],
  ['training', 0.3, []],
  ['inference', 0.1, []],
  ['inference', 0.09, ['The measured layers take 100 ms, more than the measured step of 90.0 ms']],
] as const)('measured layers of 100 and 200 ms in %s, in a step of %f s', (mode, step, expected) => {
  const layers = new Map([['l', { forward: seconds(0.1), backward: seconds(0.2) }]]);
  const { issues } = estimateModel(
    opened,
    [{ cluster: 'dgx-a100', gpus: 1, precision: 'bf16', mode, measuredStep: seconds(step) }],
    undefined,
    { origin: 'a trace', layers },
  );
  const said = issues.filter(({ code }) => code === 'scenario/measured-step').map(({ message }) => message);
  expect(said.map((message) => message.split(':')[0])).toEqual(expected);
});

const onePass = 'are taken as one pass and the update on one GPU without communication. The step adds';

test.each([
  [1, 1, 0.00353, []],
  [1, 1, 0.00352, ['is shorter than its matrix multiplications take at the peak of the GPU, 3.52 ms']],
  [8, 1, 0.5, [`The measured 500 ms ${onePass} what of communication is exposed`]],
  [1, 4, 0.5, [`The measured 500 ms ${onePass} 3 more passes`]],
  [8, 2, 0.5, [`The measured 500 ms ${onePass} 1 more pass and what of communication is exposed`]],
])('%i GPUs, %i passes, %f s', (gpus, accumulate, measured, expected) => {
  const { issues, cost } = estimateModel(opened, [
    { cluster: 'dgx-a100', gpus, accumulate, precision: 'bf16', measuredStep: seconds(measured) },
  ]);
  const said = issues.filter(({ code }) => code === 'scenario/measured-step').map(({ message }) => message);
  expect(said.length).toBe(expected.length);
  for (const [index, part] of expected.entries()) expect(said[index]).toContain(part);
  const added = (cost?.totals.time.step ?? Number.NaN) - measured;
  if (gpus * accumulate === 1) expect(added).toBeCloseTo(0, 12);
  else expect(added).toBeGreaterThan(1e-4);
});

// A shard of eight is updated in less than half of the time of the whole, and what is not measured fills in proportion to the prediction.
test.each([
  ['deepspeed-zero', { stage: '1' }, 0.01, 0.5],
  ['pytorch-ddp', {}, 0.9, 1.1],
])('of the update of a whole model, %s measured on one GPU takes its share', (name, options, least, most) => {
  const updateOf = (request: ScenarioRequest): number =>
    estimateModel(opened, [{ cluster: 'dgx-a100', precision: 'bf16', ...request }]).cost?.totals.time
      .update ?? expect.fail();
  const shareOf = (request: ScenarioRequest): number =>
    updateOf({ ...request, gpus: 8, framework: { name, options } }) / updateOf({ ...request, gpus: 1 });
  const measured = shareOf({ measuredStep: seconds(0.1) });
  expect(measured).toBeGreaterThan(least);
  expect(measured).toBeLessThan(most);
  expect(Math.abs(measured / shareOf({}) - 1)).toBeLessThan(0.1);
});
