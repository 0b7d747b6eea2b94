/** What holds of the timeline of any step, and closed forms of its update and of steps that take turns. */

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { seconds } from '../../server/src/model/units.ts';
import { steadyState } from '../../server/src/schedule/steadyState.ts';
import {
  anyWork,
  exactWork,
  inColumns,
  made,
  message,
  stagesOf,
  timelineOf,
  type WrittenStep,
} from './anyWork.ts';

const near = 1e-9;

/** When the piece of work ends that a message follows, from the start of the step. */
const readyAt = (line: ReturnType<typeof timelineOf>, work: WrittenStep, after: number): number => {
  const split = work.forward.device.length;
  const ends = after < split ? line.forwardEnds : line.backwardEnds;
  return ends[after < split ? after : after - split] ?? Number.NaN;
};

describe('messages travel one after another, each when it is ready', () => {
  test('a stage takes its time, after the stage before it and the work it follows', () => {
    let later = 0;
    fc.assert(
      fc.property(exactWork, (drawn) => {
        const work = made(drawn);
        const line = timelineOf(work);
        if (steadyState(inColumns(work), true).shown > 0) later += 1;
        for (const [index, { stages, after }] of work.messages.entries()) {
          const sent = stagesOf(work, line, index);
          let free = readyAt(line, work, after);
          for (const [stage, { start, end, channel }] of sent.entries()) {
            expect(start).toBeGreaterThanOrEqual(free - near);
            expect(end - start).toBeCloseTo(stages[stage]?.time ?? Number.NaN, 9);
            expect(channel).toBe(stages[stage]?.channel);
            free = end;
          }
          expect(line.messages[index]?.start).toBe(sent[0]?.start);
          expect(line.messages[index]?.end).toBe(sent.at(-1)?.end);
        }
      }),
      { numRuns: 300 },
    );
    // Times are from the start of the shown step, also where that is not the first.
    expect(later).toBeGreaterThan(30);
  });

  test('a channel carries one at a time', () => {
    fc.assert(
      fc.property(exactWork, (drawn) => {
        const work = made(drawn);
        const line = timelineOf(work);
        const sent = work.messages.flatMap((_, index) => stagesOf(work, line, index));
        for (const channel of work.channels.keys()) {
          const busy = sent
            .filter((stage) => stage.channel === channel)
            .toSorted((one, other) => one.start - other.start || one.end - other.end);
          for (const [index, { start }] of busy.entries())
            if (index > 0) expect(start).toBeGreaterThanOrEqual((busy[index - 1]?.end ?? 0) - near);
        }
      }),
      { numRuns: 300 },
    );
  });

  test('work ends in the order it is launched, and the update last', () => {
    fc.assert(
      fc.property(anyWork, (drawn) => {
        const work = made(drawn);
        const { forwardEnds, backwardEnds, updates, exposedInputTime } = timelineOf(work);
        // Pieces of an update that messages bring may run in the next step.
        const last = drawn.asTheyArrive ? [] : updates.map(({ end }) => end);
        const ends = [...forwardEnds, ...backwardEnds, ...last];
        expect(ends[0]).toBeGreaterThanOrEqual(exposedInputTime - near);
        for (const [index, end] of ends.entries())
          if (index > 0) expect(end).toBeGreaterThanOrEqual((ends[index - 1] ?? 0) - near);
      }),
      { numRuns: 200 },
    );
  });
});

describe('where the time of the GPU goes', () => {
  test('passes and update take their kernels, what slows them, and the waits for the host', () => {
    let waits = 0;
    fc.assert(
      fc.property(anyWork, (drawn) => {
        const work = made(drawn);
        const line = timelineOf(work);
        // Pieces of an update that messages bring may run in the next step, and are counted in both.
        if (drawn.asTheyArrive) return;
        const kernels = [...work.forward.device, ...work.backward.device, work.update.device];
        const expected = kernels.reduce((sum, time) => sum + time, 0) + line.hostTime + line.slowedTime;
        if (line.hostTime > 0) waits += 1;
        expect(line.forwardTime + line.backwardTime + line.updateTime).toBeCloseTo(expected, 9);
      }),
      { numRuns: 300 },
    );
    expect(waits).toBeGreaterThan(50);
  });
});

describe('the update: kernels alike, launched one after another', () => {
  const update = (device: number, host: number, launches: number): WrittenStep => ({
    forward: { device: Float64Array.of(), host: Float64Array.of() },
    backward: { device: Float64Array.of(1), host: Float64Array.of(0) },
    messages: [],
    channels: [],
    update: { device: seconds(device), host: seconds(host), launches },
  });

  /** Behind work that ends at 1, which the host launched at 0: n kernels of d/n, one launched each h/n. */
  test.each([
    // The GPU is behind: the kernels run without a gap.
    [4, 0.5, 4, 4],
    // The host is behind: the last kernel starts when it is launched.
    [1, 8, 4, 8 + 1 / 4 - 1],
    // One kernel is launched while the work before it runs, or after.
    [2, 0.5, 1, 2],
    [2, 3, 1, 3 + 2 - 1],
    // The first of two waits for the GPU, the second for the host.
    [1, 3, 2, 3 + 1 / 2 - 1],
  ])('%d s of work, %d s of launching, %d kernels', (device, host, launches, expected) => {
    expect(timelineOf(update(device, host, launches)).updateTime).toBeCloseTo(expected, 12);
  });

  /** Each of two messages brings half of the update: half of the kernels, at least one. */
  test.each([8, 1])('of %d kernels a message brings its share', (launches) => {
    const work: WrittenStep = {
      ...update(2, 4, launches),
      messages: [0, 1].map(() => message(0, 0, 1, { updateShare: 0.5, launchShare: 0.5 })),
      channels: ['first come'],
    };
    const { updates, step } = timelineOf(work);
    expect(updates.length).toBe(2);
    // The host needs 2 s for the kernels of a half, 1 s of which pass beside backward; then the last one runs.
    const last = launches === 1 ? 1 : 1 / (launches / 2);
    expect(step).toBeCloseTo(4 + last, 12);
  });
});

describe('steps that do not repeat one by one', () => {
  test('the mean is that of many later steps', () => {
    let unproved = 0;
    fc.assert(
      fc.property(anyWork, (drawn) => {
        const work = inColumns(made(drawn));
        const line = steadyState(work);
        if (line.isProved) return;
        unproved += 1;
        const { steps, shown, averaged } = line;
        const first = steps[shown - averaged];
        const mean = ((steps[shown]?.end ?? 0) - (first?.end ?? 0)) / averaged;
        while (steps.length < shown + 240) line.lay();
        const late = ((steps.at(-1)?.end ?? 0) - (steps[steps.length - 121]?.end ?? 0)) / 120;
        // What falls behind by less than a step in the 36 that are laid out is not seen to bind.
        expect(Math.abs(mean / late - 1)).toBeLessThan(1 / 36);
      }),
      // Smaller work that fails is not worth minutes of search.
      { numRuns: 300, endOnFailure: true },
    );
    expect(unproved).toBeGreaterThan(3);
  });
});
