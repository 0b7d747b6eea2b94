/** Nodes that a rewriting of the graph left without a reader. */

import type { OnnxNode } from '../formats/onnx/syntax.ts';
import { tally } from '../model/tally.ts';
import type { FlatNode } from './expandFunctions.ts';

/**
 * The nodes without those that make `names` and that nothing reads any more, and without what only these read. `mayGo`: of which names
 * the makers may go; left out, of all.
 */
export function dropUnread(
  nodes: readonly FlatNode[],
  graphOutputs: ReadonlySet<string>,
  names: Iterable<string>,
  mayGo: (name: string) => boolean = () => true,
): readonly FlatNode[] {
  const readers = new Map<string, number>();
  const makers = new Map<string, FlatNode>();
  for (const flat of nodes) {
    for (const name of readNames(flat.node)) tally(readers, name);
    for (const name of flat.node.outputs) if (mayGo(name)) makers.set(name, flat);
  }
  const isRead = (name: string): boolean => {
    const count = readers.get(name);
    return graphOutputs.has(name) || (count !== undefined && count > 0);
  };
  const dropped = new Set<FlatNode>();
  const open = [...names];
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    const maker = makers.get(name);
    if (maker === undefined || dropped.has(maker) || maker.node.outputs.some(isRead)) continue;
    dropped.add(maker);
    for (const input of maker.node.inputs) tally(readers, input, -1);
    open.push(...maker.node.inputs);
  }
  return nodes.filter((flat) => !dropped.has(flat));
}

/** Names that a node reads, those its subgraphs read included. */
function readNames(node: OnnxNode): readonly string[] {
  const names = [...node.inputs];
  for (const attribute of node.attributes.values()) {
    const graphs =
      attribute.kind === 'graph' ? [attribute.value] : attribute.kind === 'graphs' ? attribute.value : [];
    for (const graph of graphs) {
      names.push(...graph.nodes.flatMap(readNames), ...graph.outputs.map((output) => output.name));
    }
  }
  return names;
}
