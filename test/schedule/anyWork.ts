/** Steps of any shape: what crosses the end of a step, in which order channels serve, what is read ahead. */

import fc from 'fast-check';
import { seconds } from '../../server/src/model/units.ts';
import { messageColumns } from '../../server/src/schedule/messageColumns.ts';
import { type SentStage, type StepTimeline, stepTimeline } from '../../server/src/schedule/stepTimeline.ts';
import type { StepWork } from '../../server/src/schedule/stepWork.ts';
import type { TimedMessage } from '../../server/src/schedule/timedMessage.ts';

/** A step whose messages are written one by one. */
export interface WrittenStep extends Omit<StepWork, 'messages'> {
  readonly messages: readonly TimedMessage[];
}

export const inColumns = (step: WrittenStep): StepWork => ({
  ...step,
  messages: messageColumns(step.messages),
});

export const timelineOf = (step: WrittenStep): StepTimeline => stepTimeline(inColumns(step));

/** When each stage of a message travels. */
export const stagesOf = (
  { messages }: WrittenStep,
  line: StepTimeline,
  message: number,
): readonly SentStage[] => (messages[message]?.stages ?? []).map((_, stage) => line.stageOf(message, stage));

/** Even between 0 and `most`: of doubles drawn by their bits nearly all are too small to be seen beside another. */
const upTo = (most: number) => fc.nat(2 ** 30).map((part) => (most * part) / 2 ** 30);

export const time = upTo(1);
export const share = upTo(0.5);

/** A message on the first channel, after a piece of work of the step and before another. */
export const message = (
  time: number,
  after: number,
  before: number,
  more: Partial<TimedMessage> = {},
): TimedMessage => ({
  after,
  before,
  stepsLater: 0,
  priority: 0,
  stages: [{ channel: 0, time: seconds(time) }],
  updateShare: 0,
  ...more,
});

const workOf = (time: fc.Arbitrary<number>, share: fc.Arbitrary<number>) => {
  const piece = fc.record({ device: time, host: time });
  const anyMessage = fc.record({
    after: fc.nat(),
    before: fc.nat(),
    priority: fc.nat(3),
    times: fc.array(time, { minLength: 1, maxLength: 3 }),
    channel: fc.nat(2),
    crosses: fc.boolean(),
  });
  return fc.record({
    forward: fc.array(piece, { maxLength: 12 }),
    backward: fc.array(piece, { minLength: 1, maxLength: 12 }),
    messages: fc.array(anyMessage, { maxLength: 10 }),
    update: piece,
    launches: fc.constantFrom(1, 4),
    hostWaits: fc.boolean(),
    orders: fc.tuple(fc.boolean(), fc.boolean(), fc.boolean()),
    asTheyArrive: fc.boolean(),
    slowing: fc.option(fc.tuple(share, share, share)),
    input: fc.option(
      fc.record({
        read: time,
        copy: time,
        ahead: fc.constantFrom('nothing' as const, 'reading' as const, 'reading and copying' as const),
        pipelined: fc.boolean(),
      }),
    ),
  });
};

export const anyWork = workOf(time, share);

/** In times that add up without rounding, so that what happens at once does so in each step. */
export const exactWork = workOf(
  fc.nat(1024).map((part) => part / 1024),
  fc.constantFrom(0, 1),
);

const columns = (items: readonly { readonly device: number; readonly host: number }[]) => ({
  device: Float64Array.from(items, (item) => item.device),
  host: Float64Array.from(items, (item) => item.host),
});
export type Drawn = typeof anyWork extends fc.Arbitrary<infer Value> ? Value : never;
/** The work drawn, its messages in the share `faster` of their time. */
export const made = (drawn: Drawn, faster = 1): WrittenStep => {
  const split = drawn.forward.length;
  const count = split + drawn.backward.length;
  return {
    forward: columns(drawn.forward),
    backward: columns(drawn.backward),
    messages: drawn.messages.map(({ after, before, priority, times: stages, channel, crosses }) => {
      const ready = split + (after % drawn.backward.length);
      return message(0, ready, crosses && split > 0 ? before % split : count, {
        priority,
        stages: stages.map((stage, position) => ({
          channel: (channel + position) % 3,
          time: seconds(stage * faster),
        })),
        updateShare: drawn.asTheyArrive ? 1 / drawn.messages.length : 0,
      });
    }),
    channels: drawn.orders.map((first) => (first ? 'first come' : 'by priority')),
    ...(drawn.slowing === null ? {} : { slowing: drawn.slowing }),
    update: {
      device: seconds(drawn.update.device),
      host: seconds(drawn.update.host),
      launches: drawn.launches,
    },
    hostWaits: drawn.hostWaits,
    ...(drawn.input === null
      ? {}
      : { input: { ...drawn.input, read: seconds(drawn.input.read), copy: seconds(drawn.input.copy) } }),
  };
};
