/** The range of a step that was measured on one GPU, on several of them. */

import efficiency from '../../hardware/efficiency.json';
import { stepDoubts } from '../../hardware/kernelDoubt.ts';
import type { Range } from '../../model/estimate.ts';
import { expectedMaximum } from './workerImbalance.ts';

/**
 * Factors on what the GPUs compute. A step waits for the slowest of its workers, and processes of several GPUs share a host, so
 * several GPUs are rarely faster than one and often slower. Messages have ranges of their own. Predicted steps need none of
 * this: the ranges of their kernels were fitted to steps of several GPUs, too.
 */
export function givenStepRange(gpus: number, doubt = efficiency.workersDoubt.value): Range {
  if (gpus < 2) return { low: 1, high: 1 };
  const { always } = stepDoubts;
  return {
    low: Math.exp(-always),
    high: Math.exp(Math.hypot(always, doubt * expectedMaximum(gpus))),
  };
}
