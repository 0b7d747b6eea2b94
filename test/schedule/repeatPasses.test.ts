import fc from 'fast-check';
import { expect, test } from 'vitest';
import { floatAt, itemAt } from '../../server/src/model/at.ts';
import { repeatPasses, repeatTimes } from '../../server/src/schedule/repeatPasses.ts';
import type { StepTimes } from '../../server/src/schedule/stepTimeline.ts';
import { anyWork, made, stagesOf, timelineOf } from './anyWork.ts';

/** Of times that add up: each pass has its own. The update and its launches come once. */
const ofEachPass = [
  'inputTime',
  'exposedInputTime',
  'forwardTime',
  'backwardTime',
  'communicationTime',
  'exposedTime',
  'hostTime',
  'slowedTime',
] as const satisfies readonly (keyof StepTimes)[];
const once = ['updateTime', 'updateHostTime'] as const satisfies readonly (keyof StepTimes)[];

/** A step, the one that its earlier passes are like, whose messages take twice as long, and how many passes there are. */
const repeated = fc
  .tuple(anyWork, fc.integer({ min: 2, max: 5 }))
  .map(([drawn, passes]) => ({ last: made(drawn), earlier: made(drawn, 2), passes }));

test('times of passes add up, and the update comes once, behind all of them', () => {
  fc.assert(
    fc.property(repeated, ({ last: one, earlier: other, passes }) => {
      const [last, earlier] = [timelineOf(one), timelineOf(other)];
      const all = repeatTimes(last, earlier, passes);
      const more = passes - 1;
      for (const key of ofEachPass) expect(all[key], key).toBeCloseTo(last[key] + more * earlier[key], 9);
      for (const key of once) expect(all[key], key).toBe(last[key]);
      expect(all.step).toBeCloseTo(last.step + more * earlier.step, 9);
      for (const key of ['forward', 'backward'] as const)
        for (const [index, time] of all[key].entries())
          expect(time).toBeCloseTo(floatAt(last[key], index) + more * floatAt(earlier[key], index), 9);
      for (const key of ['forwardEnds', 'backwardEnds'] as const)
        for (const [index, end] of all[key].entries())
          expect(end).toBeCloseTo(floatAt(last[key], index) + more * earlier.step, 9);
      for (const [index, { time, end }] of all.updates.entries()) {
        expect(time).toBe(last.updates[index]?.time);
        expect(end).toBeCloseTo((last.updates[index]?.end ?? Number.NaN) + more * earlier.step, 9);
      }
    }),
    { numRuns: 100 },
  );
});

test('messages are those of the last pass, exposed as long as those of all passes', () => {
  fc.assert(
    fc.property(repeated, ({ last: one, earlier: other, passes }) => {
      const [last, earlier] = [timelineOf(one), timelineOf(other)];
      const all = repeatPasses(last, earlier, passes);
      const before = (passes - 1) * earlier.step;
      for (const [index, message] of all.messages.entries()) {
        const own = itemAt(last.messages, index);
        const exposed = own.exposed + (passes - 1) * itemAt(earlier.messages, index).exposed;
        expect(message.exposed).toBeCloseTo(exposed, 9);
        expect(message.start).toBeCloseTo(own.start + before, 9);
        expect(message.end).toBeCloseTo(own.end + before, 9);
        const [moved, stages] = [stagesOf(one, all, index), stagesOf(one, last, index)];
        expect(moved.map(({ start }) => start - before)).toEqual(
          stages.map(({ start }) => expect.closeTo(start, 9)),
        );
      }
    }),
    { numRuns: 100 },
  );
});

test('one pass is the step itself; passes that send nothing leave what is exposed', () => {
  const [drawn] = fc.sample(anyWork, { numRuns: 1, seed: 7 });
  if (drawn === undefined) throw new Error('nothing was drawn');
  const [last, earlier] = [timelineOf(made(drawn)), timelineOf({ ...made(drawn), messages: [] })];
  expect(repeatPasses(last, earlier, 1)).toBe(last);
  expect(repeatPasses(last, earlier, 3).exposed).toEqual(last.exposed);
});
