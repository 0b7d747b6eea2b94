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
 * Of a process with one thread. STREAM Triad of one thread: 12.2 GB/s on a Xeon 8176, 18.6 on a Xeon E5-2699 v4 and 27.5 on an
 * EPYC 7601 (AnandTech, "Sizing Up Servers: Intel's Skylake-SP Xeon versus AMD's EPYC 7000", 2017).
 */
export const rateOfThread: Estimate<BytesPerSecond> = {
  middle: bytesPerSecond(18.6e9),
  low: bytesPerSecond(12.2e9),
  high: bytesPerSecond(27.5e9),
};

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
