/** Time of a kernel without its launch, where it comes from, and how such times add up. */

import type { Range } from '../../model/estimate.ts';
import type { Correction } from '../corrections.ts';
import type { Calibrated } from '../curves.ts';
import type { Nearness } from '../nearestCurve.ts';
import type { BoundTime } from './gemmTime.ts';

export interface BodyTime {
  readonly time: number;
  readonly low: number;
  readonly high: number;
  readonly bound: 'compute' | 'memory' | 'none';
  readonly basis: TimeBasis;
  /** How unlike the GPU is that the basis was measured on. */
  readonly distance: number;
  readonly origin: TimeOrigin | undefined;
}

/** Where a time comes from: a curve and how near it was measured, or assumed shares of a roofline. */
export type TimeBasis = Nearness | 'roofline';

/** A curve of kernels by themselves, or what whole steps of models show. */
export type TimeOrigin =
  | Pick<Calibrated<unknown>, 'gpu' | 'rows'>
  | Pick<Correction, 'gpu' | 'models' | 'ratio'>;

export const spreadOver = ({ time, bound }: BoundTime, calibrated: Calibrated<unknown>): BodyTime => ({
  time,
  low: time * Math.min(1, calibrated.ratio.low),
  high: time * Math.max(1, calibrated.ratio.high),
  bound,
  basis: calibrated.nearness,
  distance: calibrated.distance,
  origin: calibrated,
});

/**
 * Of a kernel that was measured on one GPU, with the cycles that it takes there: by how much instructions differ from GPU to GPU is
 * not known. `low`, `high`: of the time.
 */
export const ofCycles = (
  { time, bound }: BoundTime,
  { low, high }: Range,
  basis: 'measured' | 'generation' = 'generation',
): BodyTime => ({
  time,
  low: time * low,
  high: time * high,
  bound,
  basis,
  distance: 0,
  origin: undefined,
});

export const scaled = (part: BodyTime, count: number): BodyTime => ({
  ...part,
  time: part.time * count,
  low: part.low * count,
  high: part.high * count,
});

/** The same kernel, in doubt as before, where it takes so long. */
export const stretchedTo = (time: number, body: BodyTime): BodyTime => ({
  ...scaled(body, time / body.time),
  time,
});

/**
 * One after the other. The bound is that of the longest; basis and origin are those of the part that is least known, which
 * more bandwidth does not change: what is corrected may not hang on which part is longer.
 */
export function joined(parts: readonly BodyTime[]): BodyTime | undefined {
  const [first] = parts;
  if (first === undefined) return undefined;
  let longest = first;
  let farthest = first;
  let [time, low, high] = [0, 0, 0];
  for (const part of parts) {
    if (part.time > longest.time) longest = part;
    if (part.distance > farthest.distance) farthest = part;
    time += part.time;
    low += part.low;
    high += part.high;
  }
  const { basis, distance, origin } = farthest;
  return { time, low, high, bound: longest.bound, basis, distance, origin };
}
