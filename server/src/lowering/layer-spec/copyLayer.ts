/**
 * A layer from one that was lowered before: the same call over tensors of the same types becomes the same operators
 * under other names. Blocks repeat their lines, and models their blocks, so that most lines are copies.
 */

import type { OnnxNode } from '../../formats/onnx/syntax.ts';
import { isUnknown } from '../../model/dimension.ts';
import { isKnownShape, type ValueType } from '../../model/graph.ts';
import type { Emitted, GraphBuilder } from './graphBuilder.ts';
import { isSameShape, isWrittenAlike, type KeptLayer, type LayerBasis, type Read } from './keptLayer.ts';
import type { Tensor } from './layerDefinition.ts';

/** A layer that others can be copies of. */
export interface Pattern {
  readonly path: string;
  readonly layer: KeptLayer;
}

/**
 * The layer as a pattern, unless its operators say more than its types: a name that had to give way to another layer's,
 * a size that is unknown for a reason of its own, contents of what it reads.
 */
export function patternOf(path: string, layer: KeptLayer, graph: GraphBuilder): Pattern | undefined {
  const { emitted, basis } = layer;
  if (emitted.renamed || basis.reads.some((read) => isTensor(read) && graph.isKnownFurther(read.name)))
    return undefined;
  for (const type of emitted.types.values()) if (!isPlain(type)) return undefined;
  return { path, layer };
}

/** What the pattern is at `path` for another basis; `undefined` where that may be something else. */
export function copyLayer(
  { path: from, layer }: Pattern,
  path: string,
  basis: LayerBasis,
  graph: GraphBuilder,
): KeptLayer | undefined {
  const names = namesOfReads(layer.basis, basis, graph);
  if (names === undefined) return undefined;
  const { emitted } = layer;
  for (const name of emitted.types.keys()) names.set(name, path + name.slice(from.length));
  for (const { literal } of emitted.stored) names.set(literal.name, path + literal.name.slice(from.length));
  const renamed = (name: string): string => names.get(name) ?? name;
  const renamedTensor = (tensor: Tensor): Tensor => {
    const name = names.get(tensor.name);
    return name === undefined ? tensor : { ...tensor, name };
  };
  return {
    basis,
    emitted: renameEmitted(emitted, from, path, renamed),
    outputs: { ...layer.outputs, tensors: layer.outputs.tensors.map(renamedTensor) },
    weights: new Map([...layer.weights].map(([name, tensor]) => [name, renamedTensor(tensor)])),
    pinned: layer.pinned,
  };
}

/** What each tensor that the pattern reads is called here; `undefined` where the two do not read alike. */
function namesOfReads(
  pattern: LayerBasis,
  basis: LayerBasis,
  graph: GraphBuilder,
): Map<string, string> | undefined {
  if (!isWrittenAlike(pattern, basis)) return undefined;
  const names = new Map<string, string>();
  const taken = new Map<string, string>();
  const isAlike = (left: Read, right: Read): boolean => {
    if (left === right && !isTensor(left)) return true;
    if (isWeights(left) && isWeights(right)) {
      if (left.size !== right.size) return false;
      for (const [name, tensor] of left) if (!isAlike(tensor, right.get(name))) return false;
      return true;
    }
    if (!isTensor(left) || !isTensor(right) || graph.isKnownFurther(right.name)) return false;
    if (left.elementType !== right.elementType || left.elementType === undefined) return false;
    if (left.shape === undefined || !isSameShape(left, right)) return false;
    // The same tensor stays the same one, and different ones stay different.
    if ((names.get(left.name) ?? right.name) !== right.name) return false;
    if ((taken.get(right.name) ?? left.name) !== left.name) return false;
    names.set(left.name, right.name);
    taken.set(right.name, left.name);
    return true;
  };
  const areAlike = pattern.reads.every((read, index) => isAlike(read, basis.reads[index]));
  return areAlike ? names : undefined;
}

function renameEmitted(
  { nodes, stored, constants, types, contents }: Emitted,
  from: string,
  path: string,
  renamed: (name: string) => string,
): Emitted {
  const renamedKeys = <Item>(items: ReadonlyMap<string, Item>): ReadonlyMap<string, Item> => {
    const result = new Map<string, Item>();
    for (const [name, item] of items) result.set(renamed(name), item);
    return result;
  };
  return {
    nodes: nodes.map(
      (node): OnnxNode => ({
        ...node,
        name: path + node.name.slice(from.length),
        inputs: node.inputs.map(renamed),
        outputs: node.outputs.map(renamed),
      }),
    ),
    stored: stored.map(({ literal, role }) => ({
      literal: { ...literal, name: renamed(literal.name) },
      role,
    })),
    constants,
    types: renamedKeys(types),
    contents: renamedKeys(contents),
    renamed: false,
  };
}

const isPlain = (type: ValueType): boolean =>
  type.kind === 'tensor' &&
  isKnownShape(type.shape) &&
  !type.shape.some((size) => typeof size !== 'number' && isUnknown(size));

const isTensor = (read: Read): read is Tensor => typeof read === 'object' && 'elementType' in read;

const isWeights = (read: Read): read is ReadonlyMap<string, Tensor> =>
  typeof read === 'object' && !isTensor(read);
