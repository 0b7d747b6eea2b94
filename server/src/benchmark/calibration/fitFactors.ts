/**
 * Factors to what the profile of a GPU says of its kernels, one for each kind, fitted to timings that hold several kernels each.
 *
 * What a kind takes of a model over what the profile says differs from model to model, by shapes that no curve knows. So models count, not
 * timings: random effects with moments (DerSimonian, Laird, "Meta-analysis in clinical trials", Controlled Clinical Trials 7, 1986).
 * The factor of a kind is drawn towards 1 by how far models differ in it, and how far they differ is drawn towards what all kinds have
 * (Smyth, "Linear models and empirical Bayes methods", Statistical Applications in Genetics and Molecular Biology 3, 2004).
 *
 * A timing of several kinds is divided among them by what they are predicted to take, which is repeated as the factors change.
 */

import { stepDoubts } from '../../hardware/kernelDoubt.ts';
import type { KernelRates } from '../../hardware/kernelRates.ts';
import { seconds } from '../../model/units.ts';
import type { KernelTiming } from './fitKernels.ts';
import { fitRows } from './fitRows.ts';
import { meanWidth, stepError } from './stepError.ts';
import { countKinds, type KnownKernels, rowOf } from './timedRows.ts';

export interface TimedModel {
  /** Runs of one file count as one model. */
  readonly model: string;
  readonly timings: readonly KernelTiming[];
}

export function fitFactors(
  models: readonly TimedModel[],
  known: KnownKernels,
): ReadonlyMap<string, KernelRates> {
  const rows = models.flatMap(({ model, timings }) =>
    timings.filter(({ time }) => time > 0).map((timing) => rowOf(model, timing, known)),
  );
  const { kinds } = fitRows(rows);
  // Every step has the doubt that is always there besides.
  const ofStep = Math.sqrt(Math.max(0, (tenths * stepError(rows)) ** 2 - stepDoubts.always ** 2));
  const scale = ofStep / meanWidth(rows, kinds);
  const counted = countKinds(rows);
  return new Map(
    [...kinds].map(([kind, { factor, spread }]) => {
      const width = Math.exp(scale * spread);
      return [
        kind,
        {
          perFlop: seconds(0),
          perByte: seconds(0),
          perLaunch: seconds(0),
          ofProfile: factor,
          low: 1 / width,
          high: width,
          measurements: counted.get(kind) ?? Number.NaN,
        },
      ];
    }),
  );
}

/** From the middle to the 10th and the 90th percentile, in standard deviations. */
const tenths = 1.28;
