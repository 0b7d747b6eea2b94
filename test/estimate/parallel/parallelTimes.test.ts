/**
 * Steps of pipelines whose stages are all alike, by the closed forms of the literature in the times of one stage; and what the last
 * pass, messages between stages and weights that are shared add.
 */

import { describe, expect, test } from 'vitest';
import type { LaidOutStep } from '../../../server/src/estimate/parallel/laidOutStep.ts';
import type { ParallelPlan, StagePlan } from '../../../server/src/estimate/parallel/parallelPlan.ts';
import {
  hostTimeOf,
  type ParallelTimes,
  parallelTimes,
  stepsOfRank,
  surerStages,
} from '../../../server/src/estimate/parallel/parallelTimes.ts';
import type { StageTimes } from '../../../server/src/estimate/parallel/rankTimes.ts';
import { transferTime } from '../../../server/src/estimate/parallel/transferTime.ts';
import { timesOf } from '../../../server/src/estimate/plan/plannedTimes.ts';
import type { PipelineScheduleName, ScenarioRequest } from '../../../server/src/model/scenario.ts';
import { bytes, seconds } from '../../../server/src/model/units.ts';
import { laidOutStep } from '../../support/laidOutStep.ts';

const spec = `
inputs: { x: "float32[batch, 4096]" }
blocks:
  part:
    - up: Linear(4096)
    - act: GELU()
    - down: Linear(4096)
layers:
  - h: part() * 8
`;
const asked: ScenarioRequest = {
  ...{ cluster: 'dgx-h100', gpus: 4, batch: 2048, accumulate: 8, precision: 'bf16', optimizer: 'sgd' },
  framework: { name: 'pytorch-ddp', options: {} },
};
const laidOut = (parallel: ScenarioRequest['parallel'], request: ScenarioRequest = {}): LaidOutStep =>
  laidOutStep(spec, { ...asked, ...request, ...(parallel === undefined ? {} : { parallel }) });

const nothing = { middle: seconds(0), low: seconds(0), high: seconds(0) };
/** Each stage is the second of the model, which sends nothing to the next. */
function alike(
  { plan }: LaidOutStep,
  change: (stage: number) => Partial<StagePlan> = () => ({}),
): ParallelPlan {
  const second = plan.stages[1] ?? expect.fail('one stage');
  const { like: _, ...own } = second;
  return {
    ...plan,
    stages: plan.stages.map(({ rank, range }, stage) => ({
      ...own,
      ...{ rank, range, sent: bytes(0), sharedGradients: nothing },
      ...change(stage),
    })),
  };
}
const timed = (plan: ParallelPlan, { cluster }: LaidOutStep): ParallelTimes =>
  parallelTimes(plan, cluster, 'middle') ?? expect.fail('waits for itself');
const stageOf = ({ stages }: ParallelTimes, stage = 0): StageTimes =>
  stages[stage] ?? expect.fail('no stage');

describe('closed forms of like stages', () => {
  /** Ranks p, micro-batches m, chunks v; forward F and backward B of one stage. */
  type Form = (of: { p: number; m: number; v: number; f: number; b: number }) => number;
  // Narayanan et al., arXiv:2104.04473, section 2.2: a bubble of (p − 1)(F + B), with v chunks of (p − 1)(F + B) of one chunk.
  const oneByOne: Form = ({ p, m, v, f, b }) => (v * m + p - 1) * (f + b);
  test.each<[PipelineScheduleName, number, number, Form]>([
    ['gpipe', 4, 1, oneByOne],
    ['1f1b', 4, 1, oneByOne],
    ['1f1b', 2, 1, oneByOne],
    ['interleaved-1f1b', 4, 2, oneByOne],
    ['interleaved-1f1b', 2, 4, oneByOne],
    ['looped-bfs', 4, 2, oneByOne],
  ])('%s on %i ranks with %i chunks', (schedule, pipeline, chunks, form) => {
    const step = laidOut({ pipeline, schedule, chunks, stages: 'uniform' }, { gpus: pipeline });
    const times = timed(alike(step), step);
    const { forward: f, backward: b, rest } = stageOf(times);
    const [p, m, v] = [pipeline, 8, chunks];
    // All stages of a rank are updated.
    expect(times.step / (form({ p, m, v, f, b }) + v * rest)).toBeCloseTo(1, 2);
    expect(times.timeline.ends).toHaveLength(pipeline);
  });

  // Qi et al., arXiv:2401.10241, table 2: the bubble of ZB-H1 is (p − 1)(F + B − 2W) where F, B − W and W are alike.
  test('zb-h1 lies between its own bubble and that of 1F1B', () => {
    const step = laidOut({ pipeline: 4, schedule: 'zb-h1', stages: 'uniform' });
    const times = timed(alike(step), step);
    const { forward: f, backward: b, weight: w, rest } = stageOf(times);
    expect(times.step).toBeGreaterThan((8 * (f + b) + 3 * (f + b - 2 * w) + rest) * (1 - 1e-9));
    expect(times.step).toBeLessThan(11 * (f + b) + rest - w);
    expect(w).toBeGreaterThan(0);
    expect(w).toBeLessThan(b);
  });
});

