/** Finds every composite of a graph: patterns in their order, the first that takes an operator has it. */

import type { Graph } from '../model/graph.ts';
import type { Composite, CompositeMatch, CompositePattern } from './composite.ts';

/** By the index of each of their operators. An operator is part of one composite at most. */
export type Composites = ReadonlyMap<number, Composite>;

/** Larger composites stand first: what they contain is not looked for again. */
export function findComposites(graph: Graph, patterns: readonly CompositePattern[]): Composites {
  const found = new Map<number, Composite>();
  for (const pattern of patterns) {
    const anchors = new Set(pattern.anchors);
    for (const operator of graph.operators) {
      if (!anchors.has(operator.type) || found.has(operator.index)) continue;
      const match = pattern.match(graph, operator);
      if (match === undefined || match.operators.some((index) => found.has(index))) continue;
      const composite = { kind: pattern.kind, name: pattern.name, ...match, ...boundaryOf(graph, match) };
      for (const index of match.operators) found.set(index, composite);
    }
  }
  return found;
}

/** The values that cross the boundary of a match. */
function boundaryOf(graph: Graph, { operators }: CompositeMatch): Pick<Composite, 'inputs' | 'outputs'> {
  const members = new Set(operators);
  const given = new Set(graph.outputs);
  const inputs = new Set<string>();
  const outputs: string[] = [];
  for (const index of operators) {
    const operator = graph.operators[index];
    if (operator === undefined) continue;
    for (const input of operator.inputs) {
      const producer = graph.values.get(input)?.producer;
      if (input !== '' && (producer === undefined || !members.has(producer))) inputs.add(input);
    }
    for (const output of operator.outputs) {
      const isRead = graph.values.get(output)?.consumers.some((reader) => !members.has(reader)) === true;
      if (isRead || given.has(output)) outputs.push(output);
    }
  }
  return { inputs: [...inputs], outputs };
}
