/**
 * Gradients exchanged through parameter servers: where tensors are placed, how long an exchange takes and keeps the
 * busiest server.
 *
 * Sources: Li et al., OSDI 2014 for the scheme; MXNet's kvstore (tensors of 1,000,000 elements and more are split over
 * all servers, the others go whole to one); TensorFlow's GreedyLoadBalancingStrategy (each tensor to the server that
 * holds least); the one-server form is Paleo's OneToAll (Qi et al., ICLR 2017).
 */

import { floatAt } from '../model/at.ts';
import { type Bytes, type BytesPerSecond, bytes, type Seconds, seconds, times } from '../model/units.ts';

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
  const loads = new Float64Array(servers);
  const serverOf = tensors.map((size) => {
    if (size >= splitFrom) {
      for (let server = 0; server < servers; server++) {
        loads[server] = floatAt(loads, server) + size / servers;
      }
      return undefined;
    }
    const least = leastLoaded(loads);
    loads[least] = floatAt(loads, least) + size;
    return least;
  });
  return {
    loads: Array.from(loads, bytes),
    serverOf,
    busiest: bytes(loads.reduce((most, load) => Math.max(most, load), 0)),
  };
}

function leastLoaded(loads: Float64Array): number {
  let least = 0;
  for (let server = 1; server < loads.length; server += 1) {
    if (floatAt(loads, server) < floatAt(loads, least)) least = server;
  }
  return least;
}

export interface ServerExchange {
  /** Nodes that push and pull, each `size` bytes: GPUs of one node add their gradients first, or push one by one. */
  readonly workers: number;
  /** Servers run on the workers' nodes and share their ports; else on nodes of their own. */
  readonly colocated: boolean;
  /** Of one node's port, one direction. */
  readonly bandwidth: BytesPerSecond;
  /** Per request. */
  readonly startup: Seconds;
  /** Both at once use both directions of a port: push of one tensor while another is pulled. */
  readonly way: 'push' | 'pull' | 'push and pull';
}

export interface ExchangeTime {
  /** Requests and their answers, without the bytes. */
  readonly startup: Seconds;
  /** Bytes of all workers at once. */
  readonly transfer: Seconds;
  /** Bytes of one worker while no other exchanges. */
  readonly alone: Seconds;
  /** How long one worker keeps the busiest server. */
  readonly atServer: Seconds;
  readonly bound: 'server' | 'worker';
}

/**
 * An exchange of `size` bytes by each worker, of which the busiest server holds `busiest`.
 *
 * Separate servers: max(n/B, W·n_s/B) each way, so 2·max(…) for a push and then a pull. Co-located: a port carries its
 * worker's traffic to the other nodes' servers one way while its server takes in that of the other workers,
 * max(n − n_s, (W−1)·n_s)/B; with push and pull at once it carries the sum, which for as many servers as workers and
 * even placement is 2(W−1)/W·n, the volume of a ring. Without a barrier workers queue at the server, which takes
 * `atServer` for each.
 */
export function serverExchange(
  { workers, colocated, bandwidth, startup, way }: ServerExchange,
  size: Bytes,
  busiest: Bytes,
): ExchangeTime {
  const both = way === 'push and pull';
  const remote = colocated ? size - busiest : size;
  const served = (colocated ? workers - 1 : workers) * busiest;
  const transfer = both && colocated ? remote + served : Math.max(remote, served);
  return {
    startup: times(startup, both ? 2 : 1),
    transfer: seconds(transfer / bandwidth),
    alone: seconds(remote / bandwidth),
    atServer: seconds(((both && colocated ? 2 : 1) * busiest) / bandwidth),
    bound: served > remote ? 'server' : 'worker',
  };
}
