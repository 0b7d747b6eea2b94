import fc from 'fast-check';
import { expect, test } from 'vitest';
import { steadyState } from '../../server/src/schedule/steadyState.ts';
import { stepTimeline } from '../../server/src/schedule/stepTimeline.ts';
import type { StepWork } from '../../server/src/schedule/stepWork.ts';
import { exactWork, inColumns, made } from './anyWork.ts';

/** Steps laid out without looking whether they repeat. */
const laterSteps = 20;

/** The columns of a step, told from its start. */
const told = (work: StepWork, count: number) => {
  const line = steadyState(work);
  while (line.steps.length < count) line.lay();
  return line.steps.map(
    ({ start, end, fed, forwardEnds, backwardEnds, updates, stalls, neededAt }, index) => ({
      duration: end - start,
      ends: [...forwardEnds, ...backwardEnds, ...updates.map((piece) => piece.end), fed].map(
        (at) => at - start,
      ),
      stalls: stalls.map(({ from, until, step, message }) => [
        from - start,
        until - start,
        index - step,
        message,
      ]),
      // Of the last ones it is not known yet what waits for what they send.
      needed: [...neededAt].map((at) => (index < count - 3 ? at - start : 0)),
    }),
  );
};

const areClose = (left: readonly number[], right: readonly number[]): boolean =>
  left.length === right.length &&
  left.every((value, index) => value === right[index] || Math.abs(value - (right[index] ?? 0)) < 1e-9);

test('a step that is proved to repeat is every later step of the plain simulation', () => {
  let proved = 0;
  fc.assert(
    fc.property(exactWork, (drawn) => {
      const work = inColumns(made(drawn));
      const { isProved, shown } = steadyState(work);
      if (!isProved) return;
      proved += 1;
      const plain = told(work, laterSteps);
      const repeated = plain[shown];
      for (const later of plain.slice(shown + 1)) {
        expect(later.duration).toBeCloseTo(repeated?.duration ?? Number.NaN, 9);
        expect(areClose(later.ends, repeated?.ends ?? [])).toBe(true);
      }
    }),
    { numRuns: 400 },
  );
  expect(proved).toBeGreaterThan(200);
});

test('what is told of a proved step is what the plain simulation comes to: exposed parts, slack and stages', () => {
  fc.assert(
    fc.property(exactWork, (drawn) => {
      const work = inColumns(made(drawn));
      const { isProved, shown } = steadyState(work);
      if (!isProved) return;
      const line = stepTimeline(work);
      const plain = told(work, laterSteps);
      const late = plain[laterSteps - 4];
      const repeated = plain[shown];
      expect(line.step).toBeCloseTo(late?.duration ?? Number.NaN, 9);
      const exposed = (late?.stalls ?? []).reduce((sum, [from = 0, until = 0]) => sum + until - from, 0);
      expect(line.exposedTime).toBeCloseTo(exposed, 9);
      expect(areClose(repeated?.needed ?? [], late?.needed ?? [])).toBe(true);
    }),
    { numRuns: 200 },
  );
});
