/**
 * Collectives beside all-reduce over p ranks that are all linked alike.
 *
 * "n" is what nccl-tests call bytes: the whole buffer of a broadcast, and of reduce-scatter, all-gather and
 * all-to-all what one rank holds before or after (p times its share).
 * Source: Thakur, Rabenseifner and Gropp 2005 as given in the comments of MPICH's sources.
 */

import { type Bytes, type Seconds, seconds } from '../../model/units.ts';
import { ceilLog2 } from './allReduce.ts';
import type { LinkCost } from './linkCost.ts';

/** (p−1)α + (p−1)/p·nβ. */
export function ringAllGather(ranks: number, size: Bytes, link: LinkCost): Seconds {
  if (ranks <= 1) return seconds(0);
  return seconds((ranks - 1) * (link.startup + (size / ranks) * link.secondsPerByte));
}

/** (p−1)α + (p−1)/p·n(β + γ). */
export function ringReduceScatter(ranks: number, size: Bytes, link: LinkCost): Seconds {
  if (ranks <= 1) return seconds(0);
  return seconds(
    (ranks - 1) * (link.startup + (size / ranks) * (link.secondsPerByte + link.reduceSecondsPerByte)),
  );
}

/** ⌈lg p⌉(α + nβ). */
export function binomialBroadcast(ranks: number, size: Bytes, link: LinkCost): Seconds {
  return seconds(ceilLog2(ranks) * (link.startup + size * link.secondsPerByte));
}

/** Scatter by a binomial tree, then ring all-gather: (⌈lg p⌉ + p − 1)α + 2(p−1)/p·nβ. */
export function scatterAllGatherBroadcast(ranks: number, size: Bytes, link: LinkCost): Seconds {
  return seconds(
    (ceilLog2(ranks) + ranks - 1) * link.startup + ((2 * (ranks - 1)) / ranks) * size * link.secondsPerByte,
  );
}

/** (p−1)α + (p−1)/p·nβ. */
export const pairwiseAllToAll = ringAllGather;
