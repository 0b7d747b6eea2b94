/** How a row of hostile input is made: one trick, as large as an input of the fuzzer may be. */

import {
  bytesField,
  encodeModel,
  encodeNode,
  type GraphDescription,
  joinBytes,
  type ModelDescription,
  type NodeDescription,
  varintField,
} from '../../support/onnxBytes.ts';
import type { FuzzInput } from '../answerInput.ts';
import { longestInput } from '../corpus.ts';

export interface HostileInput {
  readonly what: string;
  /** Made when asked for: some take a while. */
  readonly make: () => FuzzInput;
}

/** What a row may repeat its trick in: a little is left for what stands around it. */
const room = longestInput - 4_000;

export const text = (words: string): Uint8Array => new TextEncoder().encode(words);
export const row = (what: string, name: string, make: () => Uint8Array): HostileInput => ({
  what,
  make: () => ({ name, bytes: make(), request: { batch: 4 } }),
});
export const spec = (what: string, make: () => string): HostileInput =>
  row(what, 'model.layers.yaml', () => text(make()));
export const onnxText = (what: string, make: () => string): HostileInput =>
  row(what, 'model.onnxtxt', () => text(make()));
export const json = (what: string, make: () => string): HostileInput =>
  row(what, 'model.json', () => text(make()));
export const protobufText = (what: string, make: () => string): HostileInput =>
  row(what, 'model.textproto', () => text(make()));
export const model = (what: string, make: () => ModelDescription): HostileInput =>
  row(what, 'model.onnx', () => encodeModel(make()));
export const bytes = (what: string, make: () => Uint8Array): HostileInput => row(what, 'model.onnx', make);

export const times = <Item>(count: number, make: (index: number) => Item): Item[] =>
  Array.from({ length: count }, (_, index) => make(index));

/** A megabyte of pieces: as many as fit. */
export function megabyte(make: string | ((index: number) => string), most = room): string {
  const pieces: string[] = [];
  for (let length = 0; ; ) {
    const piece = typeof make === 'string' ? make : make(pieces.length);
    length += piece.length;
    if (length > most) return pieces.join('');
    pieces.push(piece);
  }
}

/** A megabyte of the same few bytes. */
export function megabyteOf(...piece: readonly number[]): Uint8Array {
  const filled = new Uint8Array(room - (room % piece.length));
  for (let place = 0; place < filled.length; place += piece.length) filled.set(piece, place);
  return filled;
}

/** A megabyte of nodes, with `extra` bytes for what each needs elsewhere in the file; `v0` is a `float[N,4]`. */
export function chain(node: (index: number) => NodeDescription, extra = 0): GraphDescription {
  const nodes: NodeDescription[] = [];
  for (let length = 0; ; ) {
    const next = node(nodes.length);
    length += bytesField(1, encodeNode(next)).length + extra;
    if (length > room) return { inputs: { v0: 'float[N,4]' }, nodes };
    nodes.push(next);
  }
}

/** As many nodes as are asked for, in a graph whose input `v0` is a `float[N,4]`. */
export const chainOf = (length: number, node: (index: number) => NodeDescription): GraphDescription => ({
  inputs: { v0: 'float[N,4]' },
  nodes: times(length, node),
});

export const withGraph = (graph: Uint8Array): Uint8Array =>
  joinBytes([varintField(1, 10), bytesField(8, varintField(2, 21)), bytesField(7, graph)]);

/** The header of ONNX text. */
export const header = '<ir_version: 10, opset_import: ["" : 21]>\n';

/** A layer spec of one layer, then a `ReLU`. */
export const simpleSpec = (layer: string, dims = '{ n: 2 }'): string =>
  `dims: ${dims}\ninputs: { x: "float[batch, 3, 8, 8]" }\nlayers:\n  - first: ${layer}\n  - second: ReLU()\n`;
