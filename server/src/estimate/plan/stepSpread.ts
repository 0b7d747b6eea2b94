/** The range of a whole step, which is surer than its kernels: their errors do not all go the same way. */

import { isAssumedLaunch } from '../../frameworks/pytorch/eagerLaunch.ts';
import { type Sides, stepWidth } from '../../hardware/kernelDoubt.ts';
import type { Estimate, Range } from '../../model/estimate.ts';
import { sumOf } from '../../model/sumOf.ts';
import type { Seconds } from '../../model/units.ts';
import type { GradientTimes } from './gradientTimes.ts';
import {
  columnsBy,
  type OperatorTimes,
  type PassTimes,
  type UpdateTimes,
  type WeightTimes,
} from './operatorTimes.ts';

/** What the GPU computes in a step, and what its host takes to launch a kernel, in seconds. */
export interface SpreadWork {
  readonly times: OperatorTimes;
  /** How often it goes forward and backward before it updates. */
  readonly passes: number;
  readonly updateTimes: UpdateTimes;
  readonly gradientTimes?: GradientTimes;
  readonly isTraining: boolean;
  readonly launch: Estimate<Seconds>;
  /** While the GPU waits for its host, beside launches. */
  readonly waits: Estimate<Seconds>;
  /** Of a framework of 2015 to 2019. */
  readonly isOld: boolean;
}

/** Times of the step over those predicted: 80 % of what is measured should lie between. */
export function stepSpread(work: SpreadWork): Range {
  const sum = sumsOf(work);
  const device = sum('middle');
  const launches = launchesOf(work);
  const whole = Math.max(device, launches * work.launch.middle) + work.waits.middle;
  if (whole === 0) return { low: 1, high: 1 };
  const share = (column: keyof PassTimes): number => sum(column) / whole;
  const width = stepWidth({
    steps: { low: share('doubtStepsLow'), high: share('doubtStepsHigh') },
    matmul: share('doubtMatmul'),
    convolution: share('doubtConvolution'),
    other: share('doubtOther'),
    roofline: share('doubtRoofline'),
    assumed: share('doubtAssumed'),
    isOld: work.isOld,
  });
  const host = hostWidth(work.launch, device, launches, work.waits);
  return {
    low: Math.exp(-Math.hypot(width.low, host.low)),
    high: Math.exp(Math.hypot(width.high, host.high)),
  };
}

/** What the host does in a step, in launches. */
export const launchesOf = (work: ComputedWork): number =>
  sumsOf(work)('launches') +
  (work.isTraining ? work.updateTimes.hostLaunches - sumOf(work.updateTimes.launches) : 0);

type ComputedWork = Omit<SpreadWork, 'launch' | 'waits' | 'isOld'>;

/** Of columns over the step. */
export function sumsOf({
  times,
  passes,
  updateTimes,
  gradientTimes,
  isTraining,
}: ComputedWork): (column: keyof PassTimes) => number {
  const repeated = isTraining ? [times.forward, times.backward] : [times.forward];
  const once = isTraining ? [updateTimes, ...(gradientTimes === undefined ? [] : [gradientTimes.last])] : [];
  return (column) => {
    const ofPass = repeated.reduce((total, pass) => total + sumOf(pass[column]), 0);
    return once.reduce((total, pass) => total + sumOf(pass[column]), passes * ofPass);
  };
}

/**
 * Half-widths for how fast the host launches, which nobody knows: it matters where it decides, and where the GPU waits for it.
 * `device`: seconds of kernels.
 */
export function hostWidth(
  launch: Estimate<Seconds>,
  device: number,
  launches: number,
  waits: Estimate<Seconds>,
): Sides {
  const usual = isAssumedLaunch(launch) ? launch : { ...launch, low: launch.middle, high: launch.middle };
  const whole = Math.max(device, launches * usual.middle);
  const launching = {
    low: Math.max(device, launches * usual.low),
    high: Math.max(whole, launches * usual.high),
  };
  const middle = whole + waits.middle;
  return {
    low: Math.log(middle / (launching.low + waits.low)),
    high: Math.log((launching.high + waits.high) / middle),
  };
}

/** The same times with the bounds of a whole step in the place of those of its kernels. */
export const spreadTimes = (times: PassTimes, { low, high }: Range): PassTimes =>
  columnsBy((key) => {
    if (key !== 'low' && key !== 'high') return times[key];
    const factor = key === 'low' ? low : high;
    return times.middle.map((time) => time * factor);
  });

export const spreadWeights = (times: WeightTimes, { low, high }: Range): WeightTimes => ({
  ...times,
  low: times.middle.map((time) => time * low),
  high: times.middle.map((time) => time * high),
});
