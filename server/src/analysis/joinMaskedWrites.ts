/**
 * `x[mask] = values`, which the torch.export-based exporter writes as places of a mask and values repeated for each of them
 * (onnxscript 0.7, function_libs/torch_lib/ops/core.py, `_aten_index_put_bool`). How many places there are, only the step knows; what PyTorch
 * runs depends on it little: one choice for each element where one value or row is written everywhere (`masked_fill`), and one
 * `masked_scatter` where rows follow each other.
 */

import type { OnnxGraph, OnnxNode } from '../formats/onnx/syntax.ts';
import { ownDomain } from '../operators/vocabulary/define.ts';
import { constantsOf } from './constantsOfNodes.ts';
import { dropUnread } from './dropUnread.ts';
import type { FlatNode } from './expandFunctions.ts';
import { holdsGraph } from './subgraphs.ts';

/** The same nodes where no mask is written under. */
export function joinMaskedWrites(nodes: readonly FlatNode[], graph: OnnxGraph): readonly FlatNode[] {
  const isScatter = ({ node }: FlatNode): boolean => node.type === 'ScatterND' && node.domain === '';
  if (!nodes.some(isScatter) || nodes.some(({ node }) => holdsGraph(node.attributes))) return nodes;
  const program: Program = {
    made: new Map(nodes.flatMap(({ node }) => node.outputs.map((name) => [name, node] as const))),
    constants: constantsOf(nodes, graph.initializers),
    ranks: new Map(graph.initializers.map(({ name, dimensions }) => [name, dimensions.length])),
  };
  const instead = new Map<OnnxNode, OnnxNode>();
  for (const flat of nodes) {
    const written = isScatter(flat) ? writtenAs(flat.node, program) : undefined;
    if (written !== undefined) instead.set(flat.node, written);
  }
  if (instead.size === 0) return nodes;
  const joined = nodes.map((flat) => ({ ...flat, node: instead.get(flat.node) ?? flat.node }));
  const outputs = new Set(graph.outputs.map(({ name }) => name));
  return dropUnread(
    joined,
    outputs,
    [...instead.keys()].flatMap(({ inputs }) => inputs),
  );
}

interface Program {
  readonly made: ReadonlyMap<string, OnnxNode>;
  readonly constants: ReadonlyMap<string, readonly number[]>;
  /** Of stored tensors. */
  readonly ranks: ReadonlyMap<string, number>;
}

function writtenAs(scatter: OnnxNode, program: Program): OnnxNode | undefined {
  const { made, constants } = program;
  const [data = '', places = '', updates = ''] = scatter.inputs;
  const reduction = scatter.attributes.get('reduction');
  if (reduction?.kind === 'string' && reduction.value !== 'none') return undefined;
  const madeBy = (type: string, name = ''): OnnxNode | undefined => {
    const maker = made.get(name);
    return maker?.type === type ? maker : undefined;
  };
  const mask = madeBy('NonZero', madeBy('Transpose', places)?.inputs[0])?.inputs[0];
  const row = madeBy('Reshape', updates);
  const values = madeBy('Expand', row?.inputs[0])?.inputs[0];
  // One element for each place: the mask has all axes of the tensor.
  if (mask === undefined || values === undefined || constants.get(row?.inputs[1] ?? '')?.join() !== '-1')
    return undefined;
  const spread = madeBy('Unsqueeze', madeBy('Expand', mask)?.inputs[0]);
  const inner = spread === undefined ? 0 : constants.get(spread.inputs[1] ?? '')?.length;
  if (inner === undefined) return undefined;
  const rank = program.ranks.get(values) ?? (constants.get(values)?.length === 1 ? 0 : undefined);
  if (rank !== undefined && rank <= inner) {
    const held = spread?.outputs[0] ?? mask;
    return { ...scatter, type: 'Where', inputs: [held, values, data], attributes: new Map() };
  }
  const inputs = [data, mask, values];
  return { ...scatter, domain: ownDomain, type: 'MaskedScatter', inputs, attributes: new Map() };
}
