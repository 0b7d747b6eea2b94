/**
 * Gradients exchanged through parameter servers: where tensors are placed, how long a synchronous exchange takes,
 * how many updates an asynchronous one sustains.
 *
 * Sources: Li et al., OSDI 2014 for the scheme; MXNet's kvstore (tensors of 1,000,000 elements and more are split over
 * all servers, the others go whole to one); TensorFlow's GreedyLoadBalancingStrategy (each tensor to the server that
 * holds least); the one-server form is Paleo's OneToAll (Qi et al., ICLR 2017).
 */

import { type Bytes, type BytesPerSecond, bytes, type Seconds, seconds } from '../model/units.ts';

export interface ServerPlacement {
  /** Bytes each server holds, in server order. */
  readonly loads: readonly Bytes[];
  /** Server of each tensor, in the order given; `undefined` for a tensor that is split over all. */
  readonly serverOf: readonly (number | undefined)[];
  /** Bytes of the busiest server: what an exchange waits for. */
  readonly busiest: Bytes;
}

/** Each tensor, in the order given, to the server that holds least; those of `splitFrom` bytes and more over all. */
export function placeTensors(
  tensors: readonly Bytes[],
  servers: number,
  splitFrom: Bytes = bytes(Number.POSITIVE_INFINITY),
): ServerPlacement {
  const loads = new Array<number>(servers).fill(0);
  const serverOf = tensors.map((size) => {
    if (size >= splitFrom) {
      for (let server = 0; server < servers; server++) {
        loads[server] = (loads[server] ?? 0) + size / servers;
      }
      return undefined;
    }
    const least = loads.indexOf(Math.min(...loads));
    loads[least] = (loads[least] ?? 0) + size;
    return least;
  });
  return { loads: loads.map(bytes), serverOf, busiest: bytes(Math.max(0, ...loads)) };
}

export interface ServerExchange {
  /** Nodes that push and pull: GPUs of one node add their gradients first. */
  readonly workers: number;
  readonly servers: number;
  /** Servers run on the workers' nodes and share their ports. */
  readonly colocated: boolean;
  /** Of one node, one direction. */
  readonly workerBandwidth: BytesPerSecond;
  readonly serverBandwidth: BytesPerSecond;
  /** Per request. */
  readonly startup: Seconds;
  /** Push of one tensor runs while another is pulled: full duplex is used. */
  readonly overlapsPushAndPull: boolean;
}

export interface ExchangeTime {
  readonly time: Seconds;
  readonly bound: 'server' | 'worker';
}

/**
 * Synchronous exchange of `size` bytes, of which the busiest server holds `busiest`.
 *
 * Separate servers: max(n/B_w, W·n_s/B_s), twice that where push and pull do not overlap. Co-located: a port carries
 * its worker's traffic to the other nodes' servers and its server's to the other nodes' workers, both of which go
 * out (and in) on the same port: n − n_own + (W−1)·n_s, which for W = S and even placement is 2(W−1)/W·n, the
 * volume of a ring. Two start-ups per exchange: the push and the pull.
 */
export function synchronousExchange(exchange: ServerExchange, size: Bytes, busiest: Bytes): ExchangeTime {
  const { workers, colocated, workerBandwidth, serverBandwidth, startup } = exchange;
  const rounds = exchange.overlapsPushAndPull ? 1 : 2;
  // In co-located service both directions of a port carry push and pull at once, whatever the order.
  const worker = colocated ? (size - busiest) / workerBandwidth : (rounds * size) / workerBandwidth;
  const server = colocated
    ? (size - busiest + (workers - 1) * busiest) / serverBandwidth
    : (rounds * workers * busiest) / serverBandwidth;
  return {
    time: seconds(2 * startup + Math.max(worker, server)),
    bound: server > worker ? 'server' : 'worker',
  };
}

export interface AsynchronousRate {
  /** Steps of all workers together, per second. */
  readonly stepsPerSecond: number;
  /** Updates by others between a worker's pull and its push, on average: W − 1 where workers are alike. */
  readonly staleness: number;
  readonly bound: 'server' | 'worker';
  /** Workers from which the servers are the limit, other things equal. */
  readonly saturatesAt: number;
}

/**
 * No barrier: each worker takes its step and exchanges, min(Σ 1/(t_w + 2(α + n/B_w)), B_s/(2·n_s)) where pushes and
 * pulls do not overlap; with them overlapped the server moves n_s each way at once.
 */
export function asynchronousRate(
  exchange: ServerExchange,
  size: Bytes,
  busiest: Bytes,
  workerStep: Seconds,
): AsynchronousRate {
  const { workers, workerBandwidth, serverBandwidth, startup } = exchange;
  const rounds = exchange.overlapsPushAndPull ? 1 : 2;
  const period = workerStep + 2 * startup + (rounds * size) / workerBandwidth;
  const saturation = busiest === 0 ? Number.POSITIVE_INFINITY : serverBandwidth / (rounds * busiest);
  const offered = workers / period;
  return {
    stepsPerSecond: Math.min(offered, saturation),
    staleness: workers - 1,
    bound: offered > saturation ? 'server' : 'worker',
    saturatesAt: saturation * period,
  };
}
