/**
 * What a link costs in the literature's terms: α per message, β per byte, γ per byte that is reduced.
 *
 * Links are full duplex, and a rank sends one message and receives one at a time.
 */

import { type Bytes, type Seconds, seconds } from '../../model/units.ts';

export interface LinkCost {
  /** α, per message. */
  readonly startup: Seconds;
  /** β, the reciprocal of the bandwidth. */
  readonly secondsPerByte: number;
  /** γ, of the reduction itself; 0 where it keeps pace with the link. */
  readonly reduceSecondsPerByte: number;
}

/** a + b·n, as a fit of measured collectives gives it. */
export interface LinearCost {
  readonly startup: Seconds;
  readonly secondsPerByte: number;
}

export const linearTime = ({ startup, secondsPerByte }: LinearCost, size: Bytes): Seconds =>
  seconds(startup + secondsPerByte * size);

/**
 * Ordinary least squares of time on bytes, the recipe of MG-WFBP (HKBU-HPML/MG-WFBP, distributed_optimizer.py).
 * `undefined` for fewer than two sizes; a fit may have a negative start-up, which the caller judges.
 */
export function fitLinearCost(
  points: readonly { readonly size: Bytes; readonly time: Seconds }[],
): LinearCost | undefined {
  const count = points.length;
  const meanSize = points.reduce((total, { size }) => total + size, 0) / count;
  const meanTime = points.reduce((total, { time }) => total + time, 0) / count;
  const spread = points.reduce((total, { size }) => total + (size - meanSize) ** 2, 0);
  if (count < 2 || spread === 0) return undefined;
  const together = points.reduce((total, { size, time }) => total + (size - meanSize) * (time - meanTime), 0);
  const slope = together / spread;
  return { startup: seconds(meanTime - slope * meanSize), secondsPerByte: slope };
}
