/**
 * GPU and cluster profiles: what the hardware is, every number with the place it was taken from.
 *
 * Profiles are data (`profiles/*.json`, or a person's own file), never code. Rates are dense peaks; what a
 * kernel reaches of them is the business of `kernelTime.ts`, what a collective reaches that of `communication/`.
 */

import type { Dtype } from '../model/dtype.ts';
import type { Estimate } from '../model/estimate.ts';
import type { Bytes, BytesPerSecond, FlopsPerSecond, Seconds, Watts } from '../model/units.ts';
import type { MeasuredKernels } from './kernelRates.ts';

/**
 * A number and where it comes from: a document by name, table and address, what a driver reports, or a file of
 * measurements. A source says at its start what is less than that: `derived: …` (from numbers that have a source),
 * `assumption: …`, `unconfirmed: …` (a document is named, and nobody has held the number against it).
 */
export interface Sourced<Value extends number = number> {
  readonly value: Value;
  readonly source: string;
}

/** Whether no document that was read says the number. */
export const isUnconfirmed = ({ source }: Sourced): boolean => /^(assumption|unconfirmed)\b/.test(source);

export interface GpuProfile {
  readonly name: string;
  readonly title: string;
  readonly vendor: string;
  readonly architecture: string;
  /** Streaming multiprocessors, AMD's compute units, or the cores of a CPU. */
  readonly multiprocessors: Sourced;
  /** Clock that the peaks assume, in Hz. */
  readonly clock: Sourced | undefined;
  /** What the driver gives to programs: less than the board has, more so where error correction keeps a part. */
  readonly memory: Sourced<Bytes>;
  readonly memoryBandwidth: Sourced<BytesPerSecond>;
  readonly l2: Sourced<Bytes> | undefined;
  /** Dense peak by number type; a type that is absent is not computed in hardware. `fp32` is always there. */
  readonly peak: ReadonlyMap<Dtype, Sourced<FlopsPerSecond>>;
  /** Peak of fp32 matmuls on matrix units, where a GPU has them for that type (AMD CDNA). */
  readonly matrixFp32: Sourced<FlopsPerSecond> | undefined;
  /** Number types that run on tensor cores. */
  readonly tensorCores: ReadonlySet<Dtype>;
  /** Share of the peak clock held under load, where a power limit keeps it below; 1 elsewhere. */
  readonly sustainedCompute: Sourced;
  /** Kernel times that were measured on this very machine, before which curves of its kind go back. */
  readonly kernels?: MeasuredKernels;
  /** To the host, one direction. */
  readonly hostLink: Sourced<BytesPerSecond> | undefined;
  /** To other GPUs, all links together, one direction; absent where they talk over the host link. */
  readonly gpuLink: Sourced<BytesPerSecond> | undefined;
  /** What the board draws at most. */
  readonly boardPower: Sourced<Watts> | undefined;
}

export const linkKinds = ['nvlink', 'nvswitch', 'pcie'] as const;
export type LinkKind = (typeof linkKinds)[number];
export const fabricKinds = ['ethernet', 'roce', 'infiniband', 'efa', 'omni-path', 'gemini'] as const;
export type FabricKind = (typeof fabricKinds)[number];

/** How the GPUs of one node are linked. */
export interface NodeLink {
  readonly kind: LinkKind;
  readonly title: string;
  /** All-reduce bus bandwidth as nccl-tests define it: bytes/time · 2(n−1)/n, over the GPUs of one node. */
  readonly busBandwidth: Sourced<BytesPerSecond>;
  /** Per ring step. */
  readonly latency: Sourced<Seconds>;
  /** Where only some GPUs share a switch, a socket or a bridge: how many, and the bus bandwidth of more of them. */
  readonly groups: { readonly size: Sourced; readonly acrossBandwidth: Sourced<BytesPerSecond> } | undefined;
  /** Bus bandwidth of an all-reduce that the switches add up (NVLink SHARP), where they can. */
  readonly inSwitchReduction: Sourced<BytesPerSecond> | undefined;
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
  /** Bus bandwidth of trees over more than two nodes, where measured: of the GPUs, and of sums that NVSwitch made. */
  readonly tree: Sourced<BytesPerSecond> | undefined;
  readonly switchedTree: Sourced<BytesPerSecond> | undefined;
  /** Per ring step between nodes. */
  readonly latency: Sourced<Seconds>;
  /** Whether NCCL's LL and LL128 run over it; not where bytes may arrive out of order. */
  readonly lowLatencyProtocols: boolean;
  /** More nodes than one switch holds share its uplinks: their bandwidth is divided by the ratio. */
  readonly oversubscription: { readonly ratio: Sourced; readonly nodesPerSwitch: Sourced } | undefined;
}

