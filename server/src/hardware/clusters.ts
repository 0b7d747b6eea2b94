/** The built-in clusters: nodes with links and network, and every GPU as a one-GPU cluster of its own name. */

import { type ClusterProfile, singleGpuCluster } from './clusterProfile.ts';
import { builtInGpus, findGpu } from './gpus.ts';
import { clusterProfileOfFile } from './profileOfFile.ts';
import dgx1V100 from './profiles/clusters/dgx-1-v100.json';
import dgxA100 from './profiles/clusters/dgx-a100.json';
import dgxH100 from './profiles/clusters/dgx-h100.json';
import h2008x from './profiles/clusters/h200-8x.json';
import k8010gbe from './profiles/clusters/k80-10gbe.json';
import rtx4090Workstation from './profiles/clusters/rtx-4090-workstation.json';
import t4Cloud from './profiles/clusters/t4-cloud.json';

export const builtInClusters: readonly ClusterProfile[] = [
  ...[k8010gbe, dgx1V100, t4Cloud, dgxA100, rtx4090Workstation, dgxH100, h2008x].flatMap((file) => {
    const gpu = findGpu(file.gpu);
    return gpu === undefined ? [] : [clusterProfileOfFile(file, gpu)];
  }),
  ...builtInGpus.map(singleGpuCluster),
];

/** A built-in cluster or GPU by name, in any case; `undefined` for a name that is not built in. */
export function findCluster(name: string): ClusterProfile | undefined {
  return byName.get(name.toLowerCase());
}

const byName: ReadonlyMap<string, ClusterProfile> = new Map(
  builtInClusters.map((cluster) => [cluster.name, cluster]),
);
