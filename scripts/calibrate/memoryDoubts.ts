/** How far tensors of a step may take more or less memory than predicted: fitted to published peaks. */

import type { Range } from '../../server/src/model/estimate.ts';

export interface DoubtedPeak {
  /** Publication, which is left out as a whole. */
  readonly source: string;
  /** ln(measured / predicted). */
  readonly error: number;
}

/**
 * Half-widths below and above whose range a tenth of the peaks lie each: quantile regression. n peaks of a source weigh as
 * n^0.4, as steps do (`workersSpread.ts`).
 */
export function fitMemoryDoubt(peaks: readonly DoubtedPeak[]): Range {
  const rows = new Map<string, number>();
  for (const { source } of peaks) rows.set(source, (rows.get(source) ?? 0) + 1);
  const widthOf = (deviation: (error: number) => number): number => {
    const losses = candidates.map((width) =>
      peaks.reduce((sum, { source, error }) => {
        const above = deviation(error) - width;
        return sum + (above > 0 ? quantile * above : (quantile - 1) * above) / (rows.get(source) ?? 1) ** 0.6;
      }, 0),
    );
    return candidates[losses.indexOf(Math.min(...losses))] ?? Number.NaN;
  };
  return { low: widthOf((error) => -error), high: widthOf((error) => error) };
}

const quantile = 0.9;
const candidates = Array.from({ length: 1501 }, (_, index) => index / 1000);
