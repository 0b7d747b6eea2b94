/**
 * One `Split` for the slices that PyTorch's exporters write for `torch.unbind` and `torch.chunk`.
 *
 * Their gradients are put together at once (`unbind_backward`, `split_backward`), where those of slices are written into zeros and
 * added, one by one (PyTorch 2.x tools/autograd/derivatives.yaml). Only what shows that it was one call is joined: the newer
 * exporter records it; the TorchScript exporter computes the length of a chunk once, by (size + n − 1) ÷ n, and each chunk
 * ends where the next begins (torch/onnx/_internal/torchscript_exporter/symbolic_opset11.py, `chunk`).
 */

import type { OnnxNode } from '../formats/onnx/syntax.ts';
import { type Constants, constantsOf } from './constantsOfNodes.ts';
import type { FlatNode, StoredGraph } from './expandFunctions.ts';

export function joinSlices(stored: StoredGraph): StoredGraph {
  const { nodes, graph } = stored;
  const slices = nodes.filter(({ node }) => node.type === 'Slice' && node.inputs.length === 4);
  if (slices.length < 2) return stored;
  const constants = constantsOf(nodes, graph.initializers);
  const instead = new Map<FlatNode, readonly FlatNode[]>();
  for (const parts of [...unbound(stored, slices, constants), ...chunks(stored, slices, constants)]) {
    const [first] = parts;
    const axis = first === undefined ? undefined : axisOf(first.node, constants);
    if (first === undefined || axis === undefined) continue;
    for (const part of parts) instead.set(part, []);
    instead.set(first, [{ ...first, node: splitOf(first.node, parts, axis) }]);
  }
  return instead.size === 0 ? stored : { graph, nodes: nodes.flatMap((flat) => instead.get(flat) ?? [flat]) };
}

/** Slices of one entry each that were recorded as one call, and are all that there are. */
function unbound(
  { graph }: StoredGraph,
  slices: readonly FlatNode[],
  constants: Constants,
): readonly (readonly FlatNode[])[] {
  const shapes = new Map(graph.valueInfos.map(({ name, type }) => [name, type] as const));
  const calls = groupedBy(
    slices.filter(({ scope: { call } }) => /^aten\.unbind\b/.test(call?.function ?? '')),
    ({ node, scope }) => `${node.inputs[0]} ${scope.call?.name}`,
  );
  return calls.filter((parts) => {
    const [first] = parts;
    const axis = first === undefined ? undefined : axisOf(first.node, constants);
    const declared = shapes.get(first?.node.inputs[0] ?? '');
    const size = declared?.kind === 'tensor' && axis !== undefined ? declared.shape?.at(axis) : undefined;
    return (
      size === parts.length &&
      parts.every(
        ({ node: { inputs } }, index) =>
          constants.get(inputs[1] ?? '')?.[0] === index && constants.get(inputs[2] ?? '')?.[0] === index + 1,
      )
    );
  });
}

/** Slices that follow one another, of a length that was computed for as many as there are. */
function chunks(
  { nodes }: StoredGraph,
  slices: readonly FlatNode[],
  constants: Constants,
): readonly (readonly FlatNode[])[] {
  const producers = new Map(nodes.map(({ node }) => [node.outputs[0] ?? '', node] as const));
  const divisorOf = (end: string): number | undefined => {
    const product = producers.get(end);
    if (product?.type !== 'Mul') return undefined;
    const length = product.inputs.map((name) => producers.get(name)).find((node) => node?.type === 'Div');
    return constants.get(length?.inputs[1] ?? '')?.[0];
  };
  return groupedBy(slices, ({ node: { inputs } }) => `${inputs[0]} ${inputs[3]}`).filter((parts) =>
    parts.every(({ node: { inputs } }, index) => {
      const [, start = '', end = ''] = inputs;
      const before = parts[index - 1]?.node.inputs[2];
      const follows = before === undefined ? constants.get(start)?.[0] === 0 : before === start;
      return follows && parts.length > 1 && divisorOf(end) === parts.length;
    }),
  );
}

function groupedBy(
  flats: readonly FlatNode[],
  keyOf: (flat: FlatNode) => string,
): readonly (readonly FlatNode[])[] {
  const groups = new Map<string, FlatNode[]>();
  for (const flat of flats) {
    const key = keyOf(flat);
    const others = groups.get(key);
    if (others === undefined) groups.set(key, [flat]);
    else others.push(flat);
  }
  return [...groups.values()];
}

const axisOf = ({ inputs }: OnnxNode, constants: Constants): number | undefined => {
  const axes = constants.get(inputs[3] ?? '');
  return axes?.length === 1 ? axes[0] : undefined;
};

const splitOf = (node: OnnxNode, slices: readonly FlatNode[], axis: number): OnnxNode => ({
  ...node,
  type: 'Split',
  inputs: node.inputs.slice(0, 1),
  outputs: slices.flatMap(({ node: { outputs } }) => outputs.slice(0, 1)),
  attributes: new Map([['axis', { kind: 'int', value: axis }]]),
});
