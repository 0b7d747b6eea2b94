/**
 * Nodes of a graph of which most are one block again and again, in the order of the file: those before it, the block, how
 * often it stands there, and those behind it.
 *
 * Blocks differ in numbers that count up in the names of their nodes and values, and in nothing else: what one of them
 * is read to says what each is. A decoder of a thousand blocks is read by comparing its bytes (`readBlocks.ts`).
 */

import { countedFrom, type NumberedText, textIn } from './numberedText.ts';
import type { OnnxGraph, OnnxNode } from './syntax.ts';

export interface RepeatedNodes {
  readonly before: readonly OnnxNode[];
  readonly block: readonly NumberedNode[];
  readonly count: number;
  readonly behind: readonly OnnxNode[];
}

/** A node of each block. */
export interface NumberedNode {
  /** Of which operator, attributes, and keys of metadata are those of all. */
  readonly like: OnnxNode;
  readonly name: NumberedText;
  readonly inputs: readonly NumberedText[];
  readonly outputs: readonly NumberedText[];
  /** Values of the metadata, in order. */
  readonly metadata: readonly NumberedText[];
}

export const lengthOf = ({ before, block, count, behind }: RepeatedNodes): number =>
  before.length + block.length * count + behind.length;

/** Position in the block and number of the block of a node that stands in one. */
export function placeIn(
  { before, block, count }: RepeatedNodes,
  index: number,
): { readonly node: NumberedNode; readonly block: number } | undefined {
  const behindFirst = index - before.length;
  const number = Math.floor(behindFirst / block.length);
  const node = block[behindFirst % block.length];
  const isInside = behindFirst >= 0 && number < count;
  return node === undefined || !isInside ? undefined : { node, block: number };
}

/** A node by its place in the file, made anew where it stands in a block. */
export function nodeAt(repeated: RepeatedNodes, index: number): OnnxNode | undefined {
  const place = placeIn(repeated, index);
  if (place !== undefined) return nodeIn(place.node, place.block);
  const { before, block, count, behind } = repeated;
  return index < before.length ? before[index] : behind[index - before.length - block.length * count];
}

/** All of them, as a file without blocks has them. */
export function allNodes(repeated: RepeatedNodes): readonly OnnxNode[] {
  const nodes = [...repeated.before];
  for (let block = 0; block < repeated.count; block += 1) {
    for (const node of repeated.block) nodes.push(nodeIn(node, block));
  }
  return nodes.concat(repeated.behind);
}

/** The node of one of the blocks. */
export function nodeIn({ like, name, inputs, outputs, metadata }: NumberedNode, block: number): OnnxNode {
  const isIn = (text: NumberedText): string => textIn(text, block);
  return {
    name: textIn(name, block),
    type: like.type,
    domain: like.domain,
    overload: like.overload,
    inputs: inputs.map(isIn),
    outputs: outputs.map(isIn),
    attributes: like.attributes,
    metadata: metadataIn(like, metadata, block),
  };
}

/** The same with its own name and metadata, and the names of values of another block. */
export const namedIn = ({ like, name, metadata }: NumberedNode, block: number): OnnxNode => ({
  name: textIn(name, block),
  type: like.type,
  domain: like.domain,
  overload: like.overload,
  inputs: like.inputs,
  outputs: like.outputs,
  attributes: like.attributes,
  metadata: metadataIn(like, metadata, block),
});

function metadataIn(like: OnnxNode, texts: readonly NumberedText[], block: number): OnnxNode['metadata'] {
  if (texts.length === 0) return like.metadata;
  const values = new Map<string, string>();
  let index = 0;
  for (const key of like.metadata.keys()) {
    const text = texts[index];
    if (text !== undefined) values.set(key, textIn(text, block));
    index += 1;
  }
  return values;
}

/** The same node counted from another block. */
export function countedNode(
  { like, name, inputs, outputs, metadata }: NumberedNode,
  block: number,
): NumberedNode {
  const counted = (text: NumberedText): NumberedText => countedFrom(text, block);
  return {
    like,
    name: counted(name),
    inputs: inputs.map(counted),
    outputs: outputs.map(counted),
    metadata: metadata.map(counted),
  };
}

/** The graph with other nodes. Not spread: that would make those that it has. */
export const withNodes = (
  { name, inputs, outputs, valueInfos, initializers, sparseInitializers }: OnnxGraph,
  nodes: readonly OnnxNode[],
): OnnxGraph => ({ name, nodes, inputs, outputs, valueInfos, initializers, sparseInitializers });
