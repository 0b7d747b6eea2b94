/** The factor of each kind of kernel over models, and how far a further model may be from it. */

export interface FittedKind {
  readonly factor: number;
  /** Standard deviation of the logarithm, of a further model. */
  readonly spread: number;
}

/** By kind and model: what was measured and what the profile says, in seconds. */
export type Divided = ReadonlyMap<
  string,
  ReadonlyMap<string, { readonly measured: number; readonly known: number; readonly share: number }>
>;

export type KindFactors = ReadonlyMap<string, FittedKind>;

/** Standard deviations of natural logarithms, of an H200 and 16 networks (`measured/benchmark-layers-h200.csv`). */
export const prior = {
  /** Of the factors of kinds. */
  factors: 0.1,
  /** Of one kind from model to model, and how many models this counts for. */
  models: 0.18,
  count: 4,
  /** Of whole steps that calibration has not seen. */
  steps: 0.07,
} as const;

/** What no kind of kernel is off by: beyond, a model runs other kernels. */
const farthest = Math.log(20);

/** No kind says more than this of how far kinds differ. */
const most = 0.2;

export function fitKinds(divided: Divided): KindFactors {
  const kinds = [...divided]
    .filter(([, models]) => models.size > 0)
    .map(([kind, models]) => ({ kind, ...moments([...models.values()]) }));
  const freedom = kinds.reduce((sum, { count }) => sum + count - 1, 0);
  const squares = kinds.reduce((sum, { variance, count }) => sum + Math.min(variance, most) * (count - 1), 0);
  const pooled = (prior.count * prior.models ** 2 + squares) / (prior.count + freedom);
  return new Map(
    kinds.map(({ kind, mean, variance, count }) => {
      const own = (prior.count * pooled + (count - 1) * variance) / (prior.count + count - 1);
      const told = prior.factors ** 2 / (prior.factors ** 2 + own / count);
      return [
        kind,
        { factor: Math.exp(told * mean), spread: Math.sqrt(own + (1 - told) * prior.factors ** 2) },
      ];
    }),
  );
}

interface Moments {
  readonly mean: number;
  /** Between models, unbiased; 0 of one model. */
  readonly variance: number;
  /** How many models weighted alike would tell as much. */
  readonly count: number;
}

/** Of logarithms of measured over known. A model counts by what the kind takes of it. */
function moments(
  models: readonly { readonly measured: number; readonly known: number; readonly share: number }[],
): Moments {
  const values = models.map(({ measured, known, share }) => ({
    weight: share,
    ratio: Math.max(-farthest, Math.min(farthest, Math.log(measured / known))),
  }));
  const weights = values.reduce((sum, { weight }) => sum + weight, 0);
  const mean = values.reduce((sum, { weight, ratio }) => sum + weight * ratio, 0) / weights;
  const count = weights ** 2 / values.reduce((sum, { weight }) => sum + weight ** 2, 0);
  const around = values.reduce((sum, { weight, ratio }) => sum + weight * (ratio - mean) ** 2, 0) / weights;
  return { mean, variance: count > 1.01 ? (around * count) / (count - 1) : 0, count };
}
