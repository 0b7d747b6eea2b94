/** Where the ranks of a part of a job lie, and with how many like parts they share the network. */

import type { ClusterProfile } from '../hardware/clusterProfile.ts';
import type { CollectiveOperation } from './operation.ts';
import type { Placement } from './placement.ts';

export interface GroupPlacement {
  readonly placement: Placement;
  /** Collectives of like groups on the same ports at a time, for `CollectiveRequest.concurrent`. */
  readonly concurrent: number;
}

/**
 * The groups of a node's GPUs are apart from one another. Those across nodes, one of each place in a node, run at once:
 * each has the ports nearest its GPUs, and where there are fewer ports than GPUs several share one.
 */
export function placeGroup(
  cluster: ClusterProfile,
  placement: Placement,
  group: CollectiveOperation['over'],
): GroupPlacement {
  const { nodes, gpusPerNode } = placement;
  if (group === 'all') return { placement, concurrent: 1 };
  if (group === 'node') return { placement: { nodes: 1, gpusPerNode }, concurrent: 1 };
  if (group === 'first of each node') return { placement: { nodes, gpusPerNode: 1 }, concurrent: 1 };
  const ports = cluster.network?.nics.value ?? 1;
  const portsOfOne = Math.ceil(ports / cluster.gpusPerNode.value);
  return {
    placement: { nodes, gpusPerNode: 1 },
    concurrent: Math.max(1, (gpusPerNode * portsOfOne) / ports),
  };
}
