/** What limits a step of 1 s, by what its messages take their time for. */

import { describe, expect, test } from 'vitest';
import type { OperationBound } from '../../server/src/communication/operationTime.ts';
import type { EstimatedStep } from '../../server/src/estimate/findings/estimatedStep.ts';
import { stepLimit } from '../../server/src/estimate/stepLimit.ts';
import { seconds } from '../../server/src/model/units.ts';
import { lasting, stepOf } from '../support/estimatedStep.ts';

type Stage = readonly [time: number, startup: number, bound: OperationBound];

/** Messages by how long they are waited for, and their stages. */
function sending(
  messages: readonly (readonly [exposed: number, stages: readonly Stage[]])[],
  slowed = 0,
): EstimatedStep {
  const step = lasting(stepOf({ cluster: 'dgx-a100', gpus: 8, batch: 8 }), {
    ...{ step: 1, forwardTime: 0.2, backwardTime: 0.3, updateTime: 0.1, hostTime: 0, exposedInputTime: 0 },
  });
  const [known] = step.plan.traffic.stages[0] ?? [];
  if (known === undefined) throw new Error('nothing is sent');
  const stages = messages.map(([, own]) =>
    own.map(([time, startup, bound]) => ({
      ...known,
      time: seconds(time),
      startup: seconds(startup),
      bound,
    })),
  );
  // Routes and messages are made when they are read.
  const { channels, slowing, routes, serverTimes, messages: columns } = step.plan.traffic;
  return {
    ...step,
    plan: {
      ...step.plan,
      traffic: { channels, slowing, routes, serverTimes, messages: columns, stages },
    },
    timeline: {
      ...step.timeline,
      exposed: Float64Array.from(messages, ([exposed]) => exposed),
      slowedTime: seconds(slowed),
    },
  };
}
const limitOf = ({ plan, timeline }: EstimatedStep) => {
  const { kind, share } = stepLimit(plan, timeline);
  return [kind, Number(share.toFixed(9))];
};

describe('messages', () => {
  test.each<[string, ReturnType<typeof sending>, readonly [string, number]]>(
    (
      [
        // 0.4 s of 2 s are waited for: a fifth of each part.
        ['bytes', [[0.4, [[2, 0.5, 'network']]]], ['communication', 0.3]],
        ['start-ups', [[0.4, [[2, 1.5, 'network']]]], ['latency', 0.3]],
        ['servers', [[0.4, [[2, 0.5, 'server']]]], ['server', 0.3]],
        // 1.2 of 2 s at servers.
        [
          'stages together',
          [
            [
              0.4,
              [
                [0.8, 0, 'network'],
                [1.2, 0, 'server'],
              ],
            ],
          ],
          ['server', 0.24],
        ],
        [
          'several add up',
          [
            [0.2, [[1, 0, 'link']]],
            [0.1, [[1, 0, 'network']]],
            [0.25, [[1, 1, 'start-up']]],
          ],
          ['communication', 0.3],
        ],
        ['hidden messages count for nothing', [[0, [[5, 0, 'network']]]], ['compute', 1]],
        ['nor do those of no time', [[0.4, [[0, 0, 'none']]]], ['compute', 1]],
      ] as const
    ).map(([name, messages, limit]) => [name, sending(messages), limit]),
  )('%s', (_, step, limit) => {
    expect(limitOf(step)).toEqual(limit);
  });

  test('what is computed beside them is slowed by bytes', () => {
    expect(limitOf(sending([[0.1, [[1, 0, 'network']]]], 0.2))).toEqual(['communication', 0.3]);
  });
});

describe('other parts', () => {
  test('the largest is the limit', () => {
    const step = sending([[0.2, [[1, 0, 'network']]]]);
    expect(limitOf(lasting(step, { hostTime: 0.25 }))).toEqual(['host', 0.25]);
    expect(limitOf(lasting(step, { exposedInputTime: 0.21 }))).toEqual(['input', 0.21]);
    expect(limitOf(lasting(step, { exposedInputTime: 0.2 }))).toEqual(['input', 0.2]);
  });

  test('of the slowest worker is what it computes longer than the mean', () => {
    const step = sending([]);
    const slow = (imbalance: number, hostTime = 0) =>
      limitOf(lasting({ ...step, plan: { ...step.plan, imbalance } }, { hostTime }));
    // A third of 0.6 s; of what the GPU waits for its host nothing.
    expect(slow(1.5)).toEqual(['imbalance', 0.2]);
    expect(slow(1.5, 0.12)).toEqual(['imbalance', 0.16]);
    expect(slow(1)).toEqual(['compute', 1]);
  });

  test('less than a twentieth in all leaves computation, with the rest of the step', () => {
    const step = sending([[0.02, [[1, 0, 'network']]]]);
    expect(limitOf(lasting(step, { hostTime: 0.029 }))).toEqual(['compute', 0.951]);
    expect(limitOf(lasting(step, { hostTime: 0.031 }))).toEqual(['host', 0.031]);
  });

  test('a step of no time is computation', () => {
    expect(limitOf(lasting(sending([]), { step: 0, hostTime: 1 }))).toEqual(['compute', 1]);
  });
});
