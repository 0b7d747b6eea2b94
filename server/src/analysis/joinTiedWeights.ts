/**
 * Tied weights that constant folding has taken apart.
 *
 * An output layer that shares the embedding's table reads its transpose. Exporters compute the transpose beforehand and
 * store it as a second tensor (torch/onnx/utils.py `_jit_pass_onnx_constant_fold`; onnxscript's optimizer), so that a
 * language model seems to have two tables. The transpose is put back in front of the operator that reads it. A layer that
 * is called several times has its transpose stored once for each call.
 *
 * Evidence, the surest first: the exporter recorded what it folded; the bytes of both tensors, where they are in the file;
 * the layer that reads the folded tensor has a weight of its own name, which another layer reads, and which would not be
 * stored were it not shared. Shapes alone prove nothing: an untied output layer has the same.
 */

import { placeholdersOfProgram, readByCall } from '../formats/onnx/recordedCalls.ts';
import type { OnnxNode } from '../formats/onnx/syntax.ts';
import type { TensorLiteral } from '../model/attribute.ts';
import { isAnonymousTensor } from '../model/tensorNames.ts';
import { areAlike } from './areAlike.ts';
import type { FlatNode, StoredGraph } from './expandFunctions.ts';
import { qualifiedName } from './moduleScope.ts';

export function joinTiedWeights(stored: StoredGraph): StoredGraph {
  const { nodes, graph } = stored;
  const tensors = new Map(graph.initializers.map((tensor) => [tensor.name, tensor]));
  const candidates = graph.initializers.filter(
    ({ dimensions, origin, name }) =>
      dimensions.length === 2 && (origin !== undefined || isAnonymousTensor(name)),
  );
  if (candidates.length === 0) return stored;
  const placeholders = placeholdersOfProgram(graph);
  const firstReaders = firstReadersOf(nodes, new Set(candidates.map(({ name }) => name)));
  /** By node: the operators that give what it reads. */
  const restored = new Map<number, FlatNode[]>();
  const joined = new Set<TensorLiteral>();
  /** By weight of a layer: its first transpose. */
  const transposed = new Map<string, TensorLiteral>();
  for (const tensor of candidates) {
    const reader = firstReaders.get(tensor.name);
    const flat = reader === undefined ? undefined : nodes[reader];
    if (reader === undefined || flat === undefined) continue;
    const own = ownWeight(tensor, flat, placeholders);
    const first = own === undefined ? undefined : transposed.get(own);
    if (first !== undefined && areAlike(tensor, first)) {
      joined.add(tensor);
      addTo(restored, reader, operatorFor(flat, 'Identity', first.name, tensor.name));
      continue;
    }
    if (own !== undefined) transposed.set(own, tensor);
    const original = originalOf(tensor, flat, tensors);
    if (original === undefined || !areTransposed(tensor, original)) continue;
    joined.add(tensor);
    addTo(restored, reader, operatorFor(flat, 'Transpose', original.name, tensor.name));
  }
  if (joined.size === 0) return stored;
  return {
    nodes: nodes.flatMap((flat, index) => [...(restored.get(index) ?? []), flat]),
    graph: { ...graph, initializers: graph.initializers.filter((tensor) => !joined.has(tensor)) },
  };
}

function firstReadersOf(nodes: readonly FlatNode[], names: ReadonlySet<string>): ReadonlyMap<string, number> {
  const readers = new Map<string, number>();
  for (const [index, { node }] of nodes.entries()) {
    for (const name of node.inputs) {
      if (names.has(name) && !readers.has(name)) readers.set(name, index);
    }
  }
  return readers;
}

/** The stored tensor that `tensor` was folded from. */
function originalOf(
  tensor: TensorLiteral,
  { scope }: FlatNode,
  tensors: ReadonlyMap<string, TensorLiteral>,
): TensorLiteral | undefined {
  const { foldedFrom, transposeOf } = tensor.origin ?? {};
  if (foldedFrom !== undefined) {
    const [source = ''] = foldedFrom;
    return foldedFrom.length === 1 ? tensors.get(source) : undefined;
  }
  if (transposeOf !== undefined) return tensors.get(transposeOf);
  return isAnonymousTensor(tensor.name) && scope.paths.length > 0
    ? tensors.get(`${qualifiedName(scope)}.weight`)
    : undefined;
}

/**
 * The weight of the layer that reads the tensor, where it was folded from this weight alone. A module that stands in
 * several places has one of the names; the recorded call says that it is read.
 */
function ownWeight(
  { origin }: TensorLiteral,
  { node, scope }: FlatNode,
  placeholders: ReadonlyMap<string, string> | undefined,
): string | undefined {
  const [source, ...others] = origin?.foldedFrom ?? [];
  if (source === undefined || others.length > 0) return undefined;
  const isCalled = placeholders !== undefined && readByCall(node, placeholders)?.includes(source) === true;
  return isCalled || source === `${qualifiedName(scope)}.weight` ? source : undefined;
}

function areTransposed(tensor: TensorLiteral, original: TensorLiteral): boolean {
  const [rows, columns] = tensor.dimensions;
  return (
    tensor.elementType === original.elementType &&
    original.dimensions.length === 2 &&
    original.dimensions[0] === columns &&
    original.dimensions[1] === rows
  );
}

/** An operator in front of `reader`, in its module. */
function operatorFor(
  reader: FlatNode,
  type: 'Identity' | 'Transpose',
  input: string,
  output: string,
): FlatNode {
  const slash = reader.node.name.lastIndexOf('/');
  const node: OnnxNode = {
    name: `${reader.node.name.slice(0, slash + 1)}${type} of ${input}`,
    type,
    domain: '',
    overload: '',
    inputs: [input],
    outputs: [output],
    attributes: new Map(type === 'Transpose' ? [['perm', { kind: 'ints', value: [1, 0] }]] : []),
    metadata: reader.node.metadata,
  };
  return { ...reader, node };
}

function addTo(lists: Map<number, FlatNode[]>, index: number, flat: FlatNode): void {
  const list = lists.get(index);
  if (list === undefined) lists.set(index, [flat]);
  else list.push(flat);
}
