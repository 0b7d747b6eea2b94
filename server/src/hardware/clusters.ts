/** The built-in clusters: nodes with links and network, and every GPU as a one-GPU cluster of its own name. */

import { didYouMeanOneOf, lettersAndDigits } from '../model/likelyNames.ts';
import { type ClusterProfile, singleGpuCluster } from './clusterProfile.ts';
import { builtInGpus, findGpu } from './gpus.ts';
import { type ClusterFile, clusterProfileOfFile } from './profileOfFile.ts';
import a2Highgpu8g from './profiles/clusters/a2-highgpu-8g.json';
import a2Ultragpu8g from './profiles/clusters/a2-ultragpu-8g.json';
import a3Highgpu8g from './profiles/clusters/a3-highgpu-8g.json';
import a3Megagpu8g from './profiles/clusters/a3-megagpu-8g.json';
import a3Ultragpu8g from './profiles/clusters/a3-ultragpu-8g.json';
import a4Highgpu8g from './profiles/clusters/a4-highgpu-8g.json';
import a800Node from './profiles/clusters/a800-node.json';
import blueWatersXk from './profiles/clusters/blue-waters-xk.json';
import bmGpuA100V28 from './profiles/clusters/bm-gpu-a100-v2-8.json';
import bmGpuB2008 from './profiles/clusters/bm-gpu-b200-8.json';
import bmGpuH1008 from './profiles/clusters/bm-gpu-h100-8.json';
import bmGpuH2008 from './profiles/clusters/bm-gpu-h200-8.json';
import bmGpuMi300x8 from './profiles/clusters/bm-gpu-mi300x-8.json';
import cpu1gbe from './profiles/clusters/cpu-1gbe.json';
import cpu10gbe from './profiles/clusters/cpu-10gbe.json';
import dgx1P100 from './profiles/clusters/dgx-1-p100.json';
import dgx1V100 from './profiles/clusters/dgx-1-v100.json';
import dgx2 from './profiles/clusters/dgx-2.json';
import dgxA100 from './profiles/clusters/dgx-a100.json';
import dgxB200 from './profiles/clusters/dgx-b200.json';
import dgxB300 from './profiles/clusters/dgx-b300.json';
import dgxH100 from './profiles/clusters/dgx-h100.json';
import dgxH200 from './profiles/clusters/dgx-h200.json';
import g2Standard96 from './profiles/clusters/g2-standard-96.json';
import g4dn12xlarge from './profiles/clusters/g4dn-12xlarge.json';
import g548xlarge from './profiles/clusters/g5-48xlarge.json';
import g648xlarge from './profiles/clusters/g6-48xlarge.json';
import g6e48xlarge from './profiles/clusters/g6e-48xlarge.json';
import gb200Nvl72 from './profiles/clusters/gb200-nvl72.json';
import gb300Nvl72 from './profiles/clusters/gb300-nvl72.json';
import h20Node from './profiles/clusters/h20-node.json';
import h800Node from './profiles/clusters/h800-node.json';
import k8010gbe from './profiles/clusters/k80-10gbe.json';
import l40sNode from './profiles/clusters/l40s-node.json';
import lambdaB200 from './profiles/clusters/lambda-b200.json';
import lambdaH100 from './profiles/clusters/lambda-h100.json';
import mi300xNode from './profiles/clusters/mi300x-node.json';
import mi325xNode from './profiles/clusters/mi325x-node.json';
import ndH100V5 from './profiles/clusters/nd-h100-v5.json';
import ndH200V5 from './profiles/clusters/nd-h200-v5.json';
import ndMi300xV5 from './profiles/clusters/nd-mi300x-v5.json';
import ndmA100V4 from './profiles/clusters/ndm-a100-v4.json';
import p28xlarge from './profiles/clusters/p2-8xlarge.json';
import p316xlarge from './profiles/clusters/p3-16xlarge.json';
import p4d24xlarge from './profiles/clusters/p4d-24xlarge.json';
import p4de24xlarge from './profiles/clusters/p4de-24xlarge.json';
import p548xlarge from './profiles/clusters/p5-48xlarge.json';
import p5e48xlarge from './profiles/clusters/p5e-48xlarge.json';
import p5en48xlarge from './profiles/clusters/p5en-48xlarge.json';
import p6B20048xlarge from './profiles/clusters/p6-b200-48xlarge.json';
import p6B30048xlarge from './profiles/clusters/p6-b300-48xlarge.json';
import p40Infiniband from './profiles/clusters/p40-infiniband.json';
import rtx3090Workstation from './profiles/clusters/rtx-3090-workstation.json';
import rtx4090Workstation from './profiles/clusters/rtx-4090-workstation.json';
import rtxPro6000Node from './profiles/clusters/rtx-pro-6000-node.json';
import v100Infiniband from './profiles/clusters/v100-infiniband.json';

/** Oldest first. */
const clusterFiles: readonly (ClusterFile & { readonly gpu: string })[] = [
  cpu1gbe,
  cpu10gbe,
  blueWatersXk,
  k8010gbe,
  p28xlarge,
  p40Infiniband,
  dgx1P100,
  v100Infiniband,
  dgx1V100,
  p316xlarge,
  dgx2,
  g4dn12xlarge,
  dgxA100,
  p4d24xlarge,
  p4de24xlarge,
  a2Highgpu8g,
  a2Ultragpu8g,
  ndmA100V4,
  bmGpuA100V28,
  a800Node,
  g548xlarge,
  rtx3090Workstation,
  rtx4090Workstation,
  dgxH100,
  p548xlarge,
  a3Highgpu8g,
  a3Megagpu8g,
  ndH100V5,
  bmGpuH1008,
  lambdaH100,
  h800Node,
  g2Standard96,
  g648xlarge,
  g6e48xlarge,
  l40sNode,
  h20Node,
  dgxH200,
  p5e48xlarge,
  p5en48xlarge,
  a3Ultragpu8g,
  ndH200V5,
  bmGpuH2008,
  ndMi300xV5,
  mi300xNode,
  bmGpuMi300x8,
  mi325xNode,
  gb200Nvl72,
  dgxB200,
  p6B20048xlarge,
  a4Highgpu8g,
  bmGpuB2008,
  lambdaB200,
  rtxPro6000Node,
  dgxB300,
  p6B30048xlarge,
  gb300Nvl72,
];

export const builtInClusters: readonly ClusterProfile[] = [
  ...clusterFiles.flatMap((file) => {
    const gpu = findGpu(file.gpu);
    return gpu === undefined ? [] : [clusterProfileOfFile(file, gpu)];
  }),
  ...builtInGpus.map(singleGpuCluster),
];

/**
 * A built-in cluster or GPU by name, letters and digits alone compared, so that `p4d.24xlarge` and `DGX A100` are found as
 * their makers write them; `undefined` for a name that is not built in.
 */
export function findCluster(name: string): ClusterProfile | undefined {
  return byName.get(lettersAndDigits(name));
}

const byName: ReadonlyMap<string, ClusterProfile> = new Map(
  builtInClusters.map((cluster) => [lettersAndDigits(cluster.name), cluster]),
);

/** ` (did you mean `a` or `b`?)` after a name that is not built in, or ''. */
export const likelyClusters = (name: string): string =>
  didYouMeanOneOf(
    name,
    builtInClusters.map((cluster) => cluster.name),
  );
