/** What of each message falls to the layers whose gradients it carries: by their share of its bytes. */

import { describe, expect, test } from 'vitest';
import { communicationByLayer, messageCosts } from '../../server/src/estimate/messageCosts.ts';
import { workerTimeline } from '../../server/src/estimate/plan/plannedTimes.ts';
import { type StepPlan, timeAtServers } from '../../server/src/estimate/plan/stepPlan.ts';
import type { Layer } from '../../server/src/model/graph.ts';
import type { ScenarioRequest } from '../../server/src/model/scenario.ts';
import type { MessageCost } from '../../server/src/model/stepCost.ts';
import { bytes, seconds } from '../../server/src/model/units.ts';
import { stepOf } from '../support/estimatedStep.ts';

const layers = ['a', 'b', 'c'].map((name): Layer => ({ name, type: 'Linear', ancestors: [], operators: [] }));

const message = (
  [time, exposed, slack]: readonly [number, number, number],
  shares: readonly (readonly [layer: number, size: number])[],
): MessageCost => ({
  bytes: bytes(100),
  time: seconds(time),
  exposed: seconds(exposed),
  slack: seconds(slack),
  layers: shares.map(([index, size]) => ({ index, bytes: bytes(size) })),
  readyAfter: 0,
  isAllReduce: true,
  description: 'ring',
});

test('a message of two layers is three parts of one and one of the other', () => {
  const messages = [
    message(
      [8, 4, 0.5],
      [
        [0, 75],
        [1, 25],
      ],
    ),
    message([3, 0, 0], [[1, 10]]),
    // One that carries nothing is nobody's, and so is a layer that is none of the model.
    message([100, 100, 0], [[2, 0]]),
    message([100, 100, 0], [[7, 10]]),
  ];
  expect(communicationByLayer(layers, messages)).toEqual([
    { time: 6, exposed: 3, slack: 0.5, note: 'message 1 of 4, ring, 500 ms to spare' },
    { time: 5, exposed: 1, slack: 0, note: 'message 1 of 4, ring, 500 ms to spare; message 2 of 4, ring' },
    { time: 0, exposed: 0, slack: Number.POSITIVE_INFINITY, note: undefined },
  ]);
  expect(communicationByLayer(layers, [])).toEqual(
    layers.map(() => ({ time: 0, exposed: 0, slack: Number.POSITIVE_INFINITY, note: undefined })),
  );
});

describe('a message as it is sent', () => {
  const asked: ScenarioRequest = { cluster: 'dgx-a100', gpus: 8, batch: 8, precision: 'bf16' };
  const costsOf = (change: ScenarioRequest, alter: (plan: StepPlan) => StepPlan = (plan) => plan) => {
    const step = stepOf({ ...asked, ...change });
    const plan = alter(step.plan);
    return { step, plan, costs: messageCosts(plan, step.timeline) };
  };
  /** Seconds of the stages of each message, one after another. */
  const routes = ({ traffic, exchange }: StepPlan): readonly number[] =>
    exchange.messages.map((_, at) => (traffic.stages[at] ?? []).reduce((total, { time }) => total + time, 0));
  const fsdp = { framework: { name: 'pytorch-fsdp', options: {} } };

  test('has its size, its route and what the timeline says of it', () => {
    const { step, plan, costs } = costsOf({});
    expect(costs).toHaveLength(plan.exchange.messages.length);
    expect(costs.map(({ bytes: size }) => size)).toEqual(plan.exchange.messages.map((each) => each.bytes));
    expect(costs.map(({ time }) => time)).toEqual(routes(plan));
    expect(costs.map(({ exposed, slack }) => [exposed, slack])).toEqual(
      step.timeline.messages.map(({ exposed, slack }) => [exposed, slack]),
    );
    expect(costs.every(({ isAllReduce }) => isAllReduce)).toBe(true);
  });

  test('takes its time in each pass, where each exchanges', () => {
    // DDP sends once in a step (`no_sync`), FSDP in each pass.
    const once = costsOf({ accumulate: 3 });
    expect(once.costs.map(({ time }) => time)).toEqual(routes(once.plan));
    const each = costsOf({ ...fsdp, accumulate: 3 });
    const isOfUpdate = each.plan.exchange.messages.map(({ after }) => after.pass === 'update');
    expect(each.costs.map(({ time }) => time)).toEqual(
      routes(each.plan).map((time, at) => (isOfUpdate[at] === true ? time : 3 * time)),
    );
    expect(each.costs.some(({ isAllReduce }) => !isAllReduce)).toBe(true);
  });

  test('of every fourth step makes a quarter of its time', () => {
    const { plan, costs } = costsOf({}, (own) => ({
      ...own,
      exchange: {
        ...own.exchange,
        messages: own.exchange.messages.map((each) => ({ ...each, everySteps: 4 })),
      },
    }));
    expect(costs.map(({ time }) => time)).toEqual(routes(plan).map((time) => time / 4));
  });

  test('waits in the queue of busy servers, each for its part', () => {
    const { plan, costs } = costsOf({
      ...{ cluster: 'k80-10gbe', gpus: 16, batch: 1, precision: 'fp32' },
      framework: { name: 'mxnet', options: { kvstore: 'dist_async' } },
    });
    const longer = costs.map(({ time }, at) => time - (routes(plan)[at] ?? Number.NaN));
    expect(Math.min(...longer)).toBeGreaterThan(0);
    const total = longer.reduce((sum, each) => sum + each, 0);
    const alone = workerTimeline(plan, 'middle').step;
    expect(total).toBeCloseTo(timeAtServers(plan) - alone, 9);
  });

  // Eight layers of 4 · (1024² + 1024) bytes: a bucket of 16 MiB is full with four, one of 1 MiB with one (reducer.cpp).
  test.each<[string, Readonly<Record<string, string>>, readonly (readonly [number, readonly number[]])[]]>([
    [
      'of buckets alike',
      { 'bucket-mb': '16', 'first-bucket-mb': '16' },
      [
        [4, [7, 6, 5, 4]],
        [0, [3, 2, 1, 0]],
      ],
    ],
    [
      'of a small first bucket',
      {},
      [
        [7, [7]],
        [0, [6, 5, 4, 3, 2, 1, 0]],
      ],
    ],
  ])('is ready after the layer whose gradient comes last: %s', (_, options, messages) => {
    const { costs } = costsOf({ framework: { name: 'pytorch-ddp', options } });
    expect(costs.map(({ readyAfter, layers: own }) => [readyAfter, own.map(({ index }) => index)])).toEqual(
      messages,
    );
    for (const { layers: own, bytes: all } of costs) {
      expect(own.map(({ bytes: each }) => each)).toEqual(own.map(() => 4 * (1024 ** 2 + 1024)));
      expect(all).toBe(own.length * 4 * (1024 ** 2 + 1024));
    }
  });
});
