/** Messages that are mostly start-up cost: sums over their routes, where the limits lie, and that larger ones are not. */

import { describe, expect, test } from 'vitest';
import type { EstimatedStep } from '../../../server/src/estimate/findings/estimatedStep.ts';
import { smallMessages } from '../../../server/src/estimate/findings/smallMessages.ts';
import type { HeldTable } from '../../../server/src/estimate/plan/heldTables.ts';
import type { ScenarioRequest } from '../../../server/src/model/scenario.ts';
import { bytes, seconds } from '../../../server/src/model/units.ts';
import { lasting, planOf, stepOf } from '../../support/estimatedStep.ts';

interface Sent {
  readonly messages: number;
  readonly withGradients?: number;
  readonly perStep?: number;
  /** By stage, its time and of it the start-up. */
  readonly times: readonly (readonly [time: number, startup: number])[];
}

/** Routes in the place of those of a step of 1 s, a half of which waits for them. */
function sending(routes: readonly Sent[], step: EstimatedStep, exposedTime = 0.5): EstimatedStep {
  const waiting = lasting(step, { step: 1, exposedTime });
  const { plan } = waiting;
  const [route] = plan.traffic.routes;
  const [stage] = route?.times ?? [];
  if (route === undefined || stage === undefined) throw new Error('nothing is sent');
  const given = routes.map(({ messages, withGradients = messages, perStep = messages, times }) => ({
    ...{ ...route, messages, withGradients, perStep },
    times: times.map(([time, startup]) => ({ ...stage, time: seconds(time), startup: seconds(startup) })),
  }));
  return { ...waiting, plan: { ...plan, traffic: { ...plan.traffic, routes: given } } };
}

const request = { cluster: 'dgx-a100', gpus: 8, batch: 8 } as const;
const said = (routes: readonly Sent[], step = stepOf(request), exposedTime = 0.5): string | undefined =>
  smallMessages(sending(routes, step, exposedTime))[0]?.message;

test('sums are of stages and routes, of messages with gradients alone', () => {
  const message = said([
    {
      messages: 4,
      times: [
        [0.02, 0.01],
        [0.03, 0.02],
      ],
    },
    // Three of four have gradients, and all of them are sent in every second step.
    { messages: 4, withGradients: 3, perStep: 2, times: [[0.04, 0.04]] },
  ]);
  // Start-ups: 4 · 0.03 + 3 · 0.04 / 2 = 0.18 of 4 · 0.05 + 0.06 = 0.26. 8 layers of 1,024² + 1,024 in fp32 in 7 messages.
  expect(message).toBe(
    'Gradients are sent in 7 messages with a mean of 4.58 MiB. 69 % of their time (180 ms) is start-up cost. Fewer, larger messages cost less',
  );
});

describe('limits', () => {
  const startups = (share: number): readonly Sent[] => [{ messages: 2, times: [[0.1, 0.1 * share]] }];

  test('half of the time of messages', () => {
    expect(said(startups(0.5))).toContain('50 % of their time');
    expect(said(startups(0.49))).toBeUndefined();
    const strict = stepOf({ ...request, thresholds: { 'small-messages': 0.8 } });
    expect(said(startups(0.79), strict)).toBeUndefined();
    expect(said(startups(0.8), strict)).toContain('80 % of their time');
  });

  test('3 % of the step that wait', () => {
    expect(said(startups(0.9), stepOf(request), 0.03)).toBeDefined();
    expect(said(startups(0.9), stepOf(request), 0.029)).toBeUndefined();
  });

  test.each<[string, readonly Sent[]]>([
    ['one message', [{ messages: 1, times: [[0.1, 0.1]] }]],
    ['one message with gradients', [{ messages: 2, withGradients: 1, times: [[0.1, 0.1]] }]],
    ['messages of no time', [{ messages: 2, times: [[0, 0]] }]],
    ['no messages', []],
  ])('nothing of %s', (_, routes) => {
    expect(said(routes)).toBeUndefined();
  });
});

