/**
 * Weights that stand inside the bodies of `If`, `Loop` and `Scan` moved to the graph around them.
 *
 * A body sees the values of the graph around it, so that the model is the same; but there it is plain that a weight is
 * one tensor however often the body runs, that it is trained, and what its gradient costs.
 */

import type { OnnxGraph, OnnxNode } from '../formats/onnx/syntax.ts';
import type { Attribute, TensorLiteral } from '../model/attribute.ts';
import { isFloatingPoint } from '../model/elementType.ts';
import { renameGraph } from './renameNode.ts';
import { holdsGraph } from './subgraphs.ts';
import { unusedName } from './unusedName.ts';

/** The graph without weights in its subgraphs; the same object where there are none. */
export function hoistInitializers(graph: OnnxGraph): OnnxGraph {
  if (!graph.nodes.some(({ attributes }) => holdsGraph(attributes))) return graph;
  const taken = new Set([
    ...graph.inputs.map(({ name }) => name),
    ...graph.initializers.map(({ name }) => name),
    ...graph.nodes.flatMap(({ outputs }) => outputs),
  ]);
  const found: TensorLiteral[] = [];
  const nodes = graph.nodes.map((node) =>
    holdsGraph(node.attributes) ? withoutWeights(node, taken, found) : node,
  );
  return found.length === 0 ? graph : { ...graph, nodes, initializers: [...graph.initializers, ...found] };
}

function withoutWeights(node: OnnxNode, taken: Set<string>, found: TensorLiteral[]): OnnxNode {
  const attributes = new Map<string, Attribute<OnnxGraph>>();
  for (const [name, attribute] of node.attributes) {
    if (attribute.kind === 'graph') {
      attributes.set(name, { kind: 'graph', value: bodyWithoutWeights(attribute.value, taken, found) });
    } else if (attribute.kind === 'graphs') {
      const value = attribute.value.map((body) => bodyWithoutWeights(body, taken, found));
      attributes.set(name, { kind: 'graphs', value });
    } else attributes.set(name, attribute);
  }
  return { ...node, attributes };
}

function bodyWithoutWeights(given: OnnxGraph, taken: Set<string>, found: TensorLiteral[]): OnnxGraph {
  const body = hoistInitializers(given);
  const inputs = new Set(body.inputs.map(({ name }) => name));
  const isWeight = ({ name, elementType }: TensorLiteral): boolean =>
    name !== '' && isFloatingPoint(elementType) && !inputs.has(name);
  const weights = body.initializers.filter(isWeight);
  if (weights.length === 0) return body;
  const names = new Map<string, string>();
  for (const weight of weights) {
    const name = unusedName(weight.name, taken);
    taken.add(name);
    if (name !== weight.name) names.set(weight.name, name);
    found.push({ ...weight, name });
  }
  const rest = { ...body, initializers: body.initializers.filter((literal) => !isWeight(literal)) };
  return renameGraph(
    rest,
    (name) => names.get(name) ?? name,
    (name) => ({ kind: 'reference', value: name }),
  );
}
