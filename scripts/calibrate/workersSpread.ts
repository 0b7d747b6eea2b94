/** How much longer than on one GPU a given step may take on several, messages apart: fitted to measured steps. */

import { givenStepFactors } from '../../server/src/estimate/plan/givenStepFactors.ts';
import { independentRange } from '../../server/src/estimate/plan/independentRange.ts';
import type { Range } from '../../server/src/model/estimate.ts';
import { type Seconds, seconds } from '../../server/src/model/units.ts';

/** A step of several GPUs with the ends of its causes, each with the others in the middle. */
export interface GivenStep {
  /** Publication, which is left out as a whole. */
  readonly source: string;
  readonly gpus: number;
  readonly measured: number;
  readonly predicted: number;
  readonly computed: Range<Seconds>;
  readonly sent: Range<Seconds>;
}

/** Its range with another standard deviation of the workers' times at most. */
export function rangeWith(
  { gpus, predicted, computed: { low, high }, sent }: Omit<GivenStep, 'source' | 'measured'>,
  spread: number,
): Range<Seconds> {
  const moved = seconds((high * factorOf(gpus, spread)) / factorOf(gpus));
  return independentRange(seconds(predicted), [{ low, high: moved }, sent]);
}

const known = new Map<string, number>();

function factorOf(gpus: number, spread?: number): number {
  const key = `${gpus} ${spread}`;
  const factor = known.get(key) ?? givenStepFactors(gpus, spread).high;
  known.set(key, factor);
  return factor;
}

/**
 * The standard deviation above whose range a tenth of the measured steps lie: quantile regression in logarithms. Steps of a
 * source share their machine and releases: n of them weigh as n^0.4.
 */
export function fitWorkersSpread(steps: readonly GivenStep[]): number {
  const rows = new Map<string, number>();
  for (const { source } of steps) rows.set(source, (rows.get(source) ?? 0) + 1);
  const losses = candidates.map((spread) => {
    let sum = 0;
    for (const step of steps) {
      const above = Math.log(step.measured / rangeWith(step, spread).high);
      sum += (above > 0 ? quantile * above : (quantile - 1) * above) / (rows.get(step.source) ?? 1) ** 0.6;
    }
    return sum;
  });
  return candidates[losses.indexOf(Math.min(...losses))] ?? Number.NaN;
}

const quantile = 0.9;
const candidates = Array.from({ length: 121 }, (_, index) => index * 0.005);
