/**
 * Scheduling anomalies, each as the smallest step that shows it: shorter messages, a longer step. They are the systems' own,
 * for in the order of before, or with the merges of before, the same shorter messages make nothing later.
 */

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { mergeGradients } from '../../server/src/frameworks/mergeGradients.ts';
import { bytes, seconds } from '../../server/src/model/units.ts';
import { stepTimes } from '../../server/src/schedule/stepTimeline.ts';
import type { ChannelOrder } from '../../server/src/schedule/stepWork.ts';
import type { TimedMessage } from '../../server/src/schedule/timedMessage.ts';
import { anyWork, inColumns, made, message, type WrittenStep } from '../schedule/anyWork.ts';
import { endsInOrderOf, endsOf } from './fixedOrder.ts';

const pieces = (...times: readonly number[]) => ({
  device: Float64Array.from(times),
  host: new Float64Array(times.length),
});

const through = (...stages: readonly (readonly [channel: number, time: number])[]): TimedMessage['stages'] =>
  stages.map(([channel, time]) => ({ channel, time: seconds(time) }));

interface Anomaly {
  readonly channels: readonly ChannelOrder[];
  readonly forward: readonly number[];
  readonly backward: readonly number[];
  readonly messages: (time: number) => readonly TimedMessage[];
}

const stepOf = ({ channels, forward, backward, messages }: Anomaly, time: number): WrittenStep => ({
  forward: pieces(...forward),
  backward: pieces(...backward),
  messages: messages(time),
  channels,
  update: { device: seconds(0), host: seconds(0) },
});

/** Of layers 3, 2, 1, as backward completes them: pieces 3, 4, 5 of the step. Layer 1 is the most urgent. */
const ofLayers = (stagesOf: (layer: number) => TimedMessage['stages']): readonly TimedMessage[] =>
  [3, 2, 1].map((layer) => message(0, 6 - layer, layer - 1, { priority: layer, stages: stagesOf(layer) }));

/**
 * Times are from the start of backward.
 * - One channel by priority (MXNet's store, ByteScheduler, user-defined frameworks). If layer 3 takes 2, from 1 to 3, layer 1
 *   goes next, 3 to 4, and forward begins at 4. If it takes 1, only layer 2 is ready at 2; it takes the channel until 6, and
 *   forward begins at 7.
 * - A channel by priority before one that is first come (ByteScheduler's NCCL stream and its updating thread). While the first
 *   is full, layer 1 overtakes layer 2 there: the thread updates 3, 1, 2, and forward begins at 9. If it is hardly used,
 *   gradients reach the thread in the order of backward, and forward begins at 10.5.
 * - A channel at both ends of a route (BytePS's NCCL stream inside a node). If layer 3 is back at 3.5, the reduce-scatter of
 *   layer 2 has begun at 3, and its copy, the bottleneck, ends at 9. If it is back at 2.9, its all-gather goes first, until
 *   4.9, and the copy ends at 10.9.
 */
const anomalies: readonly (readonly [
  name: string,
  of: Anomaly,
  times: readonly [number, number],
  steps: readonly [number, number],
])[] = [
  [
    'one channel by priority',
    {
      channels: ['by priority'],
      forward: [4, 1, 1],
      backward: [1, 1, 1],
      messages: (time) => ofLayers((layer) => through([0, [1, 4, time][layer - 1] ?? 0])),
    },
    [2, 1],
    [10, 13],
  ],
  [
    'a channel by priority before one that is first come',
    {
      channels: ['by priority', 'first come'],
      forward: [4, 1, 1],
      backward: [1, 1, 1],
      messages: (time) => ofLayers(() => through([0, time], [1, 3])),
    },
    [2, 0.5],
    [15, 16.5],
  ],
  [
    'a channel at both ends of a route',
    {
      channels: ['by priority', 'by priority', 'by priority'],
      forward: [0],
      backward: [1, 2],
      messages: (time) => [
        message(0, 1, 3, { priority: 0, stages: through([0, 1], [1, time], [0, 2]) }),
        message(0, 2, 3, { priority: 1, stages: through([0, 1], [2, 5]) }),
      ],
    },
    [1.5, 0.9],
    [9, 10.9],
  ],
];

test.each(anomalies)('%s: a longer step, and none in the order of before', (_, of, [slow, fast], steps) => {
  const [before, after] = [inColumns(stepOf(of, slow)), inColumns(stepOf(of, fast))];
  expect([stepTimes(before).step, stepTimes(after).step]).toEqual(
    steps.map((step) => expect.closeTo(step, 9)),
  );
  const limits = endsOf(before);
  for (const [step, end] of endsInOrderOf(before, after).entries()) {
    expect(end).toBeLessThanOrEqual(limits[step] ?? 0);
  }
});

/**
 * MG-WFBP's rule is greedy: a gradient waits for the next one where that takes less than a start-up. At a start-up of 5 the
 * first two merge and leave at 5, and the others wait behind them, from 19 to 53. At 4 the first goes alone, so that the
 * second does not queue and waits for the third, that for the fourth, and the fifth: nothing is sent from 9 to 17, until 55.
 */
test('merges of MG-WFBP: a shorter start-up, and a later end', () => {
  const gradients = [
    [1, 4],
    [5, 5],
    [12, 10],
    [14, 11],
    [17, 8],
  ].map(([ready = 0, size = 0]) => ({ ready: seconds(ready), bytes: bytes(size), elements: size }));
  const ends = [5, 4].map((startup) => {
    const groups = mergeGradients(gradients, { startup: seconds(startup), secondsPerByte: 1 });
    const end = groups.reduce((free, group) => Math.max(free, group.ready) + startup + group.bytes, 0);
    return [groups.map((group) => group.end), end];
  });
  expect(ends).toEqual([
    [[2, 5], 53],
    [[1, 5], 55],
  ]);
});

/** Pieces of the update are run in the order in which gradients arrive, which is no order of a channel. */
const inOneOrder = anyWork.filter(({ asTheyArrive }) => !asTheyArrive);

test('a step in its own order is itself', () => {
  fc.assert(
    fc.property(inOneOrder, (drawn) => {
      const work = inColumns(made(drawn));
      const limits = endsOf(work);
      expect(endsInOrderOf(work, work)).toEqual(limits.map((end) => expect.closeTo(end, 9)));
    }),
    { numRuns: 200 },
  );
});

test('in one order shorter messages never make a step end later', () => {
  fc.assert(
    fc.property(inOneOrder, fc.double({ min: 0, max: 1, noNaN: true }), (drawn, faster) => {
      const limits = endsOf(inColumns(made(drawn)));
      const ends = endsInOrderOf(inColumns(made(drawn)), inColumns(made(drawn, faster)));
      for (const [step, end] of ends.entries()) expect(end).toBeLessThanOrEqual((limits[step] ?? 0) + 1e-9);
    }),
    { numRuns: 300 },
  );
});
