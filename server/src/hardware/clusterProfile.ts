/**
 * GPU and cluster profiles: what the hardware is, every number with the place it was taken from.
 *
 * Profiles are data (`profiles/*.json`, or a person's own file), never code. Rates are dense peaks; what a
 * kernel reaches of them is the business of `kernelTime.ts`, what a collective reaches that of `communication/`.
 */

import type { Bytes, BytesPerSecond, FlopsPerSecond, Seconds } from '../model/units.ts';

/** A number and where it comes from: a document by name and table, or a file of measurements. */
export interface Sourced<Value extends number = number> {
  readonly value: Value;
  readonly source: string;
}

/** The number types a GPU multiplies in, narrowest last. */
export const numerics = ['fp32', 'tf32', 'fp16', 'bf16', 'fp8'] as const;
export type Numeric = (typeof numerics)[number];

export interface GpuProfile {
  readonly name: string;
  readonly title: string;
  readonly vendor: string;
  readonly architecture: string;
  /** Streaming multiprocessors, AMD's compute units, or the cores of a CPU. */
  readonly multiprocessors: Sourced;
  /** Clock that the peaks assume, in Hz. */
  readonly clock: Sourced | undefined;
  readonly memory: Sourced<Bytes>;
  readonly memoryBandwidth: Sourced<BytesPerSecond>;
  readonly l2: Sourced<Bytes> | undefined;
  /** Dense peak by number type; a type that is absent is not computed in hardware. `fp32` is always there. */
  readonly peak: ReadonlyMap<Numeric, Sourced<FlopsPerSecond>>;
  /** Peak of fp32 products on matrix units, where a GPU has them for that type (AMD CDNA). */
  readonly matrixFp32: Sourced<FlopsPerSecond> | undefined;
  /** Number types that run on tensor cores. */
  readonly tensorCores: ReadonlySet<Numeric>;
  /** Share of the peak clock held under load, where a power limit keeps it below; 1 elsewhere. */
  readonly sustainedCompute: Sourced;
  /** To the host, one direction. */
  readonly hostLink: Sourced<BytesPerSecond> | undefined;
  /** To other GPUs, all links together, one direction; absent where they talk over the host link. */
  readonly gpuLink: Sourced<BytesPerSecond> | undefined;
}

export const linkKinds = ['nvlink', 'nvswitch', 'pcie'] as const;
export type LinkKind = (typeof linkKinds)[number];
export const fabricKinds = ['ethernet', 'roce', 'infiniband', 'efa', 'omni-path'] as const;
export type FabricKind = (typeof fabricKinds)[number];

/** How the GPUs of one node are linked. */
export interface NodeLink {
  readonly kind: LinkKind;
  readonly title: string;
  /** All-reduce bus bandwidth as nccl-tests define it: bytes/time · 2(n−1)/n, over the GPUs of one node. */
  readonly busBandwidth: Sourced<BytesPerSecond>;
  /** Per ring step. */
  readonly latency: Sourced<Seconds>;
}

/** How nodes are linked. */
export interface Network {
  readonly kind: FabricKind;
  readonly title: string;
  readonly nics: Sourced;
  /** Nominal rate of one port. */
  readonly portBandwidth: Sourced<BytesPerSecond>;
  /** What all-reduce gets through the network, per node, all ports together. */
  readonly nodeBandwidth: Sourced<BytesPerSecond>;
  /** Per ring step between nodes. */
  readonly latency: Sourced<Seconds>;
}

export interface ClusterProfile {
  readonly name: string;
  readonly title: string;
  readonly gpu: GpuProfile;
  readonly gpusPerNode: Sourced;
  /** Absent where a node has one GPU. */
  readonly link: NodeLink | undefined;
  /** Absent where there is one node only. */
  readonly network: Network | undefined;
}

/** A GPU as a cluster of its own: one node, one GPU, by the GPU's name. */
export function singleGpuCluster(gpu: GpuProfile): ClusterProfile {
  return {
    name: gpu.name,
    title: gpu.title,
    gpu,
    gpusPerNode: { value: 1, source: 'one GPU by itself' },
    link: undefined,
    network: undefined,
  };
}

/** Every sourced number of a cluster with its path, for `layercost clusters NAME` and for tests. */
export function sourcedNumbers(
  cluster: ClusterProfile,
): readonly { readonly name: string; readonly number: Sourced }[] {
  const { gpu, link, network } = cluster;
  return [
    { name: 'multiprocessors', number: gpu.multiprocessors },
    ...given('clock', gpu.clock),
    { name: 'memory', number: gpu.memory },
    { name: 'memory bandwidth', number: gpu.memoryBandwidth },
    ...given('L2 cache', gpu.l2),
    ...[...gpu.peak].map(([numeric, number]) => ({ name: `peak ${numeric}`, number })),
    ...given('peak fp32 on matrix units', gpu.matrixFp32),
    { name: 'sustained compute', number: gpu.sustainedCompute },
    ...given('host link', gpu.hostLink),
    ...given('GPU link', gpu.gpuLink),
    { name: 'GPUs per node', number: cluster.gpusPerNode },
    ...(link === undefined
      ? []
      : [
          { name: 'link bus bandwidth', number: link.busBandwidth },
          { name: 'link latency', number: link.latency },
        ]),
    ...(network === undefined
      ? []
      : [
          { name: 'network ports', number: network.nics },
          { name: 'network port bandwidth', number: network.portBandwidth },
          { name: 'network bandwidth per node', number: network.nodeBandwidth },
          { name: 'network latency', number: network.latency },
        ]),
  ];
}

const given = (name: string, number: Sourced | undefined) => (number === undefined ? [] : [{ name, number }]);
