/** What the graphs of an `If`, `Loop` or `Scan` read of the graph around it. */

import type { Graph, Operator } from '../model/graph.ts';
import { holdsGraph } from './subgraphs.ts';

/** Names of values outside, in the order they are read; none for an operator without graphs. */
export function capturedNames({ attributes }: Operator): readonly string[] {
  if (!holdsGraph(attributes)) return none;
  const names = new Set<string>();
  for (const attribute of attributes.values()) {
    if (attribute.kind !== 'graph') continue;
    for (const name of namesReadOutside(attribute.value)) names.add(name);
  }
  return [...names];
}

const none: readonly string[] = [];

const namesReadOutside = ({ operators, outputs, values }: Graph): readonly string[] =>
  [...operators.flatMap((operator) => [...operator.inputs, ...capturedNames(operator)]), ...outputs].filter(
    (name) => name !== '' && !values.has(name),
  );