const two = laidOut({ pipeline: 2 }, { gpus: 2 });

describe('a stage', () => {
  test('has the times of a pass that is not the last, and what the last takes beyond', () => {
    const plan = alike(two);
    const own = stageOf(timed(plan, two));
    const [stage] = plan.stages;
    if (stage === undefined) throw new Error('no stage');
    // Eight passes, of which the last updates.
    const whole = timesOf(stage.plan, 'middle');
    expect(8 * (own.forward + own.backward) + own.rest).toBeCloseTo(whole.step, 9);
    expect(own.forward).toBeCloseTo(whole.forwardTime / 8, 9);
    expect(own.update).toBe(whole.updateTime);
    expect(own.update).toBeGreaterThan(0);
    expect(own.exchange).toBe(0);
  });

  test('that is like another has its times, whatever its plan', () => {
    const plan = alike(two, (stage) =>
      stage === 0 ? {} : { like: 0, sharedGradients: { ...nothing, middle: seconds(1) } },
    );
    const { stages } = timed(plan, two);
    expect(stages[1]).toBe(stages[0]);
    expect(stepsOfRank(plan, 1)).toEqual(stepsOfRank(plan, 0));
  });

  test('adds up gradients of weights that GPUs of a copy share, once, after the last backward', () => {
    const shared = { middle: seconds(0.5), low: seconds(0.25), high: seconds(1) };
    const plan = alike(two, (stage) => (stage === 1 ? { sharedGradients: shared } : {}));
    const [first, second] = timed(plan, two).stages;
    if (first === undefined || second === undefined) throw new Error('no stages');
    expect(second.rest - first.rest).toBeCloseTo(0.5, 9);
    expect([first.exchange, second.exchange]).toEqual([0, 0.5]);
    expect(second.update).toBe(first.update);
    const sent = (bound: 'low' | 'high') =>
      parallelTimes(plan, two.cluster, 'middle', bound)?.stages[1]?.exchange;
    expect([sent('low'), sent('high')]).toEqual([0.25, 1]);
    expect(parallelTimes(plan, two.cluster, 'high')?.stages[1]?.exchange).toBe(1);
  });

  test('takes more for kernels at their upper bound', () => {
    const plan = surerStages(alike(two));
    const of = (bound: 'low' | 'middle' | 'high') =>
      parallelTimes(plan, two.cluster, bound)?.stages[0]?.forward ?? Number.NaN;
    expect(of('low')).toBeLessThan(of('middle'));
    expect(of('middle')).toBeLessThan(of('high'));
  });
});

