/** A step that does not fit into memory runs with half the batch, and says so. */

import { join } from 'node:path';
import { describe, expect, it, test } from 'vitest';
import { runBenchmark } from '../../server/src/benchmark/runBenchmark.ts';
import { runSmaller } from '../../server/src/benchmark/runSmaller.ts';
import { smallPlan } from './smallPlan.ts';

/** A stand-in of the runner, on which steps of up to `fits` samples fit. */
const fitting = (fits: number) => {
  const ran: string[] = [];
  return {
    ran,
    run: async ({ plan: { batch, endsWhereTooLarge } }: ReturnType<typeof planned>) => {
      ran.push(`${batch}${endsWhereTooLarge ? '' : ' whatever fits'}`);
      return batch > fits && endsWhereTooLarge
        ? { failure: { kind: 'out-of-memory' as const, message: `no room for ${batch}`, log: '' } }
        : { measurements: { notes: ['a note'] } };
    },
  };
};
const planned = (batch: number) => ({ plan: smallPlan({ batch }) });
const said = (tried: string, batch: number): string =>
  `The step does not fit into memory at batch ${tried}: batch ${batch} ran, and the prediction is for that`;

describe('the batch is halved until the step fits', () => {
  test.each([
    { asked: 16, fits: 16, ran: ['16'], notes: ['a note'] },
    { asked: 16, fits: 8, ran: ['16', '8'], notes: [said('16', 8), 'a note'] },
    { asked: 25, fits: 3, ran: ['25', '12', '6', '3'], notes: [said('25, and down to 6', 3), 'a note'] },
    // One sample is the least: of its step the layers alone are measured.
    { asked: 2, fits: 0, ran: ['2', '1 whatever fits'], notes: [said('2', 1), 'a note'] },
  ])('$asked samples where $fits fit', async ({ asked, fits, ran, notes }) => {
    const runner = fitting(fits);
    const outcome = await runSmaller(planned(asked), planned, runner.run);
    expect(runner.ran).toEqual(ran);
    expect(outcome.measurements?.notes).toEqual(notes);
    expect(outcome.made.plan.batch).toBe(Number.parseInt(ran.at(-1) ?? '', 10));
  });

  it.each([
    ['cannot be costed with another batch', () => undefined],
    ['keeps its batch', () => planned(16)],
  ])('a model that %s has its layers measured', async (_, smaller) => {
    const runner = fitting(8);
    const outcome = await runSmaller(planned(16), smaller, runner.run);
    expect(runner.ran).toEqual(['16', '16 whatever fits']);
    expect(outcome.measurements?.notes).toEqual(['a note']);
  });

  it('what else fails is no reason for a smaller batch', async () => {
    const outcome = await runSmaller(planned(4), planned, ({ plan }) =>
      runBenchmark(plan, {
        python: process.execPath,
        runner: join(import.meta.dirname, 'fakes/badRunner.mjs'),
      }),
    );
    expect(outcome.made.plan.batch).toBe(4);
    const failed = await runSmaller({ plan: smallPlan({ model: 'dies' }) }, planned, ({ plan }) =>
      runBenchmark(plan, {
        python: process.execPath,
        runner: join(import.meta.dirname, 'fakes/badRunner.mjs'),
      }),
    );
    expect(failed.failure?.kind).toBe('crash');
    expect(failed.made.plan.batch).toBe(4);
  });
});
