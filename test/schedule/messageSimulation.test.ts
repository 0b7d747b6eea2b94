/** Messages on their channels, beside a plain laying of the same (`plainTraffic.ts`). */

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { seconds } from '../../server/src/model/units.ts';
import { messageColumns } from '../../server/src/schedule/messageColumns.ts';
import { createMessageSimulation } from '../../server/src/schedule/messageSimulation.ts';
import { message } from './anyWork.ts';
import { plainTraffic, type Release } from './plainTraffic.ts';

const channels = 3;

/** In parts that add up without rounding, so that many things happen at once. */
const time = fc.nat(16).map((part) => part / 16);

const anyMessage = fc
  .record({
    priority: fc.nat(3),
    parts: fc.nat(3),
    stages: fc.array(fc.record({ channel: fc.nat(channels - 1), time }), { minLength: 1, maxLength: 4 }),
  })
  // Parts of a gradient are the same message, several times.
  .map(({ priority, parts, stages }) =>
    Array.from({ length: parts + 1 }, () =>
      message(0, 0, 1, {
        priority,
        stages: stages.map((stage) => ({ ...stage, time: seconds(stage.time) })),
      }),
    ),
  );

const anyTraffic = fc.record({
  messages: fc.array(anyMessage, { minLength: 1, maxLength: 8 }).map((parts) => parts.flat()),
  orders: fc.array(fc.constantFrom('first come' as const, 'by priority' as const), {
    minLength: channels,
    maxLength: channels,
  }),
  steps: fc.integer({ min: 1, max: 3 }),
  pauses: fc.array(time, { minLength: 100, maxLength: 100 }),
});

type Drawn = typeof anyTraffic extends fc.Arbitrary<infer Value> ? Value : never;

/** Every message once in each step, each some time after the one before. */
function releasesOf({ messages, steps, pauses }: Drawn): readonly Release[] {
  let at = 0;
  return Array.from({ length: steps }, (_, step) =>
    messages.map((_, index) => {
      at += pauses[(step * messages.length + index) % pauses.length] ?? 0;
      return { step, message: index, time: at };
    }),
  ).flat();
}

test('every stage starts and ends when it does by hand', () => {
  fc.assert(
    fc.property(anyTraffic, (drawn) => {
      const { messages, orders, steps } = drawn;
      const traffic = createMessageSimulation(messageColumns(messages), orders, [], { isRecorded: true });
      const releases = releasesOf(drawn);
      for (const { step, message: index, time: at } of releases) traffic.release(step, index, at);
      for (let step = 0; step < steps; step += 1) {
        for (let index = 0; index < messages.length; index += 1) traffic.arrival(step, index);
      }
      const { jobs } = traffic;
      if (jobs === undefined) throw new Error('nothing was recorded');
      const plain = plainTraffic(messages, orders, releases);
      expect(plain.length).toBe(jobs.startedCount);
      for (const { step, message: index, stage, start, end } of plain) {
        const job = jobs.jobOf(step, index) + stage;
        expect([jobs.start[job], jobs.end[job]]).toEqual([start, end]);
        if (stage + 1 === messages[index]?.stages.length) expect(traffic.arrival(step, index)).toBe(end);
      }
    }),
    { numRuns: 200 },
  );
});

test('work beside messages is slowed by the one that slows most of those on their way', () => {
  const slowing = [0.5, 0, 0.25];
  const pieces = fc.array(time, { minLength: 1, maxLength: 30 });
  fc.assert(
    fc.property(anyTraffic, pieces, (drawn, works) => {
      const { messages, orders } = drawn;
      const traffic = createMessageSimulation(messageColumns(messages), orders, slowing);
      const releases = releasesOf({ ...drawn, steps: 1 });
      for (const { message: index, time: at } of releases) traffic.release(0, index, at);
      const carried = plainTraffic(messages, orders, releases);
      /** Nothing changes from here until the next of these. */
      const edges = [...new Set(carried.flatMap(({ start, end }) => [start, end]))].sort((a, b) => a - b);
      let at = 0;
      for (const work of works) {
        let [by, left] = [at, work];
        while (left > 0) {
          const now = by;
          const busy = carried.filter(({ start, end }) => start <= now && now < end);
          const factor = 1 + Math.max(0, ...busy.map(({ channel }) => slowing[channel] ?? 0));
          const until = Math.min(now + left * factor, edges.find((edge) => edge > now) ?? Infinity);
          left = until === now + left * factor ? 0 : left - (until - now) / factor;
          by = until;
        }
        expect(traffic.endOfWork(at, work)).toBeCloseTo(by, 12);
        at = by;
      }
    }),
    { numRuns: 200 },
  );
});
