/** Kernel times of one machine by kind, as a profile has them. */

import type { Seconds } from '../model/units.ts';

export interface MeasuredKernels {
  /** What was measured, where and when. */
  readonly source: string;
  readonly kinds: ReadonlyMap<string, KernelRates>;
}

export interface KernelRates {
  readonly perFlop: Seconds;
  readonly perByte: Seconds;
  readonly perLaunch: Seconds;
  /** Times what is known of the GPU's kernels, in place of the three; for a GPU that has a profile. */
  readonly ofProfile?: number;
  /** Measured over fitted: from the 10th to the 90th percentile of the time. */
  readonly low: number;
  readonly high: number;
  /** Timings that hold such kernels. */
  readonly measurements: number;
}
