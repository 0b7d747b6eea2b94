/** The work of one worker from columns that are given: what is scaled by what, in which order, and what waits. */

import { describe, expect, test } from 'vitest';
import type { GradientTimes } from '../../../server/src/estimate/plan/gradientTimes.ts';
import type { MeasuredWork } from '../../../server/src/estimate/plan/measuredWork.ts';
import type { PassTimes, UpdateTimes } from '../../../server/src/estimate/plan/operatorTimes.ts';
import {
  earlierPass,
  updateWaits,
  waitsOf,
  weightTime,
  withoutUpdated,
  workAlone,
  workOf,
} from '../../../server/src/estimate/plan/plannedWork.ts';
import type { StepPlan } from '../../../server/src/estimate/plan/stepPlan.ts';
import { type Estimate, estimateOf } from '../../../server/src/model/estimate.ts';
import { type Seconds, seconds } from '../../../server/src/model/units.ts';
import { messageColumns } from '../../../server/src/schedule/messageColumns.ts';
import { planOf } from '../../support/estimatedStep.ts';

const column = (...values: readonly number[]): Float64Array => Float64Array.from(values);

/** Half as long at the least and twice as long at the most. */
function passOf(middle: readonly number[], launches: readonly number[]): PassTimes {
  const none = new Float64Array(middle.length);
  return {
    middle: column(...middle),
    low: column(...middle.map((time) => time / 2)),
    high: column(...middle.map((time) => time * 2)),
    launches: column(...launches),
    ...{ compute: none, memory: none, launch: none, onOwn: none, onOther: none, onRoofline: none },
    ...{ doubtStepsLow: none, doubtStepsHigh: none, doubtMatmul: none, doubtConvolution: none },
    ...{ doubtOther: none, doubtRoofline: none, doubtAssumed: none, bytes: none },
  };
}
const update = (time: number, launches: number, more: Partial<UpdateTimes> = {}): UpdateTimes => ({
  ...passOf([time], [launches]),
  hostLaunches: 2 * launches,
  hostWaits: false,
  ...more,
});
const estimate = (middle: number): Estimate<Seconds> => ({
  middle: seconds(middle),
  low: seconds(middle / 2),
  high: seconds(middle * 2),
});

/** Two operators; a launch takes a second. */
function given(
  change: Partial<StepPlan> = {},
  behaviour: Partial<StepPlan['behaviour']> = {},
  cluster = 'dgx-a100',
) {
  const {
    gradientTimes: ___,
    ownGradientTimes: ____,
    ...plan
  } = planOf(
    { cluster, gpus: 4, batch: 8 },
    'inputs: { x: "float32[batch, 8]" }\nlayers:\n  - a: Linear(8)\n  - b: Linear(8)\n',
  );
  const { passWait: _, updateWait: __, ...others } = plan.behaviour;
  return {
    ...plan,
    behaviour: { ...others, launch: estimate(1), ...behaviour },
    times: {
      forward: passOf([10, 20], [1, 2]),
      backward: passOf([30, 50], [3, 5]),
      weight: { middle: column(4, 8), low: column(2, 4), high: column(8, 16), launches: column(1, 2) },
    },
    updateTimes: update(6, 3),
    wholeUpdateTimes: update(12, 4),
    ...change,
  };
}
const handled: GradientTimes = { last: passOf([1, 2], [1, 1]), earlier: passOf([3, 4], [2, 2]) };

const listed = ({ device, host }: { readonly device: Float64Array; readonly host: Float64Array }) => [
  [...device],
  [...host],
];

