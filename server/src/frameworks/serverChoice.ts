/** Parameter servers that a framework's options ask for, and what the busiest of them holds. */

import { placeTensors } from '../communication/parameterServer.ts';
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

/** Each tensor whole to the server that holds least, those of `splitFrom` and more over all servers. */
export function chooseServers(
  options: ReadonlyMap<string, string>,
  { nodes }: WorkerGroup,
  gradients: readonly Gradient[],
  splitFrom?: Bytes,
): ServerChoice {
  const servers = countOf(options.get('servers'), nodes);
  const tensors = gradients.map((gradient) => gradient.bytes);
  const total = tensors.reduce((sum, size) => sum + size, 0);
  const { busiest } = placeTensors(tensors, servers, splitFrom ?? bytes(Number.POSITIVE_INFINITY));
  return {
    servers,
    colocated: options.get('colocated') !== 'false',
    busiestShare: total === 0 ? 1 / servers : busiest / total,
  };
}
