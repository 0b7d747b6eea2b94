/** Time of a message from one GPU to another. */

import { linksOf, profileHop } from '../../communication/links.ts';
import type { ClusterProfile } from '../../hardware/clusterProfile.ts';

/** Seconds of `size` bytes: over the link of a node, or through the GPU's own share of the network's ports. */
export function transferTime(cluster: ClusterProfile, crossesNodes: boolean, size: number): number {
  if (size === 0) return 0;
  const placement = crossesNodes ? { nodes: 2, gpusPerNode: 1 } : { nodes: 1, gpusPerNode: 2 };
  const links = linksOf(cluster, placement);
  const hop = profileHop(links);
  return crossesNodes ? hop.between + size / links.between : hop.inside + size / links.inside;
}
