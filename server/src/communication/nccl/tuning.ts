/**
 * NCCL's tuning model: time = latency + bytes / bandwidth for every algorithm and protocol that can run.
 *
 * Source: NVIDIA/nccl src/graph/tuning.cc, with the constants of `versions.ts`. Bandwidths are measured bus bandwidths
 * of the profile where NCCL would use what its topology search finds; factors and caps are NCCL's.
 */

import { type Bytes, bytesPerSecond, microseconds, type Seconds, seconds } from '../../model/units.ts';
import type { Candidate } from '../candidate.ts';
import type { CollectiveKind } from '../collectiveKind.ts';
import { busFactor } from '../collectiveKind.ts';
import { floorLog2 } from '../formulas/allReduce.ts';
import type { Links } from '../links.ts';
import { treeNetwork } from '../links.ts';
import { nvlsRound } from './nvlsRound.ts';
import { asTuned, type MeasuredStartup } from './startup.ts';
import { treeCorrection } from './treeCorrection.ts';
import { treeRound } from './treeRound.ts';
import { ringOf23 } from './version23.ts';
import { candidatesOf24 } from './version24.ts';
import {
  type NcclVersion,
  type NcclVersionName,
  ncclVersions,
  type Protocol,
  protocols,
  type RingCollective,
} from './versions.ts';

/** What NCCL of a version can run for a collective of `size` bytes; never empty. */
export function ncclCandidates(
  versionName: NcclVersionName,
  kind: CollectiveKind,
  links: Links,
  size: Bytes,
  startup: MeasuredStartup = asTuned,
  chosen?: number,
): readonly Candidate[] {
  if (kind === 'all-to-all')
    return [pairwise(links, size, startup, chosen === undefined ? undefined : sentOnce(links, chosen))];
  if (versionName === '2.3') return [ringOf23(kind, links, size)];
  if (versionName === '2.4') return candidatesOf24(kind, links, size);
  const version = ncclVersions[versionName];
  const found: Candidate[] = [];
  for (const protocol of protocols) {
    if (protocol !== 'Simple' && !links.lowLatencyProtocols) continue;
    if (protocol === 'LL128' && !allowsLl128(links)) continue;
    found.push(ring(version, kind, protocol, links, size, startup));
    if (kind === 'all-reduce') found.push(tree(version, protocol, links, size, startup));
  }
  const nvls = kind === 'all-reduce' ? nvlsCandidate(version, links, size, startup) : undefined;
  if (nvls !== undefined) found.push(nvls);
  const isGather = kind === 'all-gather' || kind === 'reduce-scatter';
  if (version.hasPat && isGather && links.gpusPerNode === 1)
    found.push(pat(version, kind, links, size, startup));
  return found;
}

/** LL128 needs stores of 128 bytes to stay whole: Volta and newer, NVLink inside nodes, RDMA between them. */
const allowsLl128 = ({ kind, gpusPerNode, nodes, hasRdma, storesWhole }: Links): boolean =>
  storesWhole && (gpusPerNode === 1 || kind === 'nvlink') && (nodes === 1 || hasRdma);

/**
 * Ring: base + (steps − s)·hop inside + s·hop between, with s = 2(k−1) of an all-reduce's 2(p−1) steps;
 * broadcast and reduce pass the message along p − 1 hops.
 */
function ring(
  version: NcclVersion,
  kind: RingCollective,
  protocol: Protocol,
  links: Links,
  size: Bytes,
  startup: MeasuredStartup,
): Candidate {
  const { ranks, nodes } = links;
  const rounds = kind === 'all-reduce' ? 2 : 1;
  const between = rounds * (nodes - 1);
  const inside = rounds * (ranks - 1) - between;
  const isLarge =
    protocol === 'Simple' && nodes > 1 && kind === 'all-reduce' && size / (links.channels * ranks) >= 64;
  const growth = isLarge ? version.largeRingLatency[links.generation === 'volta' ? 1 : 0] : 1;
  const latency =
    startup.launch +
    pick(version.base.ring, protocol) * growth +
    inside * insideHop(version, protocol, links) * Math.max(growth, startup.hop) +
    between * hop(version, 'network', 'ring', protocol, links) * growth;
  const bus = Math.min(links.inside * shareOfRing(kind, links), links.between);
  return {
    algorithm: 'ring',
    protocol,
    startup: microseconds(latency),
    transfer: transferTime(size * busFactor(kind, ranks), ringBandwidth(version, kind, protocol, links, bus)),
    slowest: links.between < links.inside ? 'network' : 'link',
  };
}