describe('the step', () => {
  test('ends with the rank that has its last update behind it', () => {
    const wait = { ...nothing, middle: seconds(3) };
    const [first, last] = [0, 1].map((late) =>
      timed(
        alike(two, (stage) => (stage === late ? { sharedGradients: wait } : {})),
        two,
      ),
    );
    const even = timed(alike(two), two);
    // The first rank ends last: the gradient of its last micro-batch comes from the second.
    expect([even.slowest, first?.slowest, last?.slowest]).toEqual([0, 0, 1]);
    expect((first?.step ?? 0) - even.step).toBeCloseTo(3, 9);
    const ends = even.timeline.ends;
    expect((last?.step ?? 0) - even.step).toBeCloseTo(3 - ((ends[0] ?? 0) - (ends[1] ?? 0)), 9);
  });

  test('of one rank has no schedule that others wait for', () => {
    const whole = laidOut({ tensor: 2 }, { gpus: 2 });
    const asWhole = timed(whole.plan, whole);
    for (const schedule of ['gpipe', 'zb-h1', 'zb-v'] as const) {
      const plan: ParallelPlan = { ...whole.plan, parallel: { ...whole.plan.parallel, schedule } };
      expect(timed(plan, whole).step).toBe(asWhole.step);
    }
    const [only] = whole.plan.stages;
    if (only === undefined) throw new Error('no stage');
    expect(asWhole.step).toBeCloseTo(timesOf(only.plan, 'middle').step + only.sharedGradients.middle, 12);
    expect(asWhole.slowest).toBe(0);
  });

  test('of one rank waits for gradients that its GPUs share', () => {
    const whole = laidOut({ tensor: 2 }, { gpus: 2 });
    const withShared = (time: number): number =>
      timed(
        {
          ...whole.plan,
          stages: whole.plan.stages.map((stage) => ({
            ...stage,
            sharedGradients: { ...nothing, middle: seconds(time) },
          })),
        },
        whole,
      ).step;
    expect(withShared(2) - withShared(0)).toBeCloseTo(2, 9);
  });

  test('of no stages is none', () => {
    expect(parallelTimes({ ...two.plan, stages: [] }, two.cluster, 'middle')).toBeUndefined();
  });
});

describe('messages between stages', () => {
  const size = bytes(1e9);
  const once = (step: LaidOutStep, crossesNodes: boolean, stages: readonly number[]) => {
    const plan = alike(step, (stage) => ({ sent: stages.includes(stage) ? size : bytes(0) }));
    const layout = { ...plan.layout, crossesNodes: plan.layout.crossesNodes.map(() => crossesNodes) };
    return timed({ ...plan, layout }, step).step - timed(alike(step), step).step;
  };

  test.each([
    ['inside a node', false],
    ['between nodes', true],
  ])('%s hold up a single micro-batch on its way there and back', (_, crossesNodes) => {
    const single = laidOut({ pipeline: 4 }, { accumulate: 1 });
    const time = transferTime(single.cluster, crossesNodes, size);
    expect(once(single, crossesNodes, [0, 1, 2]) / (3 * 2 * time)).toBeCloseTo(1, 9);
    expect(once(single, crossesNodes, [1]) / (2 * time)).toBeCloseTo(1, 9);
  });

  test('go from the rank of a stage to that of the next, also on the way up a V', () => {
    // Stages 0, 1 of ranks 0, 1, stages 2, 3 of ranks 1, 0: only the boundary of ranks 0 and 1 crosses nodes.
    const v = laidOut({ pipeline: 2, chunks: 2, schedule: 'zb-v' }, { gpus: 2, accumulate: 4 });
    expect(v.plan.stages.map(({ rank }) => rank)).toEqual([0, 1, 1, 0]);
    const crossing = (crossesNodes: readonly boolean[]): number => {
      const plan = alike(v, (stage) => ({ sent: stage === 2 ? size : bytes(0) }));
      return timed({ ...plan, layout: { ...plan.layout, crossesNodes } }, v).step;
    };
    const [near, far] = [crossing([false, false]), crossing([true, false])];
    expect(far).toBeGreaterThan(near);
    expect(crossing([false, true])).toBe(near);
  });
});

test('a rank waits for its host as long as its stages do', () => {
  const step = laidOut({ pipeline: 2, chunks: 2, schedule: 'interleaved-1f1b' }, { gpus: 2, batch: 1 });
  const steps = stepsOfRank(step.plan, 0);
  expect(steps).toHaveLength(2);
  expect(hostTimeOf(steps)).toBe((steps[0]?.hostTime ?? 0) + (steps[1]?.hostTime ?? 0));
  expect(hostTimeOf(steps)).toBeGreaterThan(0);
  const [stage] = step.plan.stages;
  if (stage === undefined) throw new Error('no stage');
  expect(steps[0]?.step).toBeCloseTo(timesOf(stage.plan, 'middle').step, 12);
});