describe('a pass', () => {
  test('runs forward in the order of the graph and backward in the other', () => {
    const { forward, backward, update: last } = workOf(given(), 'middle');
    expect(listed(forward)).toEqual([
      [10, 20],
      [1, 2],
    ]);
    expect(listed(backward)).toEqual([
      [50, 30],
      [5, 3],
    ]);
    expect(last).toEqual({ device: 6, host: 6, launches: 3 });
  });

  test('has low and high times', () => {
    const low = workOf(given(), 'low');
    expect([listed(low.forward), listed(low.backward)]).toEqual([
      [
        [5, 10],
        [0.5, 1],
      ],
      [
        [25, 15],
        [2.5, 1.5],
      ],
    ]);
    expect(low.update).toEqual({ device: 3, host: 3, launches: 3 });
    expect(listed(workOf(given(), 'high').backward)).toEqual([
      [100, 60],
      [10, 6],
    ]);
  });

  test('of a larger batch has longer kernels of the model, as many launches, and the same update', () => {
    const { forward, backward, update: last } = workOf(given({ gradientTimes: handled }), 'middle', 3);
    expect(listed(forward)).toEqual([
      [30, 60],
      [1, 2],
    ]);
    // What is done with gradients does not grow.
    expect(listed(backward)).toEqual([
      [150 + 2, 90 + 1],
      [5 + 1, 3 + 1],
    ]);
    expect(last.device).toBe(6);
  });

  test('of the slowest worker takes all longer', () => {
    const {
      forward,
      backward,
      update: last,
    } = workOf(given({ imbalance: 2, gradientTimes: handled }), 'middle');
    expect(listed(forward)).toEqual([
      [20, 40],
      [2, 4],
    ]);
    expect(listed(backward)).toEqual([
      [104, 62],
      [12, 8],
    ]);
    expect(last).toEqual({ device: 12, host: 12, launches: 3 });
  });

  test('on processors of a host is slower, where the framework is', () => {
    const { forward, backward } = workOf(
      given({ gradientTimes: handled }, { slowdownOnCpus: 2 }, 'cpu-10gbe'),
      'middle',
    );
    expect(listed(forward)[0]).toEqual([20, 40]);
    expect(listed(backward)).toEqual([
      [104, 62],
      [6, 4],
    ]);
    expect(listed(workOf(given({}, {}, 'cpu-10gbe'), 'middle').forward)[0]).toEqual([10, 20]);
    expect(listed(workOf(given({}, { slowdownOnCpus: 2 }), 'middle').forward)[0]).toEqual([10, 20]);
  });

  test('of inference has no backward', () => {
    const plan = given();
    const { backward } = workOf({ ...plan, scenario: { ...plan.scenario, mode: 'inference' } }, 'middle');
    expect(listed(backward)).toEqual([[], []]);
  });

  test('sends what the plan does, and waits for it as the framework does', () => {
    const plan = given();
    const { messages, channels, slowing, hostWaits } = workOf(plan, 'middle', 1, 'high');
    expect(messages).toEqual(plan.traffic.messages('high'));
    expect(channels).toEqual(['first come']);
    expect(slowing).toEqual([0.75]);
    expect(hostWaits).toBe(false);
    const waiting = given({ exchange: { ...plan.exchange, hostWaits: true } });
    expect(workOf(waiting, 'middle').hostWaits).toBe(true);
    expect('input' in workOf(plan, 'middle')).toBe(false);
  });
});

describe('waits of the GPU', () => {
  const waits = { passWait: estimate(100), updateWait: estimate(10) };

  test('come before the first kernel of forward, and around each kernel of the update', () => {
    const { forward, update: last } = workOf(given({ imbalance: 2 }, waits), 'middle');
    expect(listed(forward)[1]).toEqual([2 + 200, 4]);
    // 6 s of kernels and 3 waits of 10 s, of the slowest.
    expect(last.device).toBe(72);
    expect(updateWaits(given({}, waits), update(1, 5))).toEqual({ middle: 50, low: 25, high: 100 });
  });

  test('are in each pass, and in the update once', () => {
    const plan = given({}, waits);
    expect(waitsOf(plan)).toEqual({ middle: 130, low: 65, high: 260 });
    expect(waitsOf({ ...plan, scenario: { ...plan.scenario, accumulate: 4 } }).middle).toBe(430);
  });

  test('are none where no GPU computes, or nothing is said of them', () => {
    const none = { middle: 0, low: 0, high: 0 };
    expect(waitsOf(given({}, waits, 'cpu-10gbe'))).toEqual(none);
    expect(waitsOf(given())).toEqual(none);
    expect(listed(workOf(given({}, waits, 'cpu-10gbe'), 'middle').forward)[1]).toEqual([1, 2]);
  });
});

describe('an update', () => {
  test('of the host takes its processors, for which the GPU waits', () => {
    const updateTimes = update(6, 3, { onHost: estimate(40), hostWaits: true });
    expect(workOf(given({ updateTimes }), 'low').update).toEqual({
      device: 20,
      host: 3,
      launches: 3,
      hostWaits: true,
    });
  });

  test('without a kernel is one piece', () => {
    expect(workOf(given({ updateTimes: update(0, 0) }), 'middle').update.launches).toBe(1);
  });
});

describe('a pass before the last', () => {
  const earlier = (plan: StepPlan) => earlierPass(plan, workOf(plan, 'middle'), 'middle');

  test('updates and sends nothing', () => {
    const { forward, backward, update: last, messages, channels } = earlier(given());
    expect(listed(forward)[0]).toEqual([10, 20]);
    expect(listed(backward)[0]).toEqual([50, 30]);
    expect(last).toEqual({ device: 0, host: 0 });
    expect([messages.count, channels]).toEqual([0, []]);
  });

  test('does with gradients what it does, of a larger batch too', () => {
    const plan = given({ gradientTimes: handled, imbalance: 2 });
    expect(listed(earlier(plan).backward)).toEqual([
      [2 * (50 + 4), 2 * (30 + 3)],
      [2 * (5 + 2), 2 * (3 + 2)],
    ]);
    const grown = earlierPass(plan, workOf(plan, 'middle', 3), 'middle', 3);
    expect(listed(grown.backward)[0]).toEqual([2 * (150 + 4), 2 * (90 + 3)]);
  });

  test('sends what shards need in each pass', () => {
    const plan = given();
    const { shards } = plan.exchange;
    const sharded = {
      ...plan,
      scenario: { ...plan.scenario, accumulate: 2 },
      exchange: { ...plan.exchange, shards: { ...shards, gradients: 4 } },
    };
    expect(earlier(sharded).messages).toEqual(plan.traffic.messages('middle'));
    expect(earlier(sharded).channels).toEqual(['first come']);
  });
});

