/** The built-in clusters, described for a picker. */

import { builtInClusters } from '../hardware/clusters.ts';
import type { ClusterChoice } from '../protocol.ts';

export function clusterChoices(): readonly ClusterChoice[] {
  return builtInClusters.map((cluster) => ({
    name: cluster.name,
    title: cluster.title,
    gpu: cluster.gpu.title,
    gpusPerNode: cluster.gpusPerNode.value,
    links: [cluster.link?.title, cluster.network?.title].filter((part) => part !== undefined).join(', '),
    kind: cluster.name === cluster.gpu.name ? 'gpu' : 'cluster',
  }));
}
