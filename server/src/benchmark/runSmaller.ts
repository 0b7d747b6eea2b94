/** Halves the batch until the whole step fits into memory. */

import type { BenchmarkPlan } from './planSchema.ts';
import type { RunnerOutcome } from './runnerOptions.ts';

interface Planned {
  readonly plan: BenchmarkPlan;
}

interface WithNotes {
  readonly notes: readonly string[];
}

/** The outcome of the batch that ran, and what its plan was made of. */
export interface FittingOutcome<Made extends Planned, Measurements> extends RunnerOutcome<Measurements> {
  readonly made: Made;
}

/**
 * Runs the step of `first`. Where it does not fit into memory, what `smaller` makes of half the batch is run instead, and
 * a note says so. `smaller` gives `undefined` where the model keeps its batch: then the layers of that step are measured
 * alone.
 */
export async function runSmaller<Made extends Planned, Measurements extends WithNotes>(
  first: Made,
  smaller: (batch: number) => Made | undefined,
  run: (made: Made) => Promise<RunnerOutcome<Measurements>>,
): Promise<FittingOutcome<Made, Measurements>> {
  const tooLarge: number[] = [];
  for (let made = first; ; ) {
    const { batch } = made.plan;
    const outcome = await run({ ...made, plan: { ...made.plan, endsWhereTooLarge: batch > 1 } });
    if (outcome.failure?.kind !== 'out-of-memory' || batch === 1)
      return { ...withNote(outcome, tooLarge, batch), made };
    const next = smaller(Math.floor(batch / 2));
    if (next === undefined || next.plan.batch >= batch)
      return { ...withNote(await run(made), tooLarge, batch), made };
    tooLarge.push(batch);
    made = next;
  }
}

function withNote<Measurements extends WithNotes>(
  outcome: RunnerOutcome<Measurements>,
  tooLarge: readonly number[],
  batch: number,
): RunnerOutcome<Measurements> {
  const { measurements } = outcome;
  const [first] = tooLarge;
  if (measurements === undefined || first === undefined) return outcome;
  const last = tooLarge.at(-1);
  const tried = last === first ? `${first}` : `${first}, and down to ${last}`;
  const note = `The step does not fit into memory at batch ${tried}: batch ${batch} ran, and the prediction is for that`;
  return { ...outcome, measurements: { ...measurements, notes: [note, ...measurements.notes] } };
}
