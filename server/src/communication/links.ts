/** What the links of a cluster give the GPUs that a job uses, in plain numbers. */

import type { ClusterProfile, Network, NodeLink } from '../hardware/clusterProfile.ts';
import type { Range } from '../model/estimate.ts';
import { type BytesPerSecond, bytesPerSecond, microseconds, type Seconds, seconds } from '../model/units.ts';
import { bandwidthDoubt, measuredLink, tcpLink } from './bandwidthDoubt.ts';
import { type Generation, generationOf } from './nccl/versions.ts';
import type { Placement } from './placement.ts';

export interface Links {
  /** "NVLink 3 and NVSwitch and 8 × HDR InfiniBand". */
  readonly title: string;
  /** "GPUs", or "CPU nodes". */
  readonly device: string;
  readonly ranks: number;
  readonly nodes: number;
  readonly gpusPerNode: number;
  readonly kind: 'nvlink' | 'pcie';
  readonly generation: Generation;
  /** Bus bandwidth among the used GPUs of a node; infinite for one GPU per node. */
  readonly inside: BytesPerSecond;
  /** Number of GPUs of the all-reduce on NVSwitch that `inside` was measured with; undefined on other links. */
  readonly switchedGpus: number | undefined;
  /** Bus bandwidth of an all-reduce that the switches add up, where they can. */
  readonly inSwitch: BytesPerSecond | undefined;
  /** Of one node, one direction, as its used GPUs reach the network; infinite on one node. */
  readonly between: BytesPerSecond;
  /** Bus bandwidth that a tree over more than two nodes cannot exceed: of GPUs, and of sums made in switches. */
  readonly tree: BytesPerSecond;
  readonly switchedTree: BytesPerSecond;
  /** Per step, beyond the hop latencies of NCCL's own constants; negative for a link that is quicker. */
  readonly extraLink: Seconds;
  readonly extraNetwork: Seconds;
  /** Whether LL and LL128 run on all links used. */
  readonly lowLatencyProtocols: boolean;
  /** Stores of 128 bytes stay whole: Volta and newer. */
  readonly storesWhole: boolean;
  /** Remote direct memory access: everything but plain Ethernet. */
  readonly hasRdma: boolean;
  /** Factors on the time that links inside a node and between nodes take. */
  readonly doubt: { readonly link: Range; readonly network: Range };
  /** Parallel rings or trees. */
  readonly channels: number;
  readonly hostLink: BytesPerSecond | undefined;
}

export function linksOf(cluster: ClusterProfile, placement: Placement): Links {
  const { link, network, gpu } = cluster;
  const { nodes, gpusPerNode } = placement;
  const titles = [
    gpusPerNode > 1 ? (link?.title ?? 'an undescribed link') : undefined,
    nodes > 1 ? (network?.title ?? 'an undescribed network') : undefined,
  ];
  const kind = link === undefined || link.kind === 'pcie' ? 'pcie' : 'nvlink';
  const generation = generationOf(gpu.architecture);
  return {
    title: titles.filter((title) => title !== undefined).join(' and '),
    device: gpu.architecture === 'cpu' ? 'CPU nodes' : 'GPUs',
    ranks: nodes * gpusPerNode,
    nodes,
    gpusPerNode,
    kind,
    generation,
    inside: gpusPerNode > 1 ? insideBandwidth(link, gpusPerNode) : unlimited,
    switchedGpus: link?.kind === 'nvswitch' ? cluster.gpusPerNode.value : undefined,
    inSwitch: link?.inSwitchReduction?.value,
    between: nodes > 1 ? betweenBandwidth(network, cluster.gpusPerNode.value, placement) : unlimited,
    tree: nodes > 2 ? (network?.tree?.value ?? unlimited) : unlimited,
    switchedTree: nodes > 2 ? (network?.switchedTree?.value ?? unlimited) : unlimited,
    extraLink: seconds(link === undefined ? 0 : link.latency.value - ncclHop[kind]),
    extraNetwork: seconds(network === undefined ? 0 : network.latency.value - ncclHop.network),
    lowLatencyProtocols: nodes === 1 || network === undefined || network.lowLatencyProtocols,
    storesWhole: !olderThanVolta.has(gpu.architecture),
    hasRdma: network !== undefined && network.kind !== 'ethernet',
    doubt: {
      link: link === undefined ? measuredLink : bandwidthDoubt(link.busBandwidth),
      network: networkDoubt(network, nodes),
    },
    channels: kind === 'pcie' ? 2 : nvlinkChannels[generation],
    hostLink: gpu.hostLink?.value,
  };
}

