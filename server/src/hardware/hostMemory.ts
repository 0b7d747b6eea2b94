/** How fast the processors of a node read and write their memory, for work that streams through it. */

import type { Estimate } from '../model/estimate.ts';
import { type BytesPerSecond, bytesPerSecond } from '../model/units.ts';
import type { Host } from './clusterProfile.ts';

/** Of a whole node; `undefined` where its profile does not say what memory it has. */
export function hostMemoryRate(host: Pick<Host, 'memoryBandwidth'> | undefined): Estimate<BytesPerSecond> {
  const peak = host?.memoryBandwidth?.value;
  if (peak === undefined) return usualHosts;
  return {
    middle: bytesPerSecond(streamed.middle * peak),
    low: bytesPerSecond(streamed.low * peak),
    high: bytesPerSecond(streamed.high * peak),
  };
}

/**
 * Of the peak: STREAM (McCalpin) reaches four fifths on servers of two sockets with all threads. A process whose memory lies on
 * one socket has half of it.
 */
const streamed = { middle: 0.8, low: 0.4, high: 0.9 };

/**
 * From two channels of DDR5-4800, a desktop's, to two sockets of eight; four fifths of their mean by ratio. An assumption that
 * spans the hosts of GPUs.
 */
const usualHosts: Estimate<BytesPerSecond> = {
  middle: bytesPerSecond(0.8 * Math.sqrt(76.8e9 * 614.4e9)),
  low: bytesPerSecond(0.8 * 76.8e9),
  high: bytesPerSecond(0.8 * 614.4e9),
};
