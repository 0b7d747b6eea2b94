/** Attention divided by heads over workers that exchange positions for heads before it (Jacobs et al., arXiv:2309.14509, section 3.1). */

import type { Graph, Operator } from '../model/graph.ts';
import { isStartOfAttention } from './attentionCores.ts';
import type { BoundFactor, DividedGraph } from './boundMap.ts';
import type { DividedFactor, Division, Split } from './division.ts';
import { blocksOf, matchOf } from './matchFactor.ts';

/** The operators of attention divided by heads, with the tensors between them; `undefined` where heads do not divide. */
export function divideHeads(
  divided: DividedGraph,
  core: readonly number[],
  waysOf: (index: number, factor: BoundFactor) => number,
): Division | undefined {
  const { graph } = divided.training.analysis;
  const values = new Map<string, Split>();
  const operators = new Map<number, DividedFactor>();
  const waiting: string[] = [];
  const divide = (operator: Operator, match: DividedFactor): boolean => {
    const { factor, within } = match;
    if (factor.coupled !== undefined) return false;
    if (factor.size % (within * waysOf(operator.index, factor)) !== 0) return false;
    operators.set(operator.index, match);
    for (const [name, block] of [
      ...blocksOf(operator, 'inputs', match),
      ...blocksOf(operator, 'outputs', match),
    ]) {
      if (values.has(name)) continue;
      values.set(name, block);
      waiting.push(name);
    }
    return true;
  };
  const start = core.map((index) => graph.operators[index]).find(isStartOfAttention);
  const heads = start && headsOf(start, divided);
  if (start === undefined || heads === undefined || !divide(start, { factor: heads, within: 1 }))
    return undefined;
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    const value = graph.values.get(name);
    const place = values.get(name);
    if (value === undefined || place === undefined) continue;
    for (const index of [...(value.producer === undefined ? [] : [value.producer]), ...value.consumers]) {
      const operator = graph.operators[index];
      if (operator === undefined || !core.includes(index) || operators.has(index)) continue;
      const side = index === value.producer ? 'outputs' : 'inputs';
      const operand = { side, tensor: operator[side].indexOf(name) } as const;
      const match = matchOf(divided.factorsOf(index), operand, place, waysOf(index, heads));
      if (match === undefined || !divide(operator, match)) return undefined;
    }
  }
  return { values: insideOf(values, graph, core), operators };
}

/** What comes in is as it is after the exchange; what goes out as before. */
const insideOf = (
  values: ReadonlyMap<string, Split>,
  graph: Graph,
  core: readonly number[],
): ReadonlyMap<string, Split> =>
  new Map(
    [...values].filter(([name]) => {
      const value = graph.values.get(name);
      return (
        value?.producer !== undefined &&
        value.consumers.some((index) => core.includes(index)) &&
        !isReadOutside(graph, name, core)
      );
    }),
  );

export const isReadOutside = (graph: Graph, name: string, core: readonly number[]): boolean =>
  graph.outputs.includes(name) ||
  (graph.values.get(name)?.consumers ?? []).some((index) => !core.includes(index));

/** The axis before positions and features of scores; of packed heads the last one. */
function headsOf(operator: Operator, { training, factorsOf }: DividedGraph): BoundFactor | undefined {
  const rank = training.tensors.get(operator.outputs[0] ?? '')?.dimensions.length;
  if (rank === undefined) return undefined;
  const axis = operator.type === 'Attention' && rank === 3 ? 2 : rank - 3;
  return factorsOf(operator.index).find(
    ({ inputs, outputs }) =>
      inputs.some((place) => place.tensor === 0 && place.axis === axis) &&
      outputs.some((place) => place.tensor === 0 && place.axis === axis) &&
      (operator.type !== 'Attention' || inputs.some((place) => place.tensor === 1)),
  );
}