/**
 * On a busy cluster of p5.48xlarge all-reduces, gathers and scatters over 4 to 64 nodes took 1.8 to 7 times as long as
 * on one that was tested alone, the more nodes the longer (measured/collectives.csv, nanotron beside awscomm).
 */
function networkDoubt(network: Network | undefined, nodes: number): Range {
  if (network === undefined) return measuredLink;
  const { kind, nodeBandwidth, nics, portBandwidth } = network;
  const isDerivedTcp = kind === 'ethernet' && nodeBandwidth.source.startsWith('derived');
  const { low, high } = isDerivedTcp
    ? tcpLink
    : bandwidthDoubt(nodeBandwidth, nics.value * portBandwidth.value);
  return { low, high: high * (kind === 'efa' && nodes > 2 ? Math.sqrt(nodes / 2) : 1) };
}

const olderThanVolta: ReadonlySet<string> = new Set(['kepler', 'maxwell', 'pascal']);

const unlimited = bytesPerSecond(Number.POSITIVE_INFINITY);

/** Simple ring hops of NCCL 2.30 (src/graph/tuning.cc), to which the latencies of profiles compare. */
const ncclHop = { nvlink: microseconds(3.4), pcie: microseconds(5.7), network: microseconds(14) };

/** Latency of a step inside a node and between nodes, as the profile has it. */
export const profileHop = ({
  kind,
  extraLink,
  extraNetwork,
}: Links): { readonly inside: Seconds; readonly between: Seconds } => ({
  inside: seconds(ncclHop[kind] + extraLink),
  between: seconds(ncclHop.network + extraNetwork),
});

/**
 * Channels over NVLink by generation: what NCCL finds on DGX-1 V100 (12), DGX A100 (24), DGX H100 (16) and GB200 (24).
 * They matter only where a cap per channel binds.
 */
const nvlinkChannels: Readonly<Record<Generation, number>> = {
  volta: 12,
  ampere: 24,
  hopper: 16,
  blackwell: 24,
};

/** GPUs within one group (a switch, a socket, an NVLink pair) have the link to themselves; more cross what joins the groups. */
function insideBandwidth(link: NodeLink | undefined, used: number): BytesPerSecond {
  if (link === undefined) return bytesPerSecond(0);
  const { busBandwidth, groups } = link;
  if (groups === undefined || used <= groups.size.value) return busBandwidth.value;
  return bytesPerSecond(Math.min(busBandwidth.value, groups.acrossBandwidth.value));
}

/** The used GPUs reach their share of the ports; beyond one switch the fabric may be oversubscribed. */
function betweenBandwidth(
  network: Network | undefined,
  present: number,
  { nodes, gpusPerNode }: Placement,
): BytesPerSecond {
  if (network === undefined) return bytesPerSecond(0);
  const ports = network.nics.value;
  const share = Math.min(1, Math.ceil((gpusPerNode * ports) / present) / ports);
  const { oversubscription } = network;
  const taper =
    oversubscription !== undefined && nodes > oversubscription.nodesPerSwitch.value
      ? oversubscription.ratio.value
      : 1;
  return bytesPerSecond((network.nodeBandwidth.value * share) / taper);
}

/**
 * What the network gives a tree: over two nodes each byte crosses once each way, half of what a ring sends. Measured so
 * on EFA and between racks of GB200 (aws-samples, coreweave/nccl-tests), but not over TCP, where 8 GPUs on two nodes
 * have the bus bandwidth of a ring (arXiv 2005.13247 benchmark, 10 GbE, 1.22 GB/s at 8 GPUs as at 32).
 */
export const treeNetwork = ({ nodes, between, hasRdma }: Links): number =>
  nodes === 2 && hasRdma ? 2 * between : between;
