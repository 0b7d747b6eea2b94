/** What a step that was measured on one GPU takes on several of them, messages apart. */

import efficiency from '../../hardware/efficiency.json';
import type { Estimate } from '../../model/estimate.ts';
import { expectedMaximum } from './workerImbalance.ts';

/** Standard deviation of the workers' times over their mean: as it is mostly, and at most. */
export const workersSpread: { readonly middle: number; readonly high: number } = efficiency.workersSpread;

/**
 * Factors on what the GPUs compute. A step waits for the slowest of its workers, and processes of several GPUs share a host, so
 * several GPUs are rarely faster than one and often slower. At least workers are alike, and runs differ by as much as runs of one
 * job do. Messages have ranges of their own. Predicted steps need none of this: the ranges of their kernels were fitted to steps
 * of several GPUs, too.
 */
export function givenStepFactors(gpus: number, high = workersSpread.high): Estimate {
  if (gpus < 2) return { low: 1, middle: 1, high: 1 };
  const slowest = expectedMaximum(gpus);
  const runs = efficiency.runsDiffer.value;
  return {
    low: Math.exp(-runs),
    middle: 1 + workersSpread.middle * slowest,
    high: Math.exp(Math.hypot(runs, Math.log(1 + high * slowest))),
  };
}
