/** What exporters write between queries, keys and values and the products that read them, as part of one call. */

import type { Graph, Operator } from '../model/graph.ts';
import { attributeReaders } from '../operators/attributeReaders.ts';
import { sameShape, shapeOf } from './axis.ts';
import { producerOf, readersOf } from './flow.ts';
import { baseOf, isScalar } from './walk.ts';

export interface OperandChain {
  /** The tensor that the call was given. */
  readonly source: string;
  /** What the exporter wrote between it and the product. */
  readonly operators: readonly Operator[];
  /** The number that it is multiplied by, right before the product. */
  readonly scale: string | undefined;
}

export interface KeyChain extends OperandChain {
  /** Heads are repeated for queries that share them, within the call. */
  readonly isRepeated: boolean;
  /** They are transposed as the default exporter does it, and no model. */
  readonly isExported: boolean;
}

/** Queries: scaled. */
export function queryChain(graph: Graph, name: string, product: Operator): OperandChain {
  const chain = startAt(name, product);
  takeScale(graph, chain);
  return chain;
}

/**
 * Keys: transposed and scaled, in either order. The default exporter transposes between a reshape to three axes and one
 * back; it then also writes out heads that queries share, where `values` show that.
 */
export function keyChain(graph: Graph, name: string, product: Operator, values: OperandChain): KeyChain {
  const chain = startAt(name, product);
  takeScale(graph, chain);
  const joined = readOnce(graph, chain.source, chain.reader, 'Reshape');
  const swapped = joined && readOnce(graph, joined.inputs[0] ?? '', joined, 'Transpose');
  const parted = swapped && readOnce(graph, swapped.inputs[0] ?? '', swapped, 'Reshape');
  if (joined === undefined || swapped === undefined || parted === undefined) {
    const transpose = readOnce(graph, chain.source, chain.reader, 'Transpose');
    if (transpose !== undefined) take(graph, chain, transpose);
    takeScale(graph, chain);
    return { ...chain, isRepeated: false, isExported: false };
  }
  take(graph, chain, joined);
  take(graph, chain, swapped);
  // The reshape to three axes may be merged with the end of a repetition, which stands before the call or within it.
  const repetition = repetitionBefore(graph, parted);
  const isRepeated = repetition !== undefined && values.operators.length > 0;
  if (repetition === undefined || isRepeated) take(graph, chain, parted);
  if (isRepeated) for (const operator of repetition.toReversed()) take(graph, chain, operator);
  return { ...chain, isRepeated, isExported: true };
}

/**
 * Values: nothing, or heads that queries share written out by the default exporter. It leaves `allowzero` out where the
 * reshapes of a model have it, and expands to whole sizes, which `repeat_interleave` does not.
 */
export function valueChain(graph: Graph, name: string, product: Operator): OperandChain {
  const chain = startAt(name, product);
  const reshape = readOnce(graph, name, product, 'Reshape');
  const repetition = reshape && repetitionBefore(graph, reshape);
  const target = graph.values.get(repetition?.[1]?.inputs[1] ?? '')?.content?.elements;
  const isOwn =
    reshape !== undefined &&
    attributeReaders(reshape.attributes).int('allowzero') !== 1 &&
    sameShape(target, shapeOf(graph, repetition?.[1]?.outputs[0]));
  if (reshape === undefined || repetition === undefined || !isOwn) return chain;
  take(graph, chain, reshape);
  for (const operator of repetition.toReversed()) take(graph, chain, operator);
  return chain;
}

interface Chain {
  source: string;
  readonly operators: Operator[];
  scale: string | undefined;
  reader: Operator | undefined;
}

const startAt = (source: string, reader: Operator | undefined): Chain => ({
  source,
  operators: [],
  scale: undefined,
  reader,
});

function take(graph: Graph, chain: Chain, operator: Operator): void {
  chain.operators.unshift(operator);
  chain.source = operator.inputs.find((input) => !isScalar(graph, input)) ?? operator.inputs[0] ?? '';
  chain.reader = operator;
}

/** A product with one number. */
function takeScale(graph: Graph, chain: Chain): void {
  if (chain.scale !== undefined) return;
  const { source, reader } = chain;
  const operator = readOnce(graph, source, reader, 'Mul') ?? readOnce(graph, source, reader, 'Div');
  const scale = operator?.inputs.find((input) => isScalar(graph, input));
  if (operator === undefined || scale === undefined) return;
  chain.scale = scale;
  take(graph, chain, operator);
}

/** A number that a tensor is multiplied by before views of it are taken, as `q_proj(x) * scale` and heads after that. */
export function scaleBefore(graph: Graph, name: string): string | undefined {
  const chain = startAt(beforeCopies(graph, name), undefined);
  takeScale(graph, chain);
  return chain.scale;
}

/** What a tensor is a view or a copy of: joining one tensor alone copies it. */
function beforeCopies(graph: Graph, name: string): string {
  const base = baseOf(graph, name);
  const copy = producerOf(graph, base);
  const [source, ...others] = copy?.type === 'Concat' ? copy.inputs : [];
  return source === undefined || others.length > 0 ? base : beforeCopies(graph, source);
}

/** `Unsqueeze → Expand` before a reshape that joins the new axis with heads. */
function repetitionBefore(graph: Graph, reshape: Operator): readonly Operator[] | undefined {
  const expand = readOnce(graph, reshape.inputs[0] ?? '', reshape, 'Expand');
  const unsqueeze = expand && readOnce(graph, expand.inputs[0] ?? '', expand, 'Unsqueeze');
  return expand && unsqueeze && [unsqueeze, expand];
}

/** The producer of `name` where it is of this type and only `reader` reads it, or just one where that is not given. */
function readOnce(
  graph: Graph,
  name: string,
  reader: Operator | undefined,
  type: string,
): Operator | undefined {
  const producer = producerOf(graph, name);
  if (producer?.type !== type || graph.outputs.includes(name)) return undefined;
  return readersOf(graph, name).every((each, _, [first]) => each === (reader ?? first))
    ? producer
    : undefined;
}
