/**
 * Time of an all-reduce over the GPUs of a job: the fastest of ring and two-level ring, over NCCL's protocols.
 *
 * Both are bandwidth-optimal where their links are alike. The flat ring pipelines every link at once and is
 * bound by the slowest; the two-level ring moves only 1/g of the message between nodes at a time, but one level
 * after the other. A library measures or models both and takes the faster, so does this.
 * Trees, NVLS and concurrent collectives are not modelled; the link's measured bus bandwidth covers what they
 * add inside a node.
 */

import type { ClusterProfile } from '../hardware/clusterProfile.ts';
import { formatBandwidth } from '../model/format.ts';
import {
  type Bytes,
  type BytesPerSecond,
  bytesPerSecond,
  type Seconds,
  seconds,
  times,
} from '../model/units.ts';
import { type Protocol, protocols } from './ncclConstants.ts';
import type { Placement } from './placement.ts';

export interface CollectiveTime {
  readonly time: Seconds;
  readonly low: Seconds;
  readonly high: Seconds;
  readonly algorithm: 'none' | 'ring' | 'two-level ring';
  /** nccl-tests' measure: bytes/time · 2(n−1)/n. */
  readonly busBandwidth: BytesPerSecond;
  /** "ring over NVLink 3 and NVSwitch, 8 GPUs, 231 GB/s bus bandwidth". */
  readonly description: string;
}

export function allReduceTime(cluster: ClusterProfile, placement: Placement, size: Bytes): CollectiveTime {
  const gpus = placement.nodes * placement.gpusPerNode;
  if (gpus <= 1) return noCommunication;
  const path = pathOf(cluster, placement);
  let best: { readonly time: number; readonly algorithm: 'ring' | 'two-level ring' } | undefined;
  for (const protocol of protocols) {
    const flat = ringTime(path, protocol, size);
    if (best === undefined || flat < best.time) best = { time: flat, algorithm: 'ring' };
    if (placement.nodes > 1 && placement.gpusPerNode > 1) {
      const twoLevel = twoLevelTime(path, protocol, size);
      if (twoLevel < best.time) best = { time: twoLevel, algorithm: 'two-level ring' };
    }
  }
  if (best === undefined) return noCommunication;
  const time = seconds(best.time);
  const bus = bytesPerSecond(((size / time) * 2 * (gpus - 1)) / gpus);
  return {
    time,
    low: times(time, lowFactor),
    high: times(time, highFactor),
    algorithm: best.algorithm,
    busBandwidth: bus,
    description: `${best.algorithm} over ${path.title}, ${gpus} GPUs, ${formatBandwidth(bus)} bus bandwidth`,
  };
}

/**
 * Bounds of a predicted collective. The constants give asymptotes and start-up costs; between them published
 * NCCL runs (superbenchmark, dgxc-benchmarking) of 1 MiB and more lie within this band.
 */
const lowFactor = 0.8;
const highFactor = 1.4;

export const noCommunication: CollectiveTime = {
  time: seconds(0),
  low: seconds(0),
  high: seconds(0),
  algorithm: 'none',
  busBandwidth: bytesPerSecond(0),
  description: 'one GPU, no communication',
};

/** The links a job uses, in plain numbers. */
interface Path {
  readonly title: string;
  readonly gpusPerNode: number;
  readonly nodes: number;
  readonly linkBandwidth: BytesPerSecond;
  readonly nodeBandwidth: BytesPerSecond;
  readonly linkStep: (protocol: Protocol) => Seconds;
  readonly networkStep: (protocol: Protocol) => Seconds;
  readonly architecture: string;
}

/**
 * 2(p−1) steps of n/p bytes: T = base + 2(p−k)·α_i + 2(k−1)·α_e + 2(p−1)/p · n/B, with B of the slowest link.
 * Source: Patarasuk and Yuan 2009; the split of the steps by link is NCCL's (tuning.cc).
 */
function ringTime(path: Path, protocol: Protocol, size: Bytes): number {
  const { nodes, gpusPerNode } = path;
  const gpus = nodes * gpusPerNode;
  const slowest = Math.min(
    gpusPerNode > 1 ? path.linkBandwidth : Number.POSITIVE_INFINITY,
    nodes > 1 ? path.nodeBandwidth : Number.POSITIVE_INFINITY,
  );
  const bandwidth = protocol.bandwidth(bytesPerSecond(slowest), nodes, path.architecture);
  const steps =
    2 * (gpus - nodes) * (gpusPerNode > 1 ? path.linkStep(protocol) : 0) +
    2 * (nodes - 1) * (nodes > 1 ? path.networkStep(protocol) : 0);
  return protocol.base + steps + ((2 * (gpus - 1)) / gpus) * (size / bandwidth);
}

/**
 * Reduce-scatter inside nodes, all-reduce of n/g per GPU between them, all-gather inside:
 * T = 3·base + 2[(g−1)·α_i + (g−1)/g · n/B_i] + 2[(k−1)·α_e + (k−1)/k · n/B_node].
 * The g rings between nodes share the node's bandwidth.
 */
function twoLevelTime(path: Path, protocol: Protocol, size: Bytes): number {
  const { nodes, gpusPerNode } = path;
  const inside = protocol.bandwidth(path.linkBandwidth, 1, path.architecture);
  const between = protocol.bandwidth(path.nodeBandwidth, nodes, path.architecture);
  return (
    3 * protocol.base +
    2 * (gpusPerNode - 1) * (path.linkStep(protocol) + size / gpusPerNode / inside) +
    2 * (nodes - 1) * (path.networkStep(protocol) + size / nodes / between)
  );
}

function pathOf(cluster: ClusterProfile, placement: Placement): Path {
  const { link, network } = cluster;
  const { nodes, gpusPerNode } = placement;
  const titles = [
    gpusPerNode > 1 ? (link?.title ?? 'an undescribed link') : undefined,
    nodes > 1 ? (network?.title ?? 'an undescribed network') : undefined,
  ];
  return {
    title: titles.filter((title) => title !== undefined).join(' and '),
    gpusPerNode,
    nodes,
    linkBandwidth: link?.busBandwidth.value ?? bytesPerSecond(0),
    nodeBandwidth:
      network === undefined
        ? bytesPerSecond(0)
        : bytesPerSecond(
            network.nodeBandwidth.value *
              shareOfPorts(network.nics.value, gpusPerNode, cluster.gpusPerNode.value),
          ),
    linkStep: (protocol) =>
      link === undefined ? seconds(0) : protocol.linkStep(link.kind, link.latency.value),
    networkStep: (protocol) =>
      network === undefined ? seconds(0) : protocol.networkStep(network.latency.value),
    architecture: cluster.gpu.architecture,
  };
}

/** Ports that the used GPUs of a node reach, each GPU its share: one of eight GPUs uses one of eight ports. */
const shareOfPorts = (ports: number, used: number, present: number): number =>
  Math.min(1, Math.ceil((used * ports) / present) / ports);
