/**
 * One `Split` where an exporter wrote it again for each of its parts.
 *
 * A program that changes a tensor in place is exported with its views made anew behind each change
 * (torch/_functorch/_aot_autograd/functional_utils.py, `gen_alias_from_base`): the parts of one `torch.split` then come from a split
 * each, of which one part is read. PyTorch splits once, and puts the gradients together once. Where a part is read from two of them the
 * program split twice.
 */

import { type Constants, constantsOf } from './constantsOfNodes.ts';
import type { FlatNode, StoredGraph } from './expandFunctions.ts';

export function joinSplits(stored: StoredGraph): StoredGraph {
  const { nodes, graph } = stored;
  const splits = nodes.filter(({ node }) => node.type === 'Split' && node.domain === '');
  if (splits.length < 2) return stored;
  const read = new Set([
    ...nodes.flatMap(({ node }) => node.inputs),
    ...graph.outputs.map(({ name }) => name),
  ]);
  const constants = constantsOf(nodes, graph.initializers);
  const alike = new Map<string, FlatNode[]>();
  for (const flat of splits) {
    const key = keyOf(flat, constants);
    if (key === undefined) continue;
    const others = alike.get(key);
    if (others === undefined) alike.set(key, [flat]);
    else others.push(flat);
  }
  const instead = new Map<FlatNode, readonly FlatNode[]>();
  for (const copies of alike.values()) {
    const [first] = copies;
    if (first === undefined || copies.length < 2) continue;
    const parts = first.node.outputs.map((_, index) =>
      copies.flatMap(({ node }) => node.outputs[index] ?? []).filter((name) => read.has(name)),
    );
    if (parts.some((names) => names.length > 1)) continue;
    const outputs = first.node.outputs.map((name, index) => parts[index]?.[0] ?? name);
    for (const copy of copies) instead.set(copy, []);
    instead.set(first, [{ ...first, node: { ...first.node, outputs } }]);
  }
  return instead.size === 0 ? stored : { graph, nodes: nodes.flatMap((flat) => instead.get(flat) ?? [flat]) };
}

/** Alike for splits of one tensor into the same parts; `undefined` where the sizes are computed. */
function keyOf({ node }: FlatNode, constants: Constants): string | undefined {
  const [source = '', sizes = ''] = node.inputs;
  const lengths = sizes === '' ? 'even' : constants.get(sizes)?.join();
  const axis = node.attributes.get('axis');
  const along = axis?.kind === 'int' ? axis.value : 0;
  return lengths === undefined ? undefined : `${source} ${along} ${lengths} ${node.outputs.length}`;
}
