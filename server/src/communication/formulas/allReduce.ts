/**
 * All-reduce of n bytes over p ranks that are all linked alike, by the algorithms libraries choose from.
 *
 * Sources: Thakur, Rabenseifner and Gropp 2005 as given in the comments of MPICH's sources; the ring is
 * Patarasuk and Yuan 2009.
 */

import { type Bytes, type Seconds, seconds } from '../../model/units.ts';
import type { LinkCost } from './linkCost.ts';

/** 2(p−1)α + 2(p−1)/p·nβ + (p−1)/p·nγ: bandwidth-optimal. */
export function ringAllReduce(ranks: number, size: Bytes, link: LinkCost): Seconds {
  if (ranks <= 1) return seconds(0);
  const share = (ranks - 1) / ranks;
  return seconds(
    2 * (ranks - 1) * link.startup +
      2 * share * size * link.secondsPerByte +
      share * size * link.reduceSecondsPerByte,
  );
}

/**
 * lg p·(α + nβ + nγ). Where p is no power of two, the ranks above the power below fold theirs into a partner
 * first and get the result after: two more messages and one more reduction (MPICH, allreduce recursive doubling).
 */
export function recursiveDoublingAllReduce(ranks: number, size: Bytes, link: LinkCost): Seconds {
  const rounds = floorLog2(ranks);
  const folds = isPowerOfTwo(ranks) ? 0 : 1;
  return seconds(
    (rounds + 2 * folds) * (link.startup + size * link.secondsPerByte) +
      (rounds + folds) * size * link.reduceSecondsPerByte,
  );
}

/**
 * Rabenseifner: reduce-scatter by recursive halving, all-gather by recursive doubling:
 * 2·lg p·α + 2(p−1)/p·nβ + (p−1)/p·nγ; where p is no power of two
 * (2⌊lg p⌋ + 2)α + (2(p−1)/p + 2)nβ + (1 + (p−1)/p)nγ.
 */
export function halvingDoublingAllReduce(ranks: number, size: Bytes, link: LinkCost): Seconds {
  if (ranks <= 1) return seconds(0);
  const share = (ranks - 1) / ranks;
  const folds = isPowerOfTwo(ranks) ? 0 : 1;
  return seconds(
    (2 * floorLog2(ranks) + 2 * folds) * link.startup +
      (2 * share + 2 * folds) * size * link.secondsPerByte +
      (share + folds) * size * link.reduceSecondsPerByte,
  );
}

const isPowerOfTwo = (count: number): boolean => Number.isInteger(Math.log2(count));
export const floorLog2 = (count: number): number => Math.floor(Math.log2(count));
export const ceilLog2 = (count: number): number => Math.ceil(Math.log2(count));
