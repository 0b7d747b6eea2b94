/**
 * NCCL 2.4: rings, and double binary trees below a size that its own rough figures give.
 *
 * Source: NVIDIA/nccl 2.4.8, src/init.cc: ring 5,000 MB/s (times the channels with NVLink), tree two thirds of it over
 * PCIe and three quarters with NVLink, doubled at two nodes; ring 6 µs per rank but one, tree 15 µs per level of nodes
 * and 4 µs per further GPU of a node.
 */

import { type Bytes, seconds } from '../../model/units.ts';
import type { Candidate } from '../candidate.ts';
import type { CollectiveKind } from '../collectiveKind.ts';
import { floorLog2 } from '../formulas/allReduce.ts';
import { type Links, profileHop, treeNetwork } from '../links.ts';
import { ringOf23 } from './version23.ts';

/**
 * The faster of what the profile's links and steps give each, for which the rough figures stand in NCCL: rings are those of
 * 2.3 (`version23.ts`), a tree goes up and down the chain of each node's GPUs and its levels of nodes. With the rough
 * figures as times each of BERT's 400 tensors took a fifth less than over InfiniBand it did (arXiv 2005.13247 benchmark).
 */
export function candidatesOf24(kind: CollectiveKind, links: Links, size: Bytes): readonly Candidate[] {
  const ring = ringOf23(kind, links, size);
  if (kind !== 'all-reduce' || links.nodes === 1) return [ring];
  const hop = profileHop(links);
  const network = treeNetwork(links);
  const tree: Candidate = {
    algorithm: 'tree',
    protocol: 'Simple',
    startup: seconds(2 * ((links.gpusPerNode - 1) * hop.inside + floorLog2(links.nodes) * hop.between)),
    transfer: seconds((2 * size) / Math.min(links.inside * singleShare(links), network * singleShare(links))),
    slowest: network < links.inside ? 'network' : 'link',
  };
  return [ring, tree];
}

const singleShare = ({ kind }: Links): number => (kind === 'nvlink' ? 3 / 4 : 2 / 3);