/** What the GPUs of a node share beside their links. */
export interface Host {
  readonly title: string;
  readonly cores: Sourced | undefined;
  readonly memory: Sourced<Bytes> | undefined;
  /** Of all sockets of a node together; absent where it is not known. */
  readonly memoryBandwidth?: Sourced<BytesPerSecond> | undefined;
  /** GPUs behind one PCIe switch, which share its link to the host; absent where each has its own. */
  readonly gpusPerHostLink: Sourced | undefined;
  /** What it takes to launch a kernel of eager PyTorch; absent where it was not measured. */
  readonly launch?: { readonly time: Estimate<Seconds>; readonly source: string } | undefined;
}

/** Where input is read from. */
export interface Storage {
  readonly title: string;
  /** A disk of the node's own. */
  readonly local: Sourced<BytesPerSecond> | undefined;
  /** A file system that all nodes share: all together, and one of them. */
  readonly shared: Sourced<BytesPerSecond> | undefined;
  readonly perClient: Sourced<BytesPerSecond> | undefined;
  /** Of it, what a file that all of them read gives to all together: those who keep it are fewer than all. */
  readonly sameFile: Sourced<BytesPerSecond> | undefined;
}

export interface ClusterProfile {
  readonly name: string;
  readonly title: string;
  readonly gpu: GpuProfile;
  readonly gpusPerNode: Sourced;
  /** The machine of a cloud that a node is; absent for others. */
  readonly instance: { readonly provider: string; readonly name: string } | undefined;
  /** Absent where a node has one GPU. */
  readonly link: NodeLink | undefined;
  /** Absent where there is one node only. */
  readonly network: Network | undefined;
  readonly host: Host | undefined;
  readonly storage: Storage | undefined;
  /** US dollars per GPU and hour. */
  readonly pricePerGpuHour: Sourced | undefined;
  /** The release of NCCL that a cluster of its time runs; absent for the newest. */
  readonly nccl: { readonly release: string; readonly source: string } | undefined;
}

/** A GPU as a cluster of its own: one node, one GPU, by the GPU's name. */
export function singleGpuCluster(gpu: GpuProfile): ClusterProfile {
  return {
    name: gpu.name,
    title: gpu.title,
    gpu,
    gpusPerNode: { value: 1, source: 'by definition: a single GPU' },
    instance: undefined,
    link: undefined,
    network: undefined,
    host: undefined,
    storage: undefined,
    pricePerGpuHour: undefined,
    nccl: undefined,
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
    ...[...gpu.peak].map(([dtype, number]) => ({ name: `peak ${dtype}`, number })),
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
          ...given('GPUs per link group', link.groups?.size),
          ...given('link bus bandwidth across groups', link.groups?.acrossBandwidth),
          ...given('link bus bandwidth, added in switches', link.inSwitchReduction),
        ]),
    ...(network === undefined
      ? []
      : [
          { name: 'network ports', number: network.nics },
          { name: 'network port bandwidth', number: network.portBandwidth },
          { name: 'network bandwidth per node', number: network.nodeBandwidth },
          ...given('network bandwidth of trees', network.tree),
          ...given('network bandwidth of trees of sums in switches', network.switchedTree),
          { name: 'network latency', number: network.latency },
          ...given('oversubscription', network.oversubscription?.ratio),
          ...given('nodes per switch', network.oversubscription?.nodesPerSwitch),
        ]),
    ...given('host cores', cluster.host?.cores),
    ...given('host memory', cluster.host?.memory),
    ...given('host memory bandwidth', cluster.host?.memoryBandwidth),
    ...given('GPUs per link to the host', cluster.host?.gpusPerHostLink),
    ...given(
      'host time of a launch',
      cluster.host?.launch && {
        value: cluster.host.launch.time.middle,
        source: cluster.host.launch.source,
      },
    ),
    ...given('local storage', cluster.storage?.local),
    ...given('shared storage', cluster.storage?.shared),
    ...given('shared storage per client', cluster.storage?.perClient),
    ...given('shared storage for one file', cluster.storage?.sameFile),
    ...given('price per GPU and hour', cluster.pricePerGpuHour),
  ];
}

const given = (name: string, number: Sourced | undefined) => (number === undefined ? [] : [{ name, number }]);
