/** Fits positive parameters by trying factors on one after the other, for losses without a gradient. */

/** Gives the best parameters found; `limits` are upper bounds by position. */
export function descend(
  start: readonly number[],
  limits: readonly number[],
  loss: (parameters: readonly number[]) => number,
): { readonly parameters: readonly number[]; readonly loss: number } {
  let best = start;
  let bestLoss = loss(start);
  for (const factors of rounds) {
    for (let position = 0; position < start.length; position += 1) {
      for (const factor of factors) {
        const value = Math.min((best[position] ?? 0) * factor, limits[position] ?? Number.POSITIVE_INFINITY);
        const candidate = best.with(position, value);
        const candidateLoss = loss(candidate);
        if (candidateLoss < bestLoss) {
          best = candidate;
          bestLoss = candidateLoss;
        }
      }
    }
  }
  return { parameters: best, loss: bestLoss };
}

const coarse = [0.4, 0.6, 0.8, 1.25, 1.6, 2.5];
const fine = [0.85, 0.93, 1.07, 1.17];
const finest = [0.96, 0.985, 1.015, 1.04];
const rounds = [coarse, coarse, fine, coarse, fine, fine, finest, finest];

/** Mean of |ln(predicted / measured)|, each row at most 1: outliers are judged, but do not steer. */
export function logLoss(predicted: readonly number[], measured: readonly number[]): number {
  let sum = 0;
  for (const [index, value] of predicted.entries()) {
    sum += Math.min(1, Math.abs(Math.log(value / (measured[index] ?? value))));
  }
  return sum / predicted.length;
}

export interface Residuals {
  readonly rows: number;
  /** Of predicted / measured. */
  readonly median: number;
  readonly tenth: number;
  readonly ninetieth: number;
  /** Of |predicted / measured − 1|. */
  readonly medianError: number;
  readonly meanError: number;
}

export function residuals(predicted: readonly number[], measured: readonly number[]): Residuals {
  const ratios = predicted.map((value, index) => value / (measured[index] ?? value)).sort((a, b) => a - b);
  const errors = ratios.map((ratio) => Math.abs(ratio - 1)).sort((a, b) => a - b);
  return {
    rows: ratios.length,
    median: quantile(ratios, 0.5),
    tenth: quantile(ratios, 0.1),
    ninetieth: quantile(ratios, 0.9),
    medianError: quantile(errors, 0.5),
    meanError: errors.reduce((sum, error) => sum + error, 0) / Math.max(1, errors.length),
  };
}

/** `sorted` ascending. */
export const quantile = (sorted: readonly number[], share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
