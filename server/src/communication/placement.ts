/** How the GPUs of a job lie on the nodes of a cluster. */

import type { ClusterProfile } from '../hardware/clusterProfile.ts';

export interface Placement {
  readonly nodes: number;
  /** GPUs used on each node. */
  readonly gpusPerNode: number;
}

/** The same number of GPUs on every node; a remainder counts as a full share, as the ring waits for the largest. */
export function placeGpus(gpus: number, nodes: number): Placement {
  return { nodes, gpusPerNode: Math.ceil(gpus / nodes) };
}

/** The fewest nodes that hold `gpus`. */
export const nodesFor = (cluster: ClusterProfile, gpus: number): number =>
  Math.ceil(gpus / cluster.gpusPerNode.value);
