/** Machines that steps were measured on and that no built-in profile describes, and links set to what was measured. */

import type { ClusterProfile } from '../../../server/src/hardware/clusterProfile.ts';
import { findCluster } from '../../../server/src/hardware/clusters.ts';
import { findGpu } from '../../../server/src/hardware/gpus.ts';
import { type ClusterFile, clusterProfileOfFile } from '../../../server/src/hardware/profileOfFile.ts';

/** Throws on a name that is neither built in nor described here: the tables and this file belong together. */
export function machine(name: string): ClusterProfile {
  const built = findCluster(name);
  return (
    built ??
    described(
      files.find((file) => file.name === name),
      name,
    )
  );
}

function described(file: MachineFile | undefined, name: string): ClusterProfile {
  const gpu = file && findGpu(file.gpu);
  if (file === undefined || gpu === undefined) throw new Error(`no cluster is called ${name}`);
  return clusterProfileOfFile(file, gpu);
}

/** `file` with bandwidths that a calibration gave, in GB/s. */
export const calibratedMachine = (
  name: string,
  { inside, between }: { readonly inside?: number; readonly between?: number },
): ClusterProfile => {
  const file = files.find((one) => one.name === name);
  if (file === undefined) throw new Error(`no cluster is called ${name}`);
  const { link, network } = file;
  return described(
    {
      ...file,
      ...(link === undefined || inside === undefined ? {} : { link: { ...link, busBandwidthGBs: inside } }),
      ...(network === undefined || between === undefined
        ? {}
        : { network: { ...network, nodeBandwidthGBs: between } }),
    },
    name,
  );
};

type MachineFile = ClusterFile & { readonly gpu: string };

/**
 * Of the machines of MG-WFBP: the authors' own fits of an all-reduce (908 µs over 10 GbE, 236 µs over InfiniBand for 16
 * GPUs) are those of a ring, where trees take half as long.
 */
const ncclOfFits = { release: '2.3', source: 'HKBU-HPML/MG-WFBP, distributed_optimizer.py' };

const ncclOfSurvey = { release: '2.4', source: 'HKBU-HPML/ddl-benchmarks, README: NCCL 2.4 or later' };

const stagedPcie = {
  value: 6,
  source:
    'derived: GeForce cards of this generation have no peer access, so each byte crosses PCIe twice: half of the 12 GB/s that NCCL counts PCIe 3.0 ×16 as (src/graph/topo.h)',
};

/** As for the other machines with PCIe 4.0 here. */
const pcie4 = { kind: 'pcie', title: 'PCIe 4.0', busBandwidthGBs: 18 };

