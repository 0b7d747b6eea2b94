/** A GPU that waits for its host: what is said of its kernels, and each form of advice. */

import { describe, expect, test } from 'vitest';
import { kernelsOf, kernelsText, launchBound } from '../../../server/src/estimate/findings/launchBound.ts';
import { timesOf } from '../../../server/src/estimate/plan/plannedTimes.ts';
import { recost } from '../../../server/src/estimate/recost.ts';
import type { ScenarioRequest } from '../../../server/src/model/scenario.ts';
import { seconds } from '../../../server/src/model/units.ts';
import { lasting, planOf, stepOf } from '../../support/estimatedStep.ts';

const asked: ScenarioRequest = {
  cluster: 'h100-sxm',
  gpus: 1,
  batch: 512,
  precision: 'bf16',
  optimizer: 'sgd',
};
/** Half of a second is waiting for the host. */
const waiting = (request: ScenarioRequest = {}, spec?: string) =>
  lasting(stepOf({ ...asked, ...request }, spec), { step: 1, hostTime: 0.5 });
const using = (name: string, options: Readonly<Record<string, string>>): ScenarioRequest => ({
  framework: { name, options },
});
const compile = 'ompile the model (compile=reduce-overhead) to launch fewer kernels';
const ofCompile = { kind: 'framework-option', name: 'compile', value: 'reduce-overhead' };
/** So slow that no batch within 64 times keeps the GPU busy. */
const slow = { 'launch-us': '5000' };

test('is said with its share, and with how many kernels of which length', () => {
  expect(launchBound(waiting())).toMatchObject([
    {
      code: 'findings/launch-bound',
      severity: 'information',
      layer: '',
      message: expect.stringMatching(
        /^The GPU waits for the host during 50 % of the step\. \d+ kernels with a mean of \S+ µs are launched every \S+ µs$/,
      ),
    },
  ]);
});

test('kernels are those of all passes and of the update, and what the host does with them', () => {
  const plan = planOf(asked);
  const { behaviour } = plan;
  const launch = { ...behaviour.launch, middle: seconds(37e-6) };
  expect(kernelsText(1228, seconds(6.78e-6), { ...plan, behaviour: { ...behaviour, launch } })).toBe(
    '1,228 kernels with a mean of 6.78 µs are launched every 37.0 µs',
  );
  const [training, inference] = [kernelsOf(plan), kernelsOf(planOf({ ...asked, mode: 'inference' }))];
  const sum = (...columns: readonly Float64Array[]): number =>
    columns.reduce((total, column) => total + column.reduce((part, each) => part + each, 0), 0);
  const { forward, backward } = plan.times;
  expect(training.launches).toBeCloseTo(
    sum(forward.launches, backward.launches, plan.updateTimes.launches),
    9,
  );
  expect(training.hostLaunches).toBeCloseTo(
    sum(forward.launches, backward.launches) + plan.updateTimes.hostLaunches,
    9,
  );
  expect(training.ofModel).toBeCloseTo(sum(forward.middle, backward.middle), 12);
  expect(training.ofUpdate).toBeCloseTo(sum(plan.updateTimes.middle), 12);
  // Kernels that compute nothing take a part of those that do.
  expect(training.floor).toBeGreaterThan(0);
  expect(training.floor).toBeLessThan(training.ofModel);
  expect(inference.launches).toBeLessThan(training.launches / 2);
});

test.each([
  [0.5, 1],
  [0.51, 0],
])('with a threshold of %f there are %i', (threshold, count) => {
  expect(launchBound(waiting({ thresholds: { 'launch-bound': threshold } }))).toHaveLength(count);
});

test('a step of no time waits for nothing', () => {
  expect(launchBound(lasting(waiting(), { step: 0, hostTime: 1 }))).toEqual([]);
});

describe('advises', () => {
  test('a batch at which the GPU waits no longer than is allowed, or to compile', () => {
    const step = waiting();
    const [finding] = launchBound(step);
    const batch = Number(/^Raise the batch per GPU to (\d+), or c/.exec(finding?.fix ?? '')?.[1]);
    expect(finding?.fix).toBe(`Raise the batch per GPU to ${batch}, or c${compile}`);
    expect(finding?.change).toEqual({ kind: 'batch', batch });
    const after = recost(step.plan, { batchPerGpu: batch }) ?? expect.fail('not costed');
    const times = timesOf(after, 'middle');
    // A fifth of the step where nobody says another.
    expect(times.hostTime / times.step).toBeLessThanOrEqual(0.2);
    const before = timesOf(step.plan, 'middle');
    expect(before.hostTime / before.step).toBeGreaterThan(0.2);
  });

  test('about a batch where the model fixes its own, which is no change of the scenario', () => {
    const fixed = 'inputs: { x: "float32[512, 1024]" }\nlayers:\n  - fc: Linear(1024) * 8\n';
    const [finding] = launchBound(waiting({}, fixed));
    expect(finding?.fix).toMatch(/^Raise the batch per GPU to about \d+, or compile the model/);
    expect(finding?.change).toEqual(ofCompile);
  });

  test.each<[string, ScenarioRequest, string, object | undefined]>([
    ['to compile', using('pytorch-ddp', slow), `C${compile}, or use a smaller GPU`, ofCompile],
    [
      'CUDA graphs of what is compiled',
      using('pytorch-ddp', { ...slow, compile: 'default' }),
      'Launch the kernels by CUDA graphs (compile=reduce-overhead), or use a smaller GPU',
      ofCompile,
    ],
    ['a smaller GPU where nothing is left to compile', using('mxnet', slow), 'Use a smaller GPU', undefined],
  ])('%s, where no batch is enough', (_, request, fix, change) => {
    const [finding] = launchBound(waiting({ batch: 1, ...request }));
    expect([finding?.fix, finding?.change]).toEqual([fix, change]);
  });

  test('a batch alone where nothing is left to compile', () => {
    const [finding] = launchBound(waiting({ ...using('mxnet', {}), precision: 'fp32' }));
    expect(finding?.fix).toMatch(/^Raise the batch per GPU to \d+$/);
    expect(finding?.change?.kind).toBe('batch');
  });
});
