/** Efficiency of steps whose times are given, in the words of the finding; and of those that nobody gave, by costing each. */

import { describe, expect, test } from 'vitest';
import { nodesFor } from '../../../server/src/communication/placement.ts';
import type { EstimatedStep } from '../../../server/src/estimate/findings/estimatedStep.ts';
import { lowEfficiency } from '../../../server/src/estimate/findings/lowEfficiency.ts';
import { timesAlone, timesOf } from '../../../server/src/estimate/plan/plannedTimes.ts';
import { planForGpus } from '../../../server/src/estimate/plan/planStep.ts';
import type { StepPlan } from '../../../server/src/estimate/plan/stepPlan.ts';
import { stepsByGpus } from '../../../server/src/estimate/stepsByGpus.ts';
import { formatPercent } from '../../../server/src/model/format.ts';
import type { ScenarioRequest } from '../../../server/src/model/scenario.ts';
import { seconds } from '../../../server/src/model/units.ts';
import { lasting, stepOf } from '../../support/estimatedStep.ts';

/** One GPU takes 1 s. `steps`: what fewer take. */
function given(
  step: number,
  steps: Readonly<Record<number, number>>,
  request: ScenarioRequest = {},
): EstimatedStep {
  const here = stepOf({ cluster: 'dgx-a100', gpus: 64, batch: 8, ...request });
  const known = stepsByGpus(here.plan);
  known.clear();
  for (const [gpus, time] of Object.entries(steps)) known.set(Number(gpus), time);
  return {
    ...lasting(here, { step, hostTime: timesAlone(here.plan, 'middle').hostTime }),
    alone: seconds(1),
  };
}
const said = (step: EstimatedStep): readonly string[] =>
  lowEfficiency(step).map(({ code, message, fix }) => `${code}: ${message} → ${fix}`);

const steps = { 32: 1.6, 16: 1.4, 8: 1.25, 4: 1.1, 2: 1.05 };
const hide = 'hide communication: the other findings say where time is lost';

describe('of 64 GPUs', () => {
  test.each<[string, () => EstimatedStep, readonly string[]]>([
    [
      'half of the time is lost: 8 have 1/1.25, and 16 only 1/1.4',
      () => given(2, steps),
      [
        `findings/low-efficiency: 64 GPUs do the work of 32: weak scaling efficiency is 50 %. 8 still have 80 % → Use at most 8 GPUs, or ${hide}`,
      ],
    ],
    [
      'two already lose more than is allowed',
      () => given(2, { 32: 1.9, 16: 1.8, 8: 1.7, 4: 1.6, 2: 1.5 }),
      [
        `findings/low-efficiency: 64 GPUs do the work of 32: weak scaling efficiency is 50 %. Two already have less than 75 % → Use one GPU, or ${hide}`,
      ],
    ],
    ['three quarters are enough', () => given(1 / 0.75, steps), []],
    [
      'a limit of a person, which half keeps',
      () => given(2, steps, { thresholds: { 'low-efficiency': 0.6 } }),
      [
        `findings/low-efficiency: 64 GPUs do the work of 32: weak scaling efficiency is 50 %. 32 still have 63 % → Use at most 32 GPUs, or ${hide}`,
      ],
    ],
    [
      'shares that round to the limit have a digit more',
      () => given(2, { ...steps, 32: 1 / 0.504 }, { thresholds: { 'low-efficiency': 0.503 } }),
      [
        `findings/low-efficiency: 64 GPUs do the work of 32: weak scaling efficiency is 50.0 %. 32 still have 50.4 % → Use at most 32 GPUs, or ${hide}`,
      ],
    ],
    // 64 / 10 = 6.4 is what 8 × 80 % do.
    [
      'as much work as 8',
      () => given(10, steps),
      [
        `findings/low-efficiency: 64 GPUs do the work of 6.4: weak scaling efficiency is 10 %. 8 still have 80 % → Use at most 8 GPUs, or ${hide}`,
      ],
    ],
    [
      'less work than 8',
      () => given(12.5, steps),
      [
        'findings/slower-than-fewer: The job is slower than on fewer GPUs: 64 do the work of 5.1, 8 that of 6.4. Weak scaling efficiency is 8.0 % → Use 8 GPUs, or reduce communication: see the other findings',
      ],
    ],
    [
      'less work than one',
      () => given(128, { 32: 100, 16: 80, 8: 60, 4: 40, 2: 20 }),
      [
        'findings/slower-than-fewer: The job is slower than on fewer GPUs: 64 do the work of 0.5, one that of 1. Weak scaling efficiency is 0.8 % → Use one GPU, or reduce communication: see the other findings',
      ],
    ],
  ])('%s', (_, step, expected) => {
    expect(said(step())).toEqual(expected);
  });

  test('the host takes more than half of what is lost', () => {
    const step = given(2, steps);
    const withHost = (longer: number): string =>
      lowEfficiency(lasting(step, { hostTime: step.timeline.hostTime + longer }))[0]?.fix ?? '';
    // 1 s is lost.
    expect(withHost(0.6)).toBe(
      'Use at most 8 GPUs, or launch fewer kernels: the GPU waits 600 ms longer for the host than a single GPU does',
    );
    expect(withHost(0.4)).toBe(`Use at most 8 GPUs, or ${hide}`);
  });

  test('the step that is costed is one of the steps of the job, where it is on as few nodes as they need', () => {
    const [here, spread] = [given(2, steps), given(2, steps, { gpus: 8, nodes: 4 })];
    lowEfficiency(here);
    expect(stepsByGpus(here.plan).get(64)).toBe(2);
    lowEfficiency(spread);
    expect(stepsByGpus(spread.plan).get(8)).toBe(1.25);
  });
});

