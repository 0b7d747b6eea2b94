/** Systems that collectives were measured on and that no built-in profile describes; bandwidths from rows marked "set". */

import type { ClusterProfile } from '../../server/src/hardware/clusterProfile.ts';
import { findCluster } from '../../server/src/hardware/clusters.ts';
import { findGpu } from '../../server/src/hardware/gpus.ts';
import { type ClusterFile, clusterProfileOfFile } from '../../server/src/hardware/profileOfFile.ts';

/** Throws on a name that is neither built in nor described here: the table and this file belong together. */
export function clusterOfRow(name: string): ClusterProfile {
  const built = findCluster(name);
  if (built !== undefined) return built;
  const file = files.find((one) => one.name === name);
  const gpu = file && findGpu(file.gpu);
  if (file === undefined || gpu === undefined) throw new Error(`no cluster is called ${name}`);
  return clusterProfileOfFile(file, gpu);
}

const files: readonly (ClusterFile & { readonly gpu: string })[] = [
  {
    name: 'maxwell-8x',
    gpu: 'titan-x-maxwell',
    gpusPerNode: 8,
    link: { kind: 'pcie', busBandwidthGBs: 6.1 },
    network: { kind: 'infiniband', nics: 1, linkGbits: 56, nodeBandwidthGBs: 4.1 },
  },
  {
    name: 'pascal-8x',
    gpu: 'titan-x-pascal',
    gpusPerNode: 8,
    link: { kind: 'pcie', busBandwidthGBs: 11.2, groups: { gpus: 4, acrossGBs: 8.8 } },
    network: { kind: 'infiniband', nics: 1, linkGbits: 56, nodeBandwidthGBs: 5.5 },
  },
  {
    name: 'a100-pairs',
    gpu: 'a100-pcie-80gb',
    gpusPerNode: 4,
    link: { kind: 'nvlink', busBandwidthGBs: 192.4, groups: { gpus: 2, acrossGBs: 23.8 } },
  },
  {
    name: 'h100-pairs',
    gpu: 'h100-pcie',
    gpusPerNode: 4,
    link: { kind: 'nvlink', busBandwidthGBs: 188.5, groups: { gpus: 2, acrossGBs: 48.5 } },
  },
  {
    name: 'v100-omni-path',
    gpu: 'v100-sxm2-32gb',
    gpusPerNode: 4,
    link: { kind: 'nvlink', busBandwidthGBs: 124 },
    network: { kind: 'omni-path', nics: 4, linkGbits: 100, nodeBandwidthGBs: 10.58 },
  },
];