/**
 * A channel of a ring runs its primitives one after another, and in one of each round it sends nothing: of an all-reduce's
 * send, n − 2 receive-reduce-send, receive-reduce-copy-send, n − 2 receive-copy-send and receive it is the last, of a
 * gather's or scatter's n too (NVIDIA/nccl, src/device/all_reduce.h, all_gather.h, reduce_scatter.h). Behind NVSwitch, where
 * channels and not the links are what is full, that share is lost: more of it to two GPUs than to the eight that the
 * bandwidth is told of. Of a broadcast or a reduce each primitive sends; they are left at that bandwidth, as measured.
 */
function shareOfRing(kind: RingCollective, { switchedGpus, nodes, ranks }: Links): number {
  if (switchedGpus === undefined || nodes > 1 || kind === 'broadcast' || kind === 'reduce') return 1;
  const sending = kind === 'all-reduce' ? sendingShare(ranks) : (ranks - 1) / ranks;
  return sending / sendingShare(switchedGpus);
}

/** Of an all-reduce. */
const sendingShare = (ranks: number): number => (2 * ranks - 2) / (2 * ranks - 1);

function ringBandwidth(
  version: NcclVersion,
  kind: RingCollective,
  protocol: Protocol,
  links: Links,
  bus: number,
): number {
  const { caps, ringShare } = version;
  if (protocol === 'Simple') return bus;
  if (protocol === 'LL') {
    return Math.min(bus * ringShare[0], giga(cap(caps.llTotal, links)));
  }
  return Math.min(
    bus * ringShare[1],
    giga(cap(caps.ringLl128, links)) * links.channels,
    giga(caps.ringLl128Of?.[kind] ?? Number.POSITIVE_INFINITY) * links.channels,
    giga(caps.ringLl128TotalOf?.[kind] ?? Number.POSITIVE_INFINITY),
  );
}

/**
 * Double binary tree between nodes, chain inside: base + 2[(g−1)·inside + ⌊lg k⌋·between]. Each byte goes up and comes
 * down: half the bus bandwidth; over two nodes each byte crosses the network once each way, which doubles what the
 * network gives (`treeNetwork`). Each level between nodes passes a round on when it has it whole: the last GPU ends that many
 * rounds later, up and down.
 */
function tree(
  version: NcclVersion,
  protocol: Protocol,
  links: Links,
  size: Bytes,
  startup: MeasuredStartup,
): Candidate {
  const { nodes, gpusPerNode } = links;
  const latency =
    startup.launch +
    pick(version.base.tree, protocol) +
    2 *
      ((gpusPerNode - 1) * hop(version, links.kind, 'tree', protocol, links) * startup.hop +
        floorLog2(nodes) * hop(version, 'network', 'tree', protocol, links));
  const network = treeNetwork(links);
  const { caps } = version;
  let bandwidth = Math.min(
    Math.min(links.inside, network) * version.tree.share,
    links.tree,
    giga(cap(caps.treeSimple, links)) * links.channels,
    giga(byNodes(caps.treeTotal, nodes)),
  );
  if (protocol === 'LL') {
    bandwidth = Math.min(bandwidth / version.tree.llDivisor, giga(cap(caps.llTotal, links)));
  } else if (protocol === 'LL128') {
    bandwidth = Math.min(
      bandwidth * version.tree.ll128[nodes === 1 ? 0 : 1],
      giga(cap(caps.treeLl128, links)) * links.channels,
    );
  }
  if (version.correctsTreeBySize) bandwidth *= treeCorrection(protocol, size);
  const waits = 2 * floorLog2(nodes) * treeRound(protocol, size, links);
  return {
    algorithm: 'tree',
    protocol,
    startup: microseconds(latency),
    filling: transferTime(2 * waits, bandwidth),
    transfer: transferTime(2 * size, bandwidth),
    slowest: network < links.inside ? 'network' : 'link',
  };
}

/**
 * NVLink SHARP: the switches add; between nodes a tree of the nodes' results. Algorithm bandwidth is n/steps of the bus.
 *
 * Between nodes a round is scattered, added and sent, received and spread, and gathered by threads of their own, each a round
 * behind those before (NVIDIA/nccl, src/device/all_reduce.h, NVLS_TREE). At the rate of the links and the ports the first
 * one takes about three times as long from end to end as one takes when all are busy, so two are waited for on top. So they
 * are for each further level of the tree.
 */
function nvlsCandidate(
  version: NcclVersion,
  links: Links,
  size: Bytes,
  startup: MeasuredStartup,
): Candidate | undefined {
  const { nvls } = version;
  const { nodes, ranks, gpusPerNode, inSwitch } = links;
  // NCCL leaves two GPUs to rings: adding in the switch saves nothing there.
  if (nvls === undefined || inSwitch === undefined || gpusPerNode <= 2) return undefined;
  const network = treeNetwork(links);
  const between = nodes > 1 ? 2 * floorLog2(nodes) * (nvls.tree + networkExtra(links)) : 0;
  const timeOf = (part: number): Seconds =>
    transferTime(part * busFactor('all-reduce', ranks), Math.min(inSwitch, network, links.switchedTree));
  return {
    algorithm: nodes > 1 ? 'nvls tree' : 'nvls',
    protocol: 'Simple',
    startup: microseconds(startup.launch + (nvls.base + nvls.inside) * startup.nvls + between),
    filling: timeOf(2 * floorLog2(nodes) * nvlsRound(size, links)),
    transfer: timeOf(size),
    slowest: network < inSwitch ? 'network' : 'link',
  };
}

