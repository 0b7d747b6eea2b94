/**
 * Sequences that a tensor is split into, as the parts of a `Split`: what reads them is then seen as in any other export.
 *
 * Sources: ONNX Operators, SplitToSequence-24 (a scalar is the size of each part, the last one may be smaller) and Split-18;
 * onnxscript 0.5 writes `split` and `split_with_sizes` of PyTorch as SplitToSequence (function_libs/torch_lib/ops/core.py).
 */

import type { OnnxGraph, OnnxNode } from '../formats/onnx/syntax.ts';
import type { FlatNode } from './expandFunctions.ts';

export interface SplitParts {
  /** Of the elements of the sequence. */
  readonly names: readonly string[];
  /** The `Split` that gives them, and its sizes. */
  readonly nodes: readonly FlatNode[];
}

/** Parts by the node that splits, where their sizes follow from the file. */
export function partsOfSplits(
  nodes: readonly FlatNode[],
  graph: Pick<OnnxGraph, 'initializers' | 'inputs' | 'valueInfos'>,
  constants: ReadonlyMap<string, readonly number[]>,
): ReadonlyMap<FlatNode, SplitParts> {
  const found = new Map<FlatNode, SplitParts>();
  const splits = nodes.filter(({ node }) => node.type === 'SplitToSequence');
  if (splits.length === 0) return found;
  const dimensions = declaredDimensions(graph);
  for (const flat of splits) {
    const [data = '', given = ''] = flat.node.inputs;
    const axis = flat.node.attributes.get('axis');
    const along = axis?.kind === 'int' ? axis.value : 0;
    const sizes = sizesOf(constants.get(given), dimensions.get(data)?.at(along));
    if (sizes !== undefined && sizes.length <= mostParts) found.set(flat, splitInto(flat, sizes));
  }
  return found;
}

/** Longer sequences stay sequences. */
const mostParts = 256;

/** One number is the size of every part, or of the only one. */
function sizesOf(
  given: readonly number[] | undefined,
  whole: number | string | undefined,
): readonly number[] | undefined {
  if (given === undefined || given.length !== 1) return given;
  const [part = 0] = given;
  if (typeof whole !== 'number' || part <= 0 || whole / part > mostParts) return undefined;
  const count = Math.ceil(whole / part);
  return Array.from({ length: count }, (_, index) => Math.min(part, whole - index * part));
}

function declaredDimensions({
  initializers,
  inputs,
  valueInfos,
}: Pick<OnnxGraph, 'initializers' | 'inputs' | 'valueInfos'>): ReadonlyMap<
  string,
  readonly (number | string | undefined)[]
> {
  const dimensions = new Map<string, readonly (number | string | undefined)[]>();
  for (const { name, type } of [...inputs, ...valueInfos]) {
    if (type?.kind === 'tensor' && type.shape !== undefined) dimensions.set(name, type.shape);
  }
  for (const literal of initializers) dimensions.set(literal.name, literal.dimensions);
  return dimensions;
}

function splitInto(flat: FlatNode, sizes: readonly number[]): SplitParts {
  const { node } = flat;
  const [data = ''] = node.inputs;
  const [sequence = ''] = node.outputs;
  const names = sizes.map((_, index) => `${sequence}#${index}`);
  const axis = node.attributes.get('axis');
  const split: OnnxNode = {
    ...node,
    type: 'Split',
    inputs: [data, `${sequence}#sizes`],
    outputs: names,
    attributes: axis === undefined ? new Map() : new Map([['axis', axis]]),
  };
  const constant: OnnxNode = {
    ...node,
    name: `${sequence}#sizes`,
    type: 'Constant',
    inputs: [],
    outputs: [`${sequence}#sizes`],
    attributes: new Map([['value_ints', { kind: 'ints', value: sizes }]]),
  };
  return {
    names,
    nodes: [
      { ...flat, node: constant },
      { ...flat, node: split },
    ],
  };
}
