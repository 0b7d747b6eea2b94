/** Parameter servers that a framework's options ask for, and what the busiest of them holds. */

import { placeTensors } from '../communication/parameterServer.ts';
import { floatAt } from '../model/at.ts';
import { type Bytes, bytes } from '../model/units.ts';
import type { WorkerGroup } from './exchange.ts';
import type { Gradient } from './gradient.ts';
import { countOf, type FrameworkOption, nodesOrNumber, oneOf } from './options.ts';

export const serverOptions: readonly FrameworkOption[] = [
  {
    name: 'servers',
    default: 'nodes',
    documentation: 'number of parameter servers, or `nodes`: one per node',
    expects: nodesOrNumber,
  },
  {
    name: 'colocated',
    default: 'true',
    documentation: 'true: servers run on the workers’ nodes; false: on separate nodes',
    expects: oneOf('true', 'false'),
  },
];

export interface ServerChoice {
  readonly servers: number;
  readonly colocated: boolean;
  readonly busiestShare: number;
}

/**
 * Each tensor whole to the server that holds least, those of `splitFrom` and more over all servers. `sentOf`: what is sent of
 * a gradient, where that is not the size of its tensor.
 */
export function chooseServers(
  options: ReadonlyMap<string, string>,
  { nodes }: WorkerGroup,
  gradients: readonly Gradient[],
  splitFrom?: Bytes,
  sentOf: (gradient: Gradient) => Bytes = (gradient) => gradient.bytes,
): ServerChoice {
  const servers = countOf(options.get('servers'), nodes);
  return {
    servers,
    colocated: options.get('colocated') !== 'false',
    busiestShare: busiestShare(gradients, servers, splitFrom, sentOf),
  };
}

/** Of all that is sent, what the server with most of it takes; tensors are placed by their whole size. */
export function busiestShare(
  gradients: readonly Gradient[],
  servers: number,
  splitFrom: Bytes = bytes(Number.POSITIVE_INFINITY),
  sentOf: (gradient: Gradient) => Bytes = (gradient) => gradient.bytes,
): number {
  const { serverOf } = placeTensors(
    gradients.map((gradient) => gradient.bytes),
    servers,
    splitFrom,
  );
  const loads = new Float64Array(servers);
  let [split, total] = [0, 0];
  for (const [index, gradient] of gradients.entries()) {
    const sent = sentOf(gradient);
    const server = serverOf[index];
    total += sent;
    if (server === undefined) split += sent / servers;
    else loads[server] = floatAt(loads, server) + sent;
  }
  return total === 0 ? 1 / servers : (split + loads.reduce((most, load) => Math.max(most, load), 0)) / total;
}
