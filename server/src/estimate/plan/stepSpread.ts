/** The range of a whole step, which is surer than its kernels: their errors do not all go the same way. */

import { isAssumedLaunch } from '../../frameworks/pytorch/eagerLaunch.ts';
import { stepWidth } from '../../hardware/kernelDoubt.ts';
import type { Estimate, Range } from '../../model/estimate.ts';
import { sumOf } from '../../model/sumOf.ts';
import type { Seconds } from '../../model/units.ts';
import type { GradientTimes } from './gradientTimes.ts';
import type { OperatorTimes, PassTimes, WeightTimes } from './operatorTimes.ts';

/** What the GPU computes in a pass and an update, and what its host takes to launch a kernel, in seconds. */
export interface SpreadWork {
  readonly times: OperatorTimes;
  readonly updateTimes: PassTimes;
  readonly gradientTimes?: GradientTimes;
  readonly isTraining: boolean;
  readonly launch: Estimate<Seconds>;
}

/** Times of the step over those predicted: 80 % of what is measured should lie between. */
export function stepSpread({ times, updateTimes, gradientTimes, isTraining, launch }: SpreadWork): Range {
  const handled = gradientTimes === undefined ? [] : [gradientTimes.last];
  const passes = [times.forward, ...(isTraining ? [times.backward, updateTimes, ...handled] : [])];
  const sum = (column: keyof PassTimes): number =>
    passes.reduce((total, pass) => total + sumOf(pass[column]), 0);
  const device = sum('middle');
  const launches = sum('launches');
  const whole = Math.max(device, launches * launch.middle);
  if (whole === 0) return { low: 1, high: 1 };
  const width = stepWidth({
    own: sum('doubtOwn') / whole,
    other: sum('doubtOther') / whole,
    roofline: sum('doubtRoofline') / whole,
    launches: isAssumedLaunch(launch) ? (launches * launch.middle) / whole : 0,
  });
  // How fast the host is nobody knows; it matters where it decides.
  const hostLow = Math.log(whole / Math.max(device, launches * launch.low));
  const hostHigh = Math.log(Math.max(whole, launches * launch.high) / whole);
  return { low: Math.exp(-Math.hypot(width, hostLow)), high: Math.exp(Math.hypot(width, hostHigh)) };
}

/** The same times with the bounds of a whole step in the place of those of its kernels. */
export const spreadTimes = (times: PassTimes, { low, high }: Range): PassTimes => ({
  ...times,
  low: times.middle.map((time) => time * low),
  high: times.middle.map((time) => time * high),
});

export const spreadWeights = (times: WeightTimes, { low, high }: Range): WeightTimes => ({
  ...times,
  low: times.middle.map((time) => time * low),
  high: times.middle.map((time) => time * high),
});