test('what an update gives takes no time before it', () => {
  const stages = [
    { channel: 0, time: seconds(2) },
    { channel: 1, time: seconds(3) },
  ];
  const one = { before: 0, stepsLater: 0, priority: 0, stages, updateShare: 0 };
  // Of two operators the update is at 4.
  const messages = messageColumns([
    { ...one, after: 3 },
    { ...one, after: 4 },
  ]);
  expect([...withoutUpdated(messages, 2).time]).toEqual([2, 3, 0, 0]);
  expect(withoutUpdated(messages, 3)).toBe(messages);
});

describe('gradients of weights alone', () => {
  test.each([
    // 12 s of kernels, 3 launches.
    [1, {}, 12],
    // 3 launches of 20 s.
    [20, {}, 60],
    // 7 s and 4 launches more.
    [1, { gradientTimes: handled }, 19],
    [20, { gradientTimes: handled }, 140],
  ])('launched in %i s, with %o: %f s', (launch, change, time) => {
    expect(weightTime(given(change, { launch: estimate(launch) }), 'middle')).toBe(time);
    expect(weightTime(given({ ...change, imbalance: 3 }, { launch: estimate(launch) }), 'middle')).toBe(
      3 * time,
    );
  });

  test('have low times, and are slower on processors of a host', () => {
    expect(weightTime(given(), 'low')).toBe(6);
    expect(weightTime(given({}, { slowdownOnCpus: 4 }, 'cpu-10gbe'), 'middle')).toBe(48);
  });
});

describe('one GPU by itself', () => {
  test('updates all, sends nothing, and is as fast as any', () => {
    const {
      forward,
      update: last,
      messages,
      channels,
    } = workAlone(given({ imbalance: 2 }), 'middle', handled.last);
    expect(listed(forward)[0]).toEqual([10, 20]);
    expect(last).toEqual({ device: 12, host: 8, launches: 4 });
    expect([messages.count, channels]).toEqual([0, []]);
  });

  test('copies to its host what it copies', () => {
    const plan = given();
    const ownExchange = { exchange: { ...plan.exchange, hostWaits: true as const }, traffic: plan.traffic };
    const own = workAlone({ ...plan, ownExchange }, 'low', undefined);
    expect(own.messages).toEqual(plan.traffic.messages('low'));
    expect([own.channels, own.hostWaits]).toEqual([['first come'], true]);
  });
});

describe('a measured step', () => {
  const both = (...values: readonly number[]) => estimateOf(() => column(...values));
  const measured = (step?: Seconds): MeasuredWork => ({
    given: { origin: 'a file', layers: new Map(), ...(step === undefined ? {} : { step }) },
    forward: both(1, 2),
    backward: both(3, 4),
    update: estimateOf(() => seconds(5)),
  });

  test('is launched in no time, and a GPU updates its share', () => {
    const {
      forward,
      backward,
      update: last,
    } = workOf(given({ measured: measured(), imbalance: 2 }), 'middle');
    expect([listed(forward), listed(backward)]).toEqual([
      [
        [2, 4],
        [0, 0],
      ],
      [
        [8, 6],
        [0, 0],
      ],
    ]);
    // Half of what one GPU updates: 5 · 6/12, of the slowest.
    expect(last).toEqual({ device: 5, host: 0, launches: 3 });
  });

  test('where the host waits launches its update then', () => {
    const plan = given({ measured: measured() });
    const waiting = { ...plan, exchange: { ...plan.exchange, hostWaits: true as const } };
    expect(workOf(waiting, 'high').update.host).toBe(6);
  });

  test('of a model that updates nothing has its own update', () => {
    const plan = given({ measured: measured(), updateTimes: update(0, 0), wholeUpdateTimes: update(0, 0) });
    expect(workOf(plan, 'middle').update.device).toBe(5);
  });

  test('as a whole may take less or longer on several GPUs, and its layers may not', () => {
    const low = (step?: Seconds): number =>
      workOf(given({ measured: measured(step) }), 'low').forward.device[0] ?? Number.NaN;
    const high = (step?: Seconds): number =>
      workOf(given({ measured: measured(step) }), 'high').forward.device[0] ?? Number.NaN;
    expect([low(), high()]).toEqual([1, 1]);
    expect(low(seconds(10))).toBeLessThan(1);
    expect(high(seconds(10))).toBeGreaterThan(1);
  });

  test('has no launches and no gradients in a pass before the last', () => {
    const plan = given({ measured: measured(), gradientTimes: handled });
    expect(listed(earlierPass(plan, workOf(plan, 'middle'), 'middle').backward)).toEqual([
      [4, 3],
      [0, 0],
    ]);
  });
});
