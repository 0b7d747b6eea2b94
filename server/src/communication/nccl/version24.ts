/**
 * NCCL 2.4: rings, and double binary trees below a size that its own rough figures give.
 *
 * Source: NVIDIA/nccl 2.4.8, src/init.cc: ring 5,000 MB/s (times the channels with NVLink), tree two thirds of it over
 * PCIe and three quarters with NVLink, doubled at two nodes; ring 6 µs per rank but one, tree 15 µs per level of nodes
 * and 4 µs per further GPU of a node.
 */

import { type Bytes, bytes, microseconds, seconds } from '../../model/units.ts';
import type { Candidate } from '../candidate.ts';
import { busFactor, type CollectiveKind } from '../collectiveKind.ts';
import { floorLog2 } from '../formulas/allReduce.ts';
import { type Links, treeNetwork } from '../links.ts';

/** Bytes below which 2.4 takes the tree: r·t/(r−t)·(ring latency − tree latency), in MB/s and µs; 0 for never. */
export function treeThreshold24(links: Links): Bytes {
  const ring = 5000 * (links.kind === 'nvlink' ? links.channels : 1);
  const tree = ring * treeShare(links);
  const gain = ringLatency(links) - treeLatency(links);
  if (gain <= 0) return bytes(0);
  if (tree >= ring) return bytes(Number.POSITIVE_INFINITY);
  return bytes(((ring * tree) / (ring - tree)) * gain);
}

/** Bandwidths are the profile's, shares and latencies 2.4's. */
export function candidatesOf24(kind: CollectiveKind, links: Links, size: Bytes): readonly Candidate[] {
  const bus = Math.min(links.inside, links.between);
  const slowest = links.between < links.inside ? 'network' : 'link';
  const extra = (steps: number, levels: number) =>
    Math.max(0, steps * links.extraLink + levels * links.extraNetwork) * 1e6;
  const rounds = kind === 'all-reduce' ? 2 : 1;
  const { ranks, nodes } = links;
  const moved = size * busFactor(kind, ranks);
  const ring: Candidate = {
    algorithm: 'ring',
    protocol: 'Simple',
    startup: microseconds(
      (ringLatency(links) * rounds) / 2 + extra(rounds * (ranks - nodes), rounds * (nodes - 1)),
    ),
    transfer: seconds(moved / bus),
    slowest,
  };
  if (kind !== 'all-reduce' || nodes === 1) return [ring];
  const network = treeNetwork(links);
  const tree: Candidate = {
    algorithm: 'tree',
    protocol: 'Simple',
    startup: microseconds(treeLatency(links) + extra(2 * (links.gpusPerNode - 1), 2 * floorLog2(nodes))),
    transfer: seconds((2 * size) / Math.min(links.inside * singleShare(links), network * singleShare(links))),
    slowest: network < links.inside ? 'network' : 'link',
  };
  return [ring, tree];
}

const singleShare = ({ kind }: Links): number => (kind === 'nvlink' ? 3 / 4 : 2 / 3);
const treeShare = (links: Links): number => singleShare(links) * (links.nodes === 2 ? 2 : 1);
const ringLatency = ({ ranks }: Links): number => 6 * (ranks - 1);
const treeLatency = ({ nodes, gpusPerNode }: Links): number => 15 * floorLog2(nodes) + 4 * (gpusPerNode - 1);
