/** How long an operation of a message takes on a cluster. */

import type { ClusterProfile, Network } from '../hardware/clusterProfile.ts';
import { tcpRate } from '../hardware/tcpRate.ts';
import type { Range } from '../model/estimate.ts';
import { formatBandwidth, formatBytes } from '../model/format.ts';
import { bytes, bytesPerSecond, type Seconds, seconds, times } from '../model/units.ts';
import { measuredLink } from './bandwidthDoubt.ts';
import { collectiveTime } from './collectiveTime.ts';
import { placeGroup } from './groupPlacement.ts';
import { linksOf } from './links.ts';
import type { CopyOperation, Operation, RootGatherOperation, ServerOperation } from './operation.ts';
import { serverExchange } from './parameterServer.ts';
import type { Placement } from './placement.ts';

export interface OperationTime {
  readonly time: Seconds;
  readonly low: Seconds;
  readonly high: Seconds;
  /** The part that does not grow with the message. */
  readonly startup: Seconds;
  /** What the part that grows waits for, or 'start-up' where that is the larger. */
  readonly bound: OperationBound;
  /** How long one sender's exchange occupies the busiest server: what asynchronous workers queue for. */
  readonly serverTime: Seconds;
  /** "ring (LL128) over NVLink 3 and NVSwitch, 8 GPUs, 231 GB/s bus bandwidth". */
  readonly description: string;
}

export type OperationBound = 'none' | 'start-up' | 'link' | 'network' | 'host' | 'server';

/** `sharesServers` is false for the exchange of one worker by itself, as an asynchronous one is. */
export function operationTime(
  cluster: ClusterProfile,
  placement: Placement,
  operation: Operation,
  sharesServers = true,
): OperationTime {
  switch (operation.kind) {
    case 'collective': {
      const group = placeGroup(cluster, placement, operation.over);
      const { library, algorithm, inHostMemory, concurrent = 1 } = operation;
      const { time, low, high, startup, bound, description } = collectiveTime(cluster, group.placement, {
        kind: operation.collective,
        bytes: operation.bytes,
        concurrent: concurrent * group.concurrent,
        ...(library === undefined ? {} : { library }),
        ...(inHostMemory === undefined ? {} : { inHostMemory }),
        ...(algorithm === undefined ? {} : { algorithm }),
      });
      const name = operation.collective === 'all-reduce' ? '' : `${operation.collective}, `;
      return { time, low, high, startup, bound, serverTime: none, description: `${name}${description}` };
    }
    case 'server':
      return serverTime(cluster, placement, operation, sharesServers);
    case 'copy':
      return copyTime(cluster, placement, operation);
    case 'gather at rank 0':
      return rootGatherTime(cluster, placement, operation);
    case 'host pass':
      return predicted(
        none,
        operation.bytes / operation.rate,
        operation.at === undefined ? 'host' : 'server',
        operation.what,
      );
    case 'fixed':
      return operation.isWork
        ? predicted(none, operation.time, 'host', operation.what)
        : { ...predicted(operation.time, 0, 'start-up', operation.what), low: none, high: operation.time };
  }
}

const none = seconds(0);

function predicted(
  startup: Seconds,
  transfer: number,
  slowest: OperationBound,
  description: string,
  doubt: Range = measuredLink,
): OperationTime {
  const time = seconds(startup + transfer);
  const bound = time === 0 ? 'none' : startup > transfer ? 'start-up' : slowest;
  return {
    time,
    low: times(time, doubt.low),
    high: times(time, doubt.high),
    startup,
    bound,
    serverTime: none,
    description,
  };
}

/** By `parameterServer.ts`, over the ports of the nodes. */
function serverTime(
  cluster: ClusterProfile,
  placement: Placement,
  { way, bytes: size, servers, busiestShare, colocated, senders, library }: ServerOperation,
  sharesServers: boolean,
): OperationTime {
  const { network } = cluster;
  const { nodes, gpusPerNode } = placement;
  const where = `${way} over ${network?.title ?? 'one node'}, ${servers} ${colocated ? 'co-located' : 'separate'} ${servers === 1 ? 'server' : 'servers'}`;
  if (network === undefined || (nodes <= 1 && colocated)) return predicted(none, 0, 'none', where);
  const sent = bytes(size * (senders === 'gpus' ? gpusPerNode : 1));
  const { startup, transfer, alone, atServer, bound } = serverExchange(
    {
      workers: nodes,
      colocated,
      bandwidth: bytesPerSecond(
        Math.min(
          nodes > 1 ? linksOf(cluster, placement).between : network.nodeBandwidth.value,
          socketRate(network, library),
        ),
      ),
      startup: network.latency.value,
      way,
    },
    sent,
    bytes(sent * busiestShare),
  );
  const slowest = bound === 'server' ? 'server' : 'network';
  return {
    ...predicted(
      startup,
      sharesServers ? transfer : alone,
      sharesServers ? slowest : 'network',
      where,
      linksOf(cluster, placement).doubt.network,
    ),
    serverTime: atServer,
  };
}

const socketRate = ({ kind, nics, portBandwidth }: Network, library: ServerOperation['library']): number =>
  library === undefined || kind !== 'ethernet'
    ? Number.POSITIVE_INFINITY
    : nics.value * tcpRate(portBandwidth.value, library);

/** DMA of pinned memory: start-up of a cudaMemcpyAsync, then the rate of the host link among those that share it. */
function copyTime(
  { gpu, host }: ClusterProfile,
  { gpusPerNode }: Placement,
  { way, bytes: size, sharing }: CopyOperation,
): OperationTime {
  if (gpu.architecture === 'cpu') return predicted(none, 0, 'none', 'the host computes, nothing is copied');
  const link = gpu.hostLink?.value ?? undescribedHostLink;
  const linked = Math.min(gpusPerNode, host?.gpusPerHostLink?.value ?? 1);
  const rate = bytesPerSecond(link / (sharing === 'as linked' ? linked : sharing));
  const description = `copy of ${formatBytes(size)} ${way}, ${formatBandwidth(rate)}`;
  return predicted(copyStartup, size / rate, 'host', description);
}

/** What cudaMemcpyAsync of pinned memory costs before bytes move: an assumption of the usual size. */
const copyStartup = seconds(10e-6);

/** PCIe 3.0 × 16 as NCCL's topology search takes it (src/graph/topo.h), where a profile does not say. */
const undescribedHostLink = bytesPerSecond(12e9);

/**
 * Source: CNTK, SimpleDistGradAggregator.h: rank 0 receives the header of each worker, adds it, and sends the sum to
 * each; nothing of it overlaps, 2(P−1)(α + n/B).
 */
function rootGatherTime(
  { network, link }: ClusterProfile,
  { nodes, gpusPerNode }: Placement,
  { bytes: size }: RootGatherOperation,
): OperationTime {
  const ranks = nodes * gpusPerNode;
  const latency = (nodes > 1 ? network?.latency.value : link?.latency.value) ?? 5e-6;
  const bandwidth =
    (nodes > 1 ? network?.nodeBandwidth.value : link?.busBandwidth.value) ?? Number.POSITIVE_INFINITY;
  const rounds = 2 * (ranks - 1);
  return predicted(
    seconds(rounds * latency),
    (rounds * size) / bandwidth,
    'network',
    `headers of ${ranks - 1} workers gathered at rank 0`,
  );
}
