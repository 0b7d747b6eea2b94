/**
 * Weights of recurrent layers as cuDNN has them: in one buffer, where exporters cut and join the program's tensors in each step.
 *
 * ONNX orders gates otherwise than PyTorch, and has both directions in one tensor and both biases in another. The exporter of
 * `torch.export` writes how these are made of the parameters (torch/onnx, `aten::lstm.input`), which a training step never does:
 * `torch.nn.LSTM` hands its parameters over as they are (aten/src/ATen/native/cudnn/RNN.cpp). Programs of `torch.export` are read in
 * the same way (`lowering/aten/recurrentWeights.ts`).
 */

import type { TensorLiteral } from '../model/attribute.ts';
import type { FlatNode, StoredGraph } from './expandFunctions.ts';

export function joinRecurrentWeights(stored: StoredGraph): StoredGraph {
  const { nodes, graph } = stored;
  const layers = nodes.filter(({ node }) => recurrentTypes.has(node.type) && node.domain === '');
  if (layers.length === 0) return stored;
  const producers = new Map(nodes.flatMap((flat) => flat.node.outputs.map((name) => [name, flat] as const)));
  const tensors = new Map(graph.initializers.map((tensor) => [tensor.name, tensor]));
  const isKeptInside = readersBy(nodes, graph.outputs);
  const joined = new Map<string, TensorLiteral>();
  const instead = new Map<string, string>();
  const left = new Set<FlatNode | string>();
  for (const { node } of layers) {
    for (const name of node.inputs.slice(1, 4)) {
      const made = madeOf(name, producers, tensors);
      if (made === undefined) continue;
      const [first] = made.leaves;
      const dimensions = first && joinedDimensions(made.leaves);
      const inside = new Set<FlatNode>(made.nodes);
      const isPrivate =
        made.leaves.every((leaf) => isKeptInside(leaf.name, inside)) &&
        made.nodes.every(
          (flat) =>
            flat.node.outputs.includes(name) || flat.node.outputs.every((each) => isKeptInside(each, inside)),
        );
      if (first === undefined || dimensions === undefined || !isPrivate) continue;
      joined.set(first.name, { ...first, dimensions });
      instead.set(name, first.name);
      for (const each of [...made.nodes, ...made.leaves.map((leaf) => leaf.name)]) left.add(each);
    }
  }
  if (joined.size === 0) return stored;
  return {
    nodes: nodes.flatMap((flat) => {
      if (left.has(flat)) return [];
      const inputs = flat.node.inputs.map((name) => instead.get(name) ?? name);
      return [recurrentTypes.has(flat.node.type) ? { ...flat, node: { ...flat.node, inputs } } : flat];
    }),
    graph: {
      ...graph,
      initializers: graph.initializers.flatMap((tensor) => {
        const whole = joined.get(tensor.name);
        if (whole !== undefined) return [whole];
        return left.has(tensor.name) ? [] : [tensor];
      }),
    },
  };
}

const recurrentTypes: ReadonlySet<string> = new Set(['LSTM', 'GRU', 'RNN']);

/** Operators that only arrange elements. */
const arranging: ReadonlySet<string> = new Set([
  'Concat',
  'Identity',
  'Reshape',
  'Slice',
  'Split',
  'Squeeze',
  'Transpose',
  'Unsqueeze',
]);

interface Made {
  /** Stored tensors, in the order in which they are joined. */
  readonly leaves: readonly TensorLiteral[];
  readonly nodes: readonly FlatNode[];
}

/** The stored tensors that a value is arranged of; `undefined` where it is stored, or computed. */
function madeOf(
  name: string,
  producers: ReadonlyMap<string, FlatNode>,
  tensors: ReadonlyMap<string, TensorLiteral>,
): Made | undefined {
  const leaves = new Map<string, TensorLiteral>();
  const nodes = new Set<FlatNode>();
  const pending = [name];
  for (let each = pending.shift(); each !== undefined; each = pending.shift()) {
    const tensor = tensors.get(each);
    const flat = producers.get(each);
    if (tensor !== undefined) leaves.set(each, tensor);
    else if (flat === undefined || !arranging.has(flat.node.type)) return undefined;
    else if (!nodes.has(flat)) {
      nodes.add(flat);
      pending.push(...(flat.node.type === 'Concat' ? flat.node.inputs : flat.node.inputs.slice(0, 1)));
    }
  }
  return nodes.size === 0 ? undefined : { leaves: [...leaves.values()], nodes: [...nodes] };
}

/** `[directions, gates, inputs]` of matrices that are alike; `[directions, gates]` of vectors, of which a direction has two. */
function joinedDimensions(leaves: readonly TensorLiteral[]): readonly number[] | undefined {
  const [first] = leaves;
  if (first === undefined || leaves.some(({ dimensions }) => dimensions.join() !== first.dimensions.join()))
    return undefined;
  const [gates = 0] = first.dimensions;
  if (first.dimensions.length === 2) return [leaves.length, ...first.dimensions];
  const isPairs = first.dimensions.length === 1 && leaves.length % 2 === 0;
  return isPairs ? [leaves.length / 2, 2 * gates] : undefined;
}

/** Whether nothing outside of some operators reads a value. */
function readersBy(
  nodes: readonly FlatNode[],
  outputs: readonly { readonly name: string }[],
): (name: string, inside: ReadonlySet<FlatNode>) => boolean {
  const readers = new Map<string, FlatNode[]>();
  for (const flat of nodes) {
    for (const name of flat.node.inputs) {
      const known = readers.get(name);
      if (known === undefined) readers.set(name, [flat]);
      else known.push(flat);
    }
  }
  const given = new Set(outputs.map(({ name }) => name));
  return (name, inside) =>
    !given.has(name) && (readers.get(name) ?? []).every((reader) => inside.has(reader));
}
