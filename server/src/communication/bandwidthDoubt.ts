/** How far the time of what a link carries may be off, by where its bandwidth comes from. */

import type { Sourced } from '../hardware/clusterProfile.ts';
import type { Range } from '../model/estimate.ts';
import type { BytesPerSecond } from '../model/units.ts';

/**
 * Factors on a predicted time where the bandwidth was measured or follows from a measurement: nine of ten published
 * collectives of 1 MiB and more on healthy systems lie within (`test/validation/collectives.test.ts`).
 */
export const measuredLink: Range = { low: 0.8, high: 1.4 };

/** An assumed bandwidth may be wrong by a factor of three, but no port gives more than its nominal rate. */
const assumedFactor = 3;

/**
 * What TCP moves follows from the rate of its port. By the other sources each of five published rates is off by 14 %, root of
 * the mean square (docs/ACCURACY.md), so that four of five lie within 18 %, which adds as squares to what a measured link leaves.
 */
const derivedTcp = 0.18;

export const tcpLink: Range = {
  low: Math.exp(-Math.hypot(Math.log(measuredLink.low), derivedTcp)),
  high: Math.exp(Math.hypot(Math.log(measuredLink.high), derivedTcp)),
};

/** `nominal`: what all ports give together, where that is known. */
export function bandwidthDoubt(bandwidth: Sourced<BytesPerSecond>, nominal?: number): Range {
  if (!bandwidth.source.startsWith('assumption')) return measuredLink;
  const most = Math.min(assumedFactor, nominal === undefined ? assumedFactor : nominal / bandwidth.value);
  return { low: Math.min(measuredLink.low, 1 / most), high: assumedFactor };
}
