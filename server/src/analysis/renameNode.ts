/** Bodies of functions and loops written into the graph around them, under names of their own. */

import type { OnnxGraph, OnnxNode } from '../formats/onnx/syntax.ts';
import type { Attribute } from '../model/attribute.ts';

/**
 * A node with its values renamed and references to a caller's attributes resolved; an attribute that the caller
 * leaves out is left out.
 */
export function renameNode(
  node: OnnxNode,
  nameOf: (name: string) => string,
  attributeOf: (name: string) => Attribute<OnnxGraph> | undefined,
): OnnxNode {
  const attributes = new Map<string, Attribute<OnnxGraph>>();
  for (const [name, attribute] of node.attributes) {
    const given = attribute.kind === 'reference' ? attributeOf(attribute.value) : attribute;
    if (given === undefined) continue;
    if (given.kind === 'graph') {
      attributes.set(name, { kind: 'graph', value: renameGraph(given.value, nameOf, attributeOf) });
    } else if (given.kind === 'graphs') {
      const value = given.value.map((graph) => renameGraph(graph, nameOf, attributeOf));
      attributes.set(name, { kind: 'graphs', value });
    } else attributes.set(name, given);
  }
  return { ...node, inputs: node.inputs.map(nameOf), outputs: node.outputs.map(nameOf), attributes };
}

/** Renames what a subgraph takes from around it; what it defines itself keeps its name. */
export function renameGraph(
  graph: OnnxGraph,
  nameOf: (name: string) => string,
  attributeOf: (name: string) => Attribute<OnnxGraph> | undefined,
): OnnxGraph {
  const own = new Set([
    ...graph.inputs.map(({ name }) => name),
    ...graph.initializers.map(({ name }) => name),
    ...graph.nodes.flatMap((node) => node.outputs),
  ]);
  const inner = (name: string): string => (own.has(name) ? name : nameOf(name));
  return {
    ...graph,
    nodes: graph.nodes.map((node) => renameNode(node, inner, attributeOf)),
    outputs: graph.outputs.map((output) => ({ ...output, name: inner(output.name) })),
  };
}
