/** How much longer than on one GPU a given step may take on several, messages apart: fitted to measured steps. */

import { givenStepRange } from '../../server/src/estimate/plan/givenStepRange.ts';
import type { Range } from '../../server/src/model/estimate.ts';

export interface GivenStep {
  /** Publication, which is left out as a whole. */
  readonly source: string;
  readonly gpus: number;
  readonly measured: number;
  /** As predicted with the half-width that is in use. */
  readonly range: Range;
}

/** By how much the upper end moves with another half-width: what messages add to it stays. */
export const highWith = ({ gpus, range }: Pick<GivenStep, 'gpus' | 'range'>, doubt: number): number =>
  (range.high / givenStepRange(gpus).high) * givenStepRange(gpus, doubt).high;

/**
 * The half-width above whose range a tenth of the measured steps lie: quantile regression in logarithms. Steps of a source share
 * their machine and releases: n of them weigh as n^0.4.
 */
export function fitWorkersDoubt(steps: readonly GivenStep[]): number {
  const rows = new Map<string, number>();
  for (const { source } of steps) rows.set(source, (rows.get(source) ?? 0) + 1);
  const loss = (doubt: number): number => {
    let sum = 0;
    for (const step of steps) {
      const above = Math.log(step.measured / highWith(step, doubt));
      sum += (above > 0 ? quantile * above : (quantile - 1) * above) / (rows.get(step.source) ?? 1) ** 0.6;
    }
    return sum;
  };
  const losses = candidates.map(loss);
  return candidates[losses.indexOf(Math.min(...losses))] ?? Number.NaN;
}

const quantile = 0.9;
const candidates = Array.from({ length: 121 }, (_, index) => index * 0.005);