test('two GPUs of which each does as much as a third', () => {
  const [found] = lowEfficiency(given(3, {}, { gpus: 2 }));
  expect(found?.message).toContain('2 do the work of 0.7, one that of 1. Weak scaling efficiency is 33 %');
});

test('halves of 24 GPUs are 12, 6, 3 and one', () => {
  // 3 still have 1/1.2 of one.
  const of24 = (three: number) => said(given(4, { 12: 3, 6: 2, 3: three }, { gpus: 24 }))[0];
  expect(of24(1.2)).toContain('24 GPUs do the work of 6: weak scaling efficiency is 25 %. 3 still have 83 %');
  expect(of24(1.5)).toContain('Two already have less than 75 %');
});

test.each<[string, () => EstimatedStep]>([
  ['one GPU', () => given(2, steps, { gpus: 1 })],
  ['inference', () => given(2, steps, { mode: 'inference' })],
  ['a step of no time', () => given(0, steps)],
  ['a step of one GPU that is not known', () => ({ ...given(2, steps), alone: null })],
])('nothing of %s', (_, step) => {
  expect(lowEfficiency(step())).toEqual([]);
});

const alone = (plan: StepPlan, isSharded: boolean): number =>
  timesAlone(isSharded ? { ...plan, wholeUpdateTimes: plan.updateTimes } : plan, 'middle').step;

const wide = (batch: number) => ({ cluster: 'dgx-1-v100', gpus: 64, batch, precision: 'fp32' as const });
const matrices =
  'inputs: { x: "float32[batch, 2048]" }\nlayers:\n  - fc: Linear(2048) * 8\n  - last: Linear(2048)\n';

/** Each number of GPUs is costed by itself here, where the finding halves. */
test.each<[string, ScenarioRequest]>([
  ['pytorch-ddp', wide(64)],
  ['pytorch-ddp', wide(512)],
  ['pytorch-ddp', wide(2048)],
  ['mxnet', wide(512)],
  ['pytorch-fsdp', wide(256)],
  ['pytorch-fsdp', wide(2048)],
  ['pytorch-ddp', { ...wide(1024), cluster: 'v100-infiniband' }],
  ['pytorch-ddp', { ...wide(512), gpus: 48 }],
  ['pytorch-fsdp', { ...wide(512), cluster: 'v100-infiniband', gpus: 12 }],
])('the most GPUs that are efficient, with %s %j', (name, request) => {
  const step = stepOf({ ...request, framework: { name, options: {} } }, matrices);
  const isSharded = name === 'pytorch-fsdp';
  stepsByGpus(step.plan).clear();
  const { gpus } = step.plan.scenario;
  const efficiency = (count: number): number => {
    if (count === 1) return 1;
    const there = planForGpus(step.plan, count);
    expect(there.scenario.nodes).toBe(nodesFor(step.plan.cluster, count));
    return alone(isSharded ? there : step.plan, isSharded) / timesOf(there, 'middle').step;
  };
  const here = alone(step.plan, isSharded) / step.timeline.step;
  const [finding] = lowEfficiency(step);
  if (here >= 0.75) return expect(finding).toBeUndefined();
  const halves = [1, 2, 3, 4, 5, 6].map((times) => Math.max(1, Math.floor(gpus / 2 ** times)));
  const most = halves.find((count) => efficiency(count) >= 0.75) ?? expect.fail();
  const work = (count: number, share: number): string => (Math.round(count * share * 10) / 10).toString();
  const base = (count: number): number => alone(planForGpus(step.plan, count), isSharded);
  const rate = (count: number, share: number): number => (count * share) / base(count);
  const isSlower = rate(most, efficiency(most)) > rate(gpus, here);
  expect(finding?.code).toBe(isSlower ? 'findings/slower-than-fewer' : 'findings/low-efficiency');
  if (isSlower) {
    const few = most === 1 ? 'one' : most;
    expect(finding?.message).toContain(
      `${gpus} do the work of ${work(gpus, here)}, ${few} that of ${work(most, efficiency(most))}.`,
    );
  } else {
    expect(finding?.message).toContain(`do the work of ${work(gpus, here)}: weak scaling efficiency`);
    expect(finding?.message.includes('of a GPU that updates its shard and waits')).toBe(isSharded);
    expect(finding?.message).toContain(
      most === 1
        ? 'Two already have less than 75 %'
        : `${most} still have ${formatPercent(efficiency(most))}`,
    );
  }
});
