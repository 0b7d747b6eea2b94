/** Numbers of GPUs that a scaling curve of a cluster shows where nobody said which. */

import type { ClusterProfile } from '../../hardware/clusterProfile.ts';

/** Doubling within a node, then doubling nodes, up to eight nodes, 64 GPUs or twice as many as are `asked`; those too. */
export function gpuCounts({ gpusPerNode, network }: ClusterProfile, asked = 1): readonly number[] {
  const node = gpusPerNode.value;
  const most = network === undefined ? node : Math.max(leastOfAll, leastNodes * node, 2 * asked);
  const counts = new Set([node, Math.min(asked, most)]);
  for (let gpus = 1; gpus < node; gpus *= 2) counts.add(gpus);
  for (let gpus = node; gpus <= most; gpus *= 2) counts.add(gpus);
  return [...counts].sort((one, other) => one - other);
}

const leastOfAll = 64;
const leastNodes = 8;
