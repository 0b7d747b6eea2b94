/** An exchange with parameter servers over a cluster's own links, the GPUs of a node adding their gradients first. */

import type { ClusterProfile } from '../hardware/clusterProfile.ts';
import { type Bytes, bytesPerSecond, type Seconds, seconds, sum } from '../model/units.ts';
import { collectiveTime } from './collectiveTime.ts';
import {
  type ExchangeTime,
  placeTensors,
  type ServerExchange,
  synchronousExchange,
} from './parameterServer.ts';
import type { Placement } from './placement.ts';

export interface ServerOptions {
  readonly servers: number;
  /** Servers run on the workers' nodes; else on nodes of their own with the same network. */
  readonly colocated: boolean;
  readonly overlapsPushAndPull: boolean;
  /** Tensors of so many bytes and more are split over all servers; left out, none is. */
  readonly splitFrom?: Bytes;
}

export interface ServerExchangeTime extends Omit<ExchangeTime, 'bound'> {
  /** Of the time: adding inside the nodes and handing the result back to their GPUs. */
  readonly local: Seconds;
  readonly bound: ExchangeTime['bound'] | 'link' | 'none';
  /** "parameter servers (4, co-located) over 10 GbE, 8 nodes, the busiest holds 137 MB". */
  readonly description: string;
}

/** Nodes and servers of a cluster as an exchange; a cluster of one node exchanges inside it only. */
export function exchangeOver(
  cluster: ClusterProfile,
  { nodes }: Placement,
  { servers, colocated, overlapsPushAndPull }: ServerOptions,
): ServerExchange {
  const bandwidth = cluster.network?.nodeBandwidth.value ?? bytesPerSecond(Number.POSITIVE_INFINITY);
  return {
    workers: nodes,
    servers,
    colocated,
    workerBandwidth: bandwidth,
    serverBandwidth: bandwidth,
    startup: cluster.network?.latency.value ?? seconds(0),
    overlapsPushAndPull,
  };
}

/** One synchronous exchange of all `tensors`. */
export function serverExchangeTime(
  cluster: ClusterProfile,
  placement: Placement,
  tensors: readonly Bytes[],
  options: ServerOptions,
): ServerExchangeTime {
  const size = sum(tensors);
  const inside = { nodes: 1, gpusPerNode: placement.gpusPerNode };
  const local = seconds(
    collectiveTime(cluster, inside, { kind: 'reduce', bytes: size }).time +
      collectiveTime(cluster, inside, { kind: 'broadcast', bytes: size }).time,
  );
  const isAlone = placement.nodes <= 1 && options.colocated;
  const { busiest } = placeTensors(tensors, options.servers, options.splitFrom);
  const between = isAlone
    ? { time: seconds(0), bound: 'none' as const }
    : synchronousExchange(exchangeOver(cluster, placement, options), size, busiest);
  const where = options.colocated ? 'co-located' : 'separate';
  return {
    time: seconds(local + between.time),
    local,
    bound: local > between.time ? 'link' : between.bound,
    description: `parameter servers (${options.servers}, ${where}) over ${cluster.network?.title ?? 'one node'}, ${placement.nodes} ${placement.nodes === 1 ? 'node' : 'nodes'}, the busiest holds ${Math.round(busiest / 1e6)} MB`,
  };
}