/** Bandwidths that a set calibrates stand here at the nominal rate of the link. */
const files: readonly MachineFile[] = [
  // The GPU is not named: 253 images/s of ResNet-50 in fp32 fit an RTX 2080 Ti, which the authors had.
  {
    name: 'survey-10gbe',
    nccl: ncclOfSurvey,
    gpu: 'rtx-2080-ti',
    gpusPerNode: 4,
    link: { kind: 'pcie', title: 'PCIe 3.0 ×16', busBandwidthGBs: stagedPcie },
    network: { kind: 'ethernet', title: '10 GbE', nics: 1, linkGbits: 10, latencyMicroseconds: 100 },
  },
  {
    name: 'survey-100gb-infiniband',
    nccl: ncclOfSurvey,
    gpu: 'rtx-2080-ti',
    gpusPerNode: 4,
    link: { kind: 'pcie', title: 'PCIe 3.0 ×16', busBandwidthGBs: stagedPcie },
    network: { kind: 'infiniband', title: 'EDR InfiniBand', nics: 1, linkGbits: 100 },
  },
  {
    name: 'tpds-10gbe',
    nccl: ncclOfFits,
    gpu: 'v100-pcie-32gb',
    gpusPerNode: 4,
    link: { kind: 'pcie', title: 'PCIe 3.0 ×16', busBandwidthGBs: 7.3 },
    network: { kind: 'ethernet', title: '10 GbE', nics: 1, linkGbits: 10, latencyMicroseconds: 100 },
  },
  {
    name: 'tpds-56gb-infiniband',
    nccl: ncclOfFits,
    gpu: 'v100-pcie-32gb',
    gpusPerNode: 4,
    link: { kind: 'pcie', title: 'PCIe 3.0 ×16', busBandwidthGBs: 7.3 },
    network: { kind: 'infiniband', title: 'FDR InfiniBand', nics: 1, linkGbits: 56, latencyMicroseconds: 15 },
  },
  // Horovod's documentation, "Benchmarks": servers of 4 Pascal GPUs, RoCE-capable 25 Gb/s network; these rows went by TCP
  // (the table's "TCP Horovod").
  {
    name: 'horovod-25gbe',
    nccl: { release: '2.0', source: 'horovod/horovod pull request 19, September 2017' },
    gpu: 'p100-pcie-16gb',
    gpusPerNode: 4,
    link: { kind: 'pcie', title: 'PCIe 3.0 ×16', busBandwidthGBs: 11.2 },
    network: { kind: 'ethernet', title: '25 GbE', nics: 1, linkGbits: 25 },
  },
  // NCCL 1 makes one ring by nvml index, over one link between two GPUs, and where they are no peers, as the third and the
  // fourth, by zero copy through host memory (NVIDIA/nccl, src/core.cu of 1.3); what NVLink and QPI of Broadwell give is told
  // by src/graph/topo.h of later ones.
  {
    name: 'dgx-1-p100-nccl-1',
    nccl: { release: '1.3', source: 'tensorflow/tensorflow, tensorflow/workspace.bzl of 2017: nccl_archive' },
    gpu: 'p100-sxm2',
    gpusPerNode: 8,
    link: { kind: 'nvlink', title: 'NVLink 1', busBandwidthGBs: 18, groups: { gpus: 4, acrossGBs: 6 } },
  },
  {
    name: 'gce-8x-k80',
    gpu: 'k80',
    gpusPerNode: 8,
    link: { kind: 'pcie', title: 'PCIe 3.0', busBandwidthGBs: 5.1 },
  },
  {
    name: 'dlperf',
    gpu: 'v100-sxm2-16gb',
    gpusPerNode: 8,
    link: { kind: 'nvlink', title: 'NVLink 2 hybrid cube mesh', busBandwidthGBs: 124 },
    network: { kind: 'infiniband', title: 'EDR InfiniBand', nics: 1, linkGbits: 100 },
  },
  // torchtitan's benchmarks tell the boards and 400 Gb/s for each GPU; nodes are as those of a DGX H100.
  {
    name: 'h100-96gb-node',
    gpu: 'h100-sxm-96gb',
    gpusPerNode: 8,
    link: {
      kind: 'nvswitch',
      title: 'NVLink 4 and NVSwitch',
      busBandwidthGBs: 367,
      inSwitchReductionGBs: 480,
    },
    network: { kind: 'infiniband', title: '400 Gb/s for each GPU', nics: 8, linkGbits: 400 },
  },
  {
    name: 'a100-pcie-2x',
    gpu: 'a100-pcie-80gb',
    gpusPerNode: 2,
    link: { kind: 'pcie', busBandwidthGBs: 18 },
  },
  {
    name: 'rtx-6000-ada-8x',
    gpu: 'rtx-6000-ada',
    gpusPerNode: 8,
    link: { kind: 'pcie', busBandwidthGBs: 18, groups: { gpus: 4, acrossGBs: 9 } },
  },
  // llm-foundry: nodes of 8 A100 with NVSwitch, 1600 Gb/s of RoCE between them.
  ...['40gb', '80gb'].map(
    (memory): MachineFile => ({
      name: `a100-${memory}-roce`,
      gpu: `a100-sxm-${memory}`,
      gpusPerNode: 8,
      link: { kind: 'nvswitch', busBandwidthGBs: 235 },
      network: { kind: 'roce', title: '8 × 200 GbE', nics: 8, linkGbits: 200 },
    }),
  ),
  // fms-fsdp: nodes of 8, 400 Gb/s between those of A100 and 800 Gb/s between those of H100.
  {
    name: 'a100-80gb-400g',
    gpu: 'a100-sxm-80gb',
    gpusPerNode: 8,
    link: { kind: 'nvswitch', busBandwidthGBs: 235 },
    network: { kind: 'roce', title: '4 × 100 GbE', nics: 4, linkGbits: 100 },
  },
  {
    name: 'h100-800g',
    gpu: 'h100-sxm',
    gpusPerNode: 8,
    link: { kind: 'nvswitch', busBandwidthGBs: 450 },
    network: { kind: 'roce', title: '8 × 100 GbE', nics: 8, linkGbits: 100 },
  },
  // MLPerf: systems/*.json name PCIe, 1 × EDR between nodes of A100 PCIe, 2 × 400 Gb/s between those of L40S.
  {
    name: 'a100-pcie-edr',
    gpu: 'a100-pcie-80gb',
    gpusPerNode: 10,
    link: pcie4,
    network: { kind: 'infiniband', title: 'EDR InfiniBand', nics: 1, linkGbits: 100 },
  },
  {
    name: 'h100-pcie-8x',
    gpu: 'h100-pcie',
    gpusPerNode: 8,
    link: { kind: 'pcie', title: 'PCIe 5.0', busBandwidthGBs: 18 },
  },
  {
    name: 'l4-6x',
    gpu: 'l4',
    gpusPerNode: 6,
    link: pcie4,
  },
  {
    name: 'l40s-400g',
    gpu: 'l40s',
    gpusPerNode: 8,
    link: pcie4,
    network: { kind: 'roce', title: '2 × 400 GbE', nics: 2, linkGbits: 400 },
  },
  { name: 'b200-8x', gpu: 'b200', gpusPerNode: 8, link: { kind: 'nvswitch', busBandwidthGBs: 660 } },
];
