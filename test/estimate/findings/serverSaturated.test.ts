/** A busy parameter server: how long it is at work, by intervals laid out by hand, and what is said of it. */

import { describe, expect, test } from 'vitest';
import type { EstimatedStep } from '../../../server/src/estimate/findings/estimatedStep.ts';
import { serverSaturated } from '../../../server/src/estimate/findings/serverSaturated.ts';
import type { ScenarioRequest } from '../../../server/src/model/scenario.ts';
import { seconds } from '../../../server/src/model/units.ts';
import { lasting, stepOf } from '../../support/estimatedStep.ts';

/** Four nodes of four GPUs; every message passes a server in one of its stages. */
const mxnet = (options: Readonly<Record<string, string>> = {}): EstimatedStep =>
  lasting(
    stepOf({
      ...{ cluster: 'k80-10gbe', gpus: 16, batch: 8, precision: 'fp32' },
      framework: { name: 'mxnet', options: { kvstore: 'dist_sync', ...options } },
    }),
    { step: 10, forwardTime: 1, backwardTime: 2, updateTime: 1 },
  );

type Interval = readonly [start: number, end: number];

/** Messages in their order: when the server works for each. */
function busyAt(step: EstimatedStep, intervals: readonly Interval[], share?: number): EstimatedStep {
  const [message] = step.plan.exchange.messages;
  if (message === undefined) throw new Error('nothing is sent');
  const stages = message.stages.map((stage) =>
    stage.operation.kind === 'server' && share !== undefined
      ? { ...stage, operation: { ...stage.operation, busiestShare: share } }
      : stage,
  );
  const isServer = stages.map(({ operation }) => operation.kind === 'server');
  expect(isServer).toContain(true);
  const { traffic, exchange } = step.plan;
  const [route] = traffic.routes;
  if (route === undefined) throw new Error('no route');
  const times = route.times.map((time) => ({ ...time, bound: 'server' as const }));
  return {
    ...step,
    plan: {
      ...step.plan,
      exchange: { ...exchange, messages: intervals.map(() => ({ ...message, stages })) },
      traffic: {
        ...{ channels: traffic.channels, slowing: traffic.slowing, serverTimes: traffic.serverTimes },
        ...{ messages: traffic.messages, stages: traffic.stages },
        routes: [{ ...route, stages, times }],
      },
    },
    timeline: {
      ...step.timeline,
      stageOf: (index) => {
        const [start, end] = intervals[index] ?? [Number.NaN, Number.NaN];
        return { channel: 0, start: seconds(start), end: seconds(end) };
      },
    },
  };
}

const messageOf = (step: EstimatedStep): string | undefined => serverSaturated(step)[0]?.message;

describe('time at work', () => {
  test.each<[string, readonly Interval[], string | undefined]>([
    [
      'one after another adds up',
      [
        [0, 4],
        [5, 9.5],
      ],
      '8.50 s, 85 %',
    ],
    [
      'what overlaps counts once',
      [
        [0, 5],
        [4, 9],
      ],
      '9.00 s, 90 %',
    ],
    [
      'what lies inside another adds nothing',
      [
        [0, 9],
        [2, 3],
        [8, 9.5],
      ],
      '9.50 s, 95 %',
    ],
    [
      'in whichever order they are sent',
      [
        [5, 9.5],
        [0, 4],
      ],
      '8.50 s, 85 %',
    ],
    [
      'from one end to the next',
      [
        [0, 4],
        [4, 8.5],
      ],
      '8.50 s, 85 %',
    ],
    ['no more than the step', [[0, 12]], '12.0 s, 100 %'],
    ['little is no finding', [[0, 4]], undefined],
    ['of nothing that is sent is none', [], undefined],
  ])('%s', (_, intervals, said) => {
    const message = messageOf(busyAt(mxnet(), intervals));
    if (said === undefined) expect(message).toBeUndefined();
    else
      expect(message).toContain(
        ` is busy for ${said} of the step, serving 4 nodes; GPUs compute for 4.00 s. `,
      );
  });
});

test('the threshold that a person sets decides, and a step that meets it', () => {
  const step = busyAt(mxnet(), [[0, 4]]);
  const allowed = (threshold: number): EstimatedStep => ({
    ...step,
    plan: {
      ...step.plan,
      scenario: { ...step.plan.scenario, thresholds: { 'server-saturated': threshold } },
    },
  });
  expect(serverSaturated(allowed(0.41))).toEqual([]);
  expect(serverSaturated(allowed(0.4))).toHaveLength(1);
});

describe('what it says', () => {
  // Four servers, one on each node. 4 s of computation for 9 s at the server that four nodes take.
  test('of bytes spread evenly: from how many nodes on, and how many servers keep up', () => {
    expect(serverSaturated(busyAt(mxnet(), [[0, 9]], 0.25))).toEqual([
      {
        code: 'findings/server-saturated',
        severity: 'warning',
        layer: '',
        // 4 s ÷ 9 s × 4 nodes: one node is served in time, two are not.
        message:
          'The busiest of 4 parameter servers is busy for 9.00 s, 90 % of the step, serving 4 nodes; GPUs compute for 4.00 s. From 2 nodes on it limits the step',
        // 4 servers × 9 s ÷ 4 s.
        fix: 'Use 9 servers or more, or use all-reduce (horovod)',
      },
    ]);
  });

  test.each([
    [0.25, false],
    [0.375, false],
    [0.376, true],
    [1, true],
  ])('of %f of the bytes on one of four', (share, isCrowded) => {
    const [finding] = serverSaturated(busyAt(mxnet(), [[0, 9]], share));
    expect(finding?.message.includes('of all bytes, because large tensors lie whole on one server')).toBe(
      isCrowded,
    );
    expect(finding?.fix.startsWith('Split large tensors over the servers (mxnet)')).toBe(isCrowded);
    if (share === 1) expect(finding?.message).toMatch(/\. It holds 100 % of all bytes/);
  });

  test('of one server, which one node keeps busy', () => {
    const step = busyAt(mxnet({ servers: '1', colocated: 'false' }), [[0, 9.9]], 1);
    const computing = lasting(step, { forwardTime: 0.5, backwardTime: 0.5, updateTime: 0.5 });
    const [finding] = serverSaturated(computing);
    // 1.5 s ÷ 9.9 s × 4 nodes.
    expect(finding?.message).toBe(
      'The only parameter server is busy for 9.90 s, 99 % of the step, serving 4 nodes; GPUs compute for 1.50 s. One node alone keeps it busy',
    );
    expect(finding?.fix).toBe('Use 7 servers or more, or use all-reduce (horovod)');
  });
});

test.each<[string, ScenarioRequest]>([
  ['all-reduce', { framework: { name: 'pytorch-ddp', options: {} } }],
  ['one GPU', { gpus: 1 }],
])('there are no servers: %s', (_, change) => {
  const step = stepOf({ cluster: 'k80-10gbe', gpus: 16, batch: 8, ...change });
  expect(serverSaturated(lasting(step, { step: 1e-9 }))).toEqual([]);
});

test('links of a server that nobody waits for are not its work', () => {
  const step = busyAt(mxnet(), [[0, 9]]);
  const { traffic } = step.plan;
  const routes = traffic.routes.map((route) => ({
    ...route,
    times: route.times.map((time) => ({ ...time, bound: 'network' as const })),
  }));
  expect(serverSaturated({ ...step, plan: { ...step.plan, traffic: { ...traffic, routes } } })).toEqual([]);
});
