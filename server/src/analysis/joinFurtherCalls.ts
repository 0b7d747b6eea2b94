/**
 * Weights of a module that is called several times, which constant folding has stored once for each call.
 *
 * The TorchScript exporter brings the gates of recurrent layers into the order of ONNX (torch/onnx/symbolic_opset9.py,
 * `reform_weights`), and constant folding does it beforehand: both sentences of a pair seem to have an encoder of their own. The
 * module says that they are one, by its path, and the bytes of one tensor at least.
 */

import type { TensorLiteral } from '../model/attribute.ts';
import { isAnonymousTensor } from '../model/tensorNames.ts';
import { areAlike } from './areAlike.ts';
import { calledModules } from './calledModules.ts';
import type { FlatNode, StoredGraph } from './expandFunctions.ts';

export function joinFurtherCalls(stored: StoredGraph): StoredGraph {
  const { nodes, graph } = stored;
  const folded = new Map(
    graph.initializers.filter(({ name }) => isAnonymousTensor(name)).map((tensor) => [tensor.name, tensor]),
  );
  if (![...folded.values()].some(({ origin }) => origin?.copyOf !== undefined)) return stored;
  const moduleOf = calledModules(nodes);
  const firstCalls = new Map<string, FlatNode>();
  /** The tensor of the first call, by that of a further one. */
  const instead = new Map<string, string>();
  for (const flat of nodes) {
    const { inputs, name, type } = flat.node;
    const path = flat.scope.paths.at(-1);
    if (path === undefined || !inputs.some((input) => folded.has(input))) continue;
    const key = [moduleOf(flat.scope), name.slice(name.lastIndexOf('/')), type].join();
    const first = firstCalls.get(key);
    if (first === undefined) firstCalls.set(key, flat);
    else if (first.scope.paths.at(-1) !== path) {
      for (const [own, other] of copiesIn(first, flat, folded)) instead.set(own, other);
    }
  }
  if (instead.size === 0) return stored;
  return {
    nodes: nodes.map((flat) =>
      flat.node.inputs.some((name) => instead.has(name))
        ? {
            ...flat,
            node: { ...flat.node, inputs: flat.node.inputs.map((name) => instead.get(name) ?? name) },
          }
        : flat,
    ),
    graph: { ...graph, initializers: graph.initializers.filter(({ name }) => !instead.has(name)) },
  };
}

/** Tensors of a further call with those of the first; none where no bytes show that both have the same. */
function copiesIn(
  first: FlatNode,
  further: FlatNode,
  folded: ReadonlyMap<string, TensorLiteral>,
): readonly (readonly [string, string])[] {
  const pairs = further.node.inputs.flatMap((name, position) => {
    const own = folded.get(name);
    const other = folded.get(first.node.inputs[position] ?? '');
    return own !== undefined && other !== undefined && own !== other && areAlike(own, other)
      ? [{ own, other }]
      : [];
  });
  const isProved = pairs.some(
    ({ own, other }) =>
      own.origin?.copyOf !== undefined && own.origin.copyOf === (other.origin?.copyOf ?? other.name),
  );
  return isProved ? pairs.map(({ own, other }) => [own.name, other.name] as const) : [];
}
