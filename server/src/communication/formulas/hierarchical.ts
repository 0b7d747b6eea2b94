/**
 * All-reduce over links of different kinds, level by level: inside a node, between nodes, between racks.
 *
 * Sources: the two-level form is the standard one (reduce-scatter inside, all-reduce between, all-gather inside);
 * its generalisation to d levels is BlueConnect (Cho et al., MLSys 2019).
 */

import { type Bytes, bytes, type Seconds, seconds } from '../../model/units.ts';
import { ringAllReduce } from './allReduce.ts';
import type { LinkCost } from './linkCost.ts';

export interface Level {
  /** p_i: ranks that one group of this level joins. */
  readonly ranks: number;
  /** As one rank sees it: where g ranks share a port, β is g times the port's. */
  readonly link: LinkCost;
}

/**
 * BlueConnect, innermost level first: T = Σ_i 2(p_i−1)α_i + 2(p_i−1)/p_i · n/∏_{j<i} p_j · β_i.
 * A level of one rank costs nothing, so that one level alone is a flat ring.
 */
export function blueConnectAllReduce(levels: readonly Level[], size: Bytes): Seconds {
  let total = 0;
  let share: number = size;
  for (const { ranks, link } of levels) {
    total += ringAllReduce(ranks, bytes(share), link);
    share /= ranks;
  }
  return seconds(total);
}

/** BlueConnect of two levels: T = 2[(g−1)α_i + (g−1)/g·nβ_i] + 2[(k−1)α_e + (k−1)/k·(n/g)β_e]. */
export const twoLevelAllReduce = (inside: Level, between: Level, size: Bytes): Seconds =>
  blueConnectAllReduce([inside, between], size);
