/**
 * NCCL before 2.4 (January 2019): rings only, in steps that no model of its own describes.
 *
 * A piece of an all-reduce passes 2(p − 1) hops one after another, and where a node has g GPUs one hop in g leaves it.
 * With the latencies of the profiles this is what was fitted to NCCL of the time: 16 GPUs on four nodes 908 µs over 10 GbE
 * and 236 µs over 56 Gb/s InfiniBand, 8 on two nodes 523 and 98 µs, 4 over PCIe 42 µs (HKBU-HPML/MG-WFBP,
 * distributed_optimizer.py, `p_alpha_beta_10Gbps` and `p_alpha_beta_56Gbps`).
 */

import { type Bytes, seconds } from '../../model/units.ts';
import type { Candidate } from '../candidate.ts';
import { busFactor, type CollectiveKind } from '../collectiveKind.ts';
import { type Links, profileHop } from '../links.ts';

export function ringOf23(kind: CollectiveKind, links: Links, size: Bytes): Candidate {
  const { ranks, nodes, gpusPerNode } = links;
  const hops = (kind === 'all-reduce' ? 2 : 1) * (ranks - 1);
  const between = nodes === 1 ? 0 : Math.ceil(hops / gpusPerNode);
  const hop = profileHop(links);
  return {
    algorithm: 'ring',
    protocol: 'Simple',
    startup: seconds((hops - between) * hop.inside + between * hop.between),
    transfer: seconds((size * busFactor(kind, ranks)) / Math.min(links.inside, links.between)),
    slowest: links.between < links.inside ? 'network' : 'link',
  };
}
