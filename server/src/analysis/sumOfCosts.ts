/** The cost of a whole subgraph, as one operator's. */

import type { Graph } from '../model/graph.ts';
import type { BoundTensor, KnownCost, OperatorCost, SavedTensor } from '../operators/definition.ts';
import { noWork } from '../operators/definition.ts';
import { addWork, trafficOf } from '../operators/vocabulary/work.ts';

/**
 * All operators of `graph` summed; `undefined` where one of them is unknown. Its class is that of the operator with
 * the most work; what its operators save is kept as extra tensors, because outside the subgraph they have no name.
 */
export function sumOfCosts(
  graph: Graph,
  costs: readonly OperatorCost[],
  tensorOf: (name: string) => BoundTensor | undefined,
): KnownCost | undefined {
  let heaviest: KnownCost | undefined;
  const known: KnownCost[] = [];
  const saved: SavedTensor[] = [];
  const kept = new Set<string>();
  for (const operator of graph.operators) {
    const cost = costs[operator.index];
    if (cost?.kind !== 'known') return undefined;
    known.push(cost);
    if (heaviest === undefined || weightOf(cost) > weightOf(heaviest)) heaviest = cost;
    for (const tensor of cost.saved) {
      if (tensor.kind === 'extra') {
        saved.push(tensor);
        continue;
      }
      const name = (tensor.kind === 'input' ? operator.inputs : operator.outputs)[tensor.index];
      if (name === undefined || name === '' || kept.has(name)) continue;
      kept.add(name);
      const own = { kind: 'extra', name, traffic: trafficOf(tensorOf(name)) } as const;
      saved.push(graph.values.has(name) ? own : { ...own, fromAround: true });
    }
  }
  return {
    kind: 'known',
    class: heaviest?.class ?? 'view',
    forward: known.length === 0 ? noWork : addWork(...known.map(({ forward }) => forward)),
    backwardData: addWork(...known.map(({ backwardData }) => backwardData)),
    backwardWeight: addWork(...known.map(({ backwardWeight }) => backwardWeight)),
    saved,
  };
}

const weightOf = ({ forward }: KnownCost): number =>
  forward.flops + forward.operations + forward.traffic.float32Elements + forward.traffic.fixedBytes;