const small = 'inputs: { x: "float32[batch, 512]" }\nlayers:\n  - fc: Linear(512) * 64\n';
const costed = (
  options: Readonly<Record<string, string>>,
  name = 'pytorch-ddp',
  more: ScenarioRequest = {},
) => stepOf({ cluster: 'k80-10gbe', gpus: 16, batch: 1, framework: { name, options }, ...more }, small);

/** Of messages with gradients, the part of their time that is start-up cost. */
function startupShare({ plan }: EstimatedStep): number {
  const { routes } = plan.traffic;
  const sum = (of: 'startup' | 'time'): number =>
    routes
      .filter(({ withGradients }) => withGradients > 0)
      .reduce(
        (total, { times, perStep }) => total + perStep * times.reduce((part, each) => part + each[of], 0),
        0,
      );
  return sum('startup') / sum('time');
}

describe('the size that is advised', () => {
  const sizes = [0.5, 1, 2, 5, 10, 25, 50, 100, 200, 500, 1000];

  test.each([
    ['pytorch-ddp', 'bucket-mb', '0.5'],
    ['pytorch-ddp', 'bucket-mb', '1'],
    ['horovod', 'fusion-mb', '1'],
  ])(
    '%s, %s=%s: messages of it are not mostly start-up cost, and those of the size before are',
    (name, option, given) => {
      const threshold = { thresholds: { 'small-messages': 0.3 } };
      const [finding] = smallMessages(costed({ [option]: given }, name, threshold));
      const [, value = ''] =
        new RegExp(`^Send larger messages: ${option}=([\\d.]+)$`).exec(finding?.fix ?? '') ?? [];
      expect(finding?.change).toEqual({ kind: 'framework-option', name: option, value });
      expect(Number(value)).toBeGreaterThan(Number(given));
      expect(startupShare(costed({ [option]: value }, name))).toBeLessThan(0.3);
      const before = sizes[sizes.indexOf(Number(value)) - 1];
      expect(startupShare(costed({ [option]: String(before) }, name))).toBeGreaterThanOrEqual(0.3);
    },
  );
});

describe('where no size can be set', () => {
  /** Two messages of 1 s, of which so much is start-up cost. */
  const fix = (startup: number, threshold: number): string | undefined => {
    const step = stepOf({
      ...{ ...request, framework: { name: 'caffe-mpi', options: {} } },
      thresholds: { 'small-messages': threshold },
    });
    return smallMessages(sending([{ messages: 2, times: [[1, startup]] }], step))[0]?.fix;
  };
  const merge = 'Merge gradients before sending: use pytorch-ddp (buckets) or mg-wfbp (merges by cost)';
  const never =
    'Even one message of all gradients would be mostly start-up cost: use fewer GPUs, or raise the batch so that backward hides it';

  test('gradients are merged where one message of all would be less', () => {
    const { messages } = planOf({ ...request, framework: { name: 'caffe-mpi', options: {} } }).exchange;
    expect(messages.reduce((sum, message) => sum + message.bytes, 0)).toBe(
      bytes(8 * (1024 * 1024 + 1024) * 4),
    );
    // All bytes take 2 · (1 − s) s: with a start-up of s, half of it is bytes where s < 2 · (1 − s).
    expect(fix(0.66, 0.5)).toBe(merge);
    expect(fix(0.67, 0.5)).toBe(never);
    // A fifth of it is start-up where s · 4 < 2 · (1 − s).
    expect(fix(0.33, 0.2)).toBe(merge);
    expect(fix(0.34, 0.2)).toBe(never);
  });
});

test('rows of tables are messages of their own', () => {
  const step = stepOf(request);
  const table: HeldTable = {
    ...{ index: 0, rows: 1024, width: 1024, lookups: 8, isSparse: true, operators: [0] },
    ...{ shards: 8, gradientRows: 8, arriving: 64, distinct: 62 },
    result: { elements: 1024, isBag: false, from: 0, to: 1 },
  };
  const plan = { ...step.plan, tables: new Map([[0, table]]) };
  const [found] = smallMessages(sending([{ messages: 2, times: [[0.1, 0.09]] }], { ...step, plan }));
  expect(found?.message).toMatch(/^Gradients and rows of tables are sent in 2 messages/);
  expect(found?.fix).toMatch(/^Rows of embedding tables are messages of their own/);
});