/** Parallel aggregated trees, one GPU per node: base + lg k·hop/3.5 + 2.8 µs per rank, three quarters of the bandwidth. */
function pat(
  version: NcclVersion,
  kind: CollectiveKind,
  links: Links,
  size: Bytes,
  startup: MeasuredStartup,
): Candidate {
  const latency =
    startup.launch +
    8 +
    (floorLog2(links.nodes) * hop(version, 'network', 'ring', 'Simple', links)) / 3.5 +
    2.8 * links.ranks;
  return {
    algorithm: 'pat',
    protocol: 'Simple',
    startup: microseconds(latency),
    transfer: transferTime(size * busFactor(kind, links.ranks), links.between * 0.75),
    slowest: 'network',
  };
}

/**
 * Sends and receives of one kernel: every rank with every other; between nodes all GPUs of a node share its ports. Eight peers of
 * other nodes are served at a time (NVIDIA/nccl, src/include/device.h, NCCL_MAX_DEV_WORK_P2P_PER_BATCH).
 */
function pairwise(
  links: Links,
  size: Bytes,
  startup: MeasuredStartup,
  shares: { readonly inside: number; readonly between: number } = { inside: 1, between: 1 },
): Candidate {
  const { ranks, nodes, gpusPerNode } = links;
  const version = ncclVersions['2.30'];
  const steps =
    (gpusPerNode - 1) * insideHop(version, 'Simple', links) * startup.hop +
    (nodes > 1
      ? ((ranks - gpusPerNode) / peersAtATime) * hop(version, 'network', 'ring', 'Simple', links)
      : 0);
  const inside = (shares.inside * size * (gpusPerNode - 1)) / ranks / links.inside;
  const between = (shares.between * size * gpusPerNode * (ranks - gpusPerNode)) / ranks / links.between;
  return {
    algorithm: 'pairwise',
    protocol: 'Simple',
    startup: microseconds(startup.launch + version.base.ring[2] + steps),
    transfer: seconds(Math.max(inside, nodes > 1 ? between : 0)),
    slowest: nodes > 1 && between > inside ? 'network' : 'link',
  };
}

const peersAtATime = 8;

/**
 * What is left of an all-to-all where a row that goes to `chosen` ranks by chance goes once to each node of them, to the GPU of the
 * sender's place there, and on to each GPU of them: n·(1 − (1 − 1/n)^k) of k copies for n places. What nodes send each other passes
 * the links inside, too. Source: deepseek-ai/DeepEP, README.md, "normal kernels"; arXiv:2412.19437, section 3.2.2.
 */
function sentOnce(
  { ranks, nodes }: Links,
  chosen: number,
): { readonly inside: number; readonly between: number } {
  const distinct = (places: number): number => places * (1 - (1 - 1 / places) ** chosen);
  return { inside: (nodes * distinct(ranks)) / chosen, between: distinct(nodes) / chosen };
}

const insideHop = (version: NcclVersion, protocol: Protocol, links: Links): number =>
  // Posting to the network costs a step inside a node at least this much: 1 µs, three times that with Simple.
  Math.max(
    hop(version, links.kind, 'ring', protocol, links),
    links.nodes > 1 ? (protocol === 'Simple' ? 3 : 1) : 0,
  );

function hop(
  version: NcclVersion,
  where: 'nvlink' | 'pcie' | 'network',
  algorithm: 'tree' | 'ring',
  protocol: Protocol,
  links: Links,
): number {
  const extra = where === 'network' ? networkExtra(links) : links.extraLink * 1e6;
  return Math.max(0, pick(version.hop[where][algorithm], protocol) + extra);
}

const networkExtra = (links: Links): number => links.extraNetwork * 1e6;

const pick = (values: readonly [number, number, number], protocol: Protocol): number =>
  protocol === 'LL' ? values[0] : protocol === 'LL128' ? values[1] : values[2];

const cap = (
  caps: Readonly<Record<Links['generation'], readonly [number, number, number]>> | undefined,
  { generation, nodes }: Links,
): number => byNodes(caps?.[generation], nodes);

function byNodes(values: readonly [number, number, number] | undefined, nodes: number): number {
  if (values === undefined) return Number.POSITIVE_INFINITY;
  return nodes === 1 ? values[0] : nodes === 2 ? values[1] : values[2];
}

const giga = (value: number): number => value * 1e9;

const transferTime = (size: number, bandwidth: number): Seconds => seconds(size / bytesPerSecond(bandwidth));
