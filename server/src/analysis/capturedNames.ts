/** What the graphs of an `If`, `Loop` or `Scan` read of the graph around it. */

import type { OnnxNode } from '../formats/onnx/syntax.ts';
import type { Graph, Operator } from '../model/graph.ts';
import { holdsGraph } from './subgraphs.ts';

/** Names of values outside, in the order they are read; none for an operator without graphs that were inferred. */
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

/** The same of a node as the file has it. */
export function capturedNamesOfNode(node: OnnxNode): readonly string[] {
  if (!holdsGraph(node.attributes)) return none;
  let names: Set<string> | undefined;
  for (const attribute of node.attributes.values()) {
    const graphs =
      attribute.kind === 'graph' ? [attribute.value] : attribute.kind === 'graphs' ? attribute.value : [];
    for (const graph of graphs) {
      names ??= new Set();
      const own = new Set([
        ...graph.inputs.map(({ name }) => name),
        ...graph.initializers.map(({ name }) => name),
        ...graph.nodes.flatMap(({ outputs }) => outputs),
      ]);
      const read = graph.nodes.flatMap((child) => [...child.inputs, ...capturedNamesOfNode(child)]);
      for (const name of [...read, ...graph.outputs.map((output) => output.name)]) {
        if (name !== '' && !own.has(name)) names.add(name);
      }
    }
  }
  return names === undefined ? none : [...names];
}
