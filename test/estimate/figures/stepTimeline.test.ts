/** Lanes of a step of one second whose messages and input have times by hand: what crosses an end comes in at the other. */

import { describe, expect, test } from 'vitest';
import { microseconds, stepLanes } from '../../../server/src/estimate/figures/stepLanes.ts';
import { stepTimelineFigure } from '../../../server/src/estimate/figures/stepTimelineFigure.ts';
import { seconds } from '../../../server/src/model/units.ts';
import type { StepTimeline } from '../../../server/src/schedule/stepTimeline.ts';
import { stepOf } from '../../support/estimatedStep.ts';

const framework = { name: 'pytorch-ddp', options: { 'bucket-mb': '1' } };
const { plan, timeline } = stepOf({ cluster: 'dgx-a100', gpus: 8, batch: 8, framework });
const channel = plan.traffic.channels[0]?.name ?? '';

type Span = readonly [start: number, end: number];
/** The first messages are sent then, and no others; all that is computed ends at the start of the step. */
const given = (
  sent: readonly Span[],
  batch?: { readonly read: Span; readonly copied: Span },
): StepTimeline => ({
  ...timeline,
  step: seconds(1),
  messages: timeline.messages.slice(0, sent.length).map((message, index) => ({
    ...message,
    start: seconds(sent[index]?.[0] ?? 0),
    exposed: seconds(0.25),
    slack: seconds(0.125),
  })),
  stageOf: (message) => ({
    channel: 0,
    start: seconds(sent[message]?.[0] ?? 0),
    end: seconds(sent[message]?.[1] ?? 0),
  }),
  batch:
    batch === undefined
      ? undefined
      : {
          readFrom: seconds(batch.read[0]),
          readUntil: seconds(batch.read[1]),
          copiedFrom: seconds(batch.copied[0]),
          copiedUntil: seconds(batch.copied[1]),
        },
});
const laneOf = (title: string, lanes: StepTimeline) =>
  stepTimelineFigure(plan, lanes)
    .lanes.find((lane) => lane.title === title)
    ?.segments.map(({ name, start, end }) => [
      name,
      Math.round(start * 1e6) / 1e6,
      Math.round(end * 1e6) / 1e6,
    ]);

describe('messages', () => {
  const first = `message 1 of ${plan.exchange.messages.length}`;
  const second = `message 2 of ${plan.exchange.messages.length}`;

  test.each<readonly [string, readonly Span[], readonly unknown[] | undefined]>([
    ['within the step', [[0.25, 0.5]], [[first, 0.25, 0.5]]],
    ['up to its end', [[0.5, 1]], [[first, 0.5, 1]]],
    [
      'past its end',
      [[0.75, 1.25]],
      [
        [first, 0, 0.25],
        [first, 0.75, 1],
      ],
    ],
    ['in the next step', [[1.25, 1.5]], [[first, 0.25, 0.5]]],
    ['in the next step, to its end', [[1.25, 2]], [[first, 0.25, 1]]],
    [
      'over the end of the next step',
      [[1.75, 2.25]],
      [
        [first, 0, 0.25],
        [first, 0.75, 1],
      ],
    ],
    ['as long as the step', [[0.5, 1.5]], [[first, 0, 1]]],
    ['longer than the step', [[0.5, 2]], [[first, 0, 1]]],
    [
      'in the order of their starts',
      [
        [0.5, 0.75],
        [0.25, 0.5],
      ],
      [
        [second, 0.25, 0.5],
        [first, 0.5, 0.75],
      ],
    ],
    ['none', [], undefined],
  ])('%s', (_, sent, segments) => {
    expect(laneOf(channel, given(sent))).toEqual(segments);
  });

  test('say how they go, and what of them is waited for', () => {
    const [lane] = stepLanes(plan, given([[0.25, 0.5]])).filter(({ resource }) => resource === 0);
    const [sent] = plan.exchange.messages;
    expect(lane?.events).toEqual([
      {
        name: first,
        phase: 'communication',
        start: 0.25,
        end: 0.5,
        facts: {
          bytes: sent?.bytes,
          parameters: sent?.gradients.map(({ parameter }) => parameter),
          how: plan.traffic.stages[0]?.[0]?.description,
          exposedMicroseconds: 250_000,
          slackMicroseconds: 125_000,
        },
      },
    ]);
  });
});

test('the next batch is read and copied while this step runs, or before it', () => {
  const lanes = given([], { read: [-0.75, -0.25], copied: [-0.25, 0.25] });
  expect(laneOf('reading and decoding', lanes)).toEqual([['next batch', 0.25, 0.75]]);
  expect(laneOf('copies of input to GPU', lanes)).toEqual([
    ['next batch', 0, 0.25],
    ['next batch', 0.75, 1],
  ]);
  expect(laneOf('reading and decoding', given([]))).toBeUndefined();
});

describe('the stream of the GPU', () => {
  test('computes in order, and waits for the rest of the step', () => {
    const segments =
      stepTimelineFigure(plan, given([])).lanes.find(({ title }) => title === 'GPU stream')?.segments ?? [];
    const kinds = segments.map(({ kind }) => kind).filter((kind, index, all) => kind !== all[index - 1]);
    expect(kinds.filter((kind) => kind !== 'wait')).toEqual(['forward', 'backward', 'update']);
    const last = segments.at(-1);
    expect([last?.kind, last?.name, last?.end]).toEqual(['wait', 'wait', 1]);
    for (const [index, { start, end }] of segments.entries()) {
      expect(start).toBeCloseTo(segments[index - 1]?.end ?? 0, 9);
      expect(end).toBeGreaterThan(start);
    }
  });

  test('names operators by their layers, forward and back', () => {
    const names = (kind: string) =>
      stepTimelineFigure(plan, timeline)
        .lanes.find(({ title }) => title === 'GPU stream')
        ?.segments.filter((segment) => segment.kind === kind)
        .map(({ name }) => name);
    const layers = Array.from({ length: 8 }, (_, index) => `fc[${index}]`);
    expect(names('forward')).toEqual(layers);
    expect(names('backward')).toEqual(layers.toReversed());
  });

  test('the host launches all of it, in the same order', () => {
    const [host] = stepLanes(plan, timeline);
    const launched = host?.events ?? [];
    expect(host?.title).toBe('host launches');
    expect(
      launched.map(({ phase }) => phase).filter((phase, index, all) => phase !== all[index - 1]),
    ).toEqual(['forward', 'backward', 'update']);
    for (const [index, { start, end }] of launched.entries()) {
      expect(start).toBeCloseTo(launched[index - 1]?.end ?? 0, 12);
      expect(end).toBeGreaterThan(start);
    }
  });
});

test('of several passes the last is drawn', () => {
  const { plan: own, timeline: lasting } = stepOf({ cluster: 'dgx-a100', gpus: 1, batch: 8, accumulate: 3 });
  const figure = stepTimelineFigure(own, lasting);
  expect([figure.note, figure.until, figure.pieces]).toEqual([
    'The last of 3 passes is drawn.',
    lasting.step,
    'layers',
  ]);
  expect(figure.from).toBeGreaterThan(0.3 * lasting.step);
  expect(figure.from).toBeLessThan(0.7 * lasting.step);
  expect([stepTimelineFigure(plan, timeline).from, stepTimelineFigure(plan, timeline).note]).toEqual([0, '']);
});

test.each([
  [1e-6, 1],
  [1.2345e-6, 1.235],
  [0.25, 250_000],
  [4e-10, 0],
])('%f s are %f µs', (time, expected) => {
  expect(microseconds(time)).toBe(expected);
});
