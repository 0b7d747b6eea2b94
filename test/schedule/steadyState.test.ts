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
    fc.property(exactWork, fc.nat(2), (drawn, stepsLater) => {
      const written = made(drawn);
      const late = written.messages.map((message) => ({ ...message, stepsLater }));
      const work = inColumns({ ...written, messages: late });
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

test('steps that take turns are averaged over one: later steps take as long on average', () => {
  let turns = 0;
  fc.assert(
    fc.property(exactWork, fc.integer({ min: 1, max: 3 }), (drawn, stepsLater) => {
      const written = made(drawn);
      const late = written.messages.map((message) => ({ ...message, stepsLater }));
      const work = inColumns({ ...written, messages: late });
      const line = steadyState(work);
      const { averaged, shown, isProved } = line;
      if (isProved) return;
      const later = 60 * averaged;
      while (line.steps.length <= shown + later) line.lay();
      const end = (index: number): number => line.steps[index]?.end ?? Number.NaN;
      const { step, exposed, exposedTime, exposedInputTime, updateTime, ...told } = stepTimeline(work);
      expect(exposed.reduce((sum, part) => sum + part, 0)).toBeCloseTo(exposedTime, 9);
      const passes = [...told.forward, ...told.backward].reduce((sum, part) => sum + part, 0);
      expect(exposedInputTime + passes + exposedTime + updateTime).toBeCloseTo(step, 9);
      const mean = (end(shown + later) - end(shown)) / later;
      // Steps that take no turns are averaged over 24.
      expect(Math.abs(step - mean) / mean).toBeLessThan(averaged === 24 ? 0.1 : 0.05);
      if (averaged > 1) turns += 1;
    }),
    { numRuns: 2000, seed: 7 },
  );
  expect(turns).toBeGreaterThan(20);
});
