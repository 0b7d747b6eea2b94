/**
 * Recognizes, while the nodes of a graph are read one by one, that they repeat a block, and passes over the blocks that
 * follow without reading them: their bytes are those of the block before, with the numbers of their names counted on.
 *
 * Bytes are compared, so that nothing can differ that was not looked at. Where a number gets another digit, lengths in
 * the bytes change too: that block is read as any other, and the bytes of the next are told from it.
 */

import { GraphProto, NodeProto, StringStringEntryProto } from './fields.ts';
import { isIn, type NumberedText, numberedText, textIn } from './numberedText.ts';
import { countedNode, type NumberedNode, nodeIn, type RepeatedNodes } from './repeatedNodes.ts';
import type { OnnxNode } from './syntax.ts';
import { type WireReader, wireTypes } from './wireReader.ts';

/** Nodes read before blocks are looked for; then again at each doubling. */
const firstLook = 128;

export class BlockReader {
  readonly #wire: WireReader;
  /** The nodes that were read, in order; blocks that were passed are not among them. */
  readonly #nodes: OnnxNode[];
  /** Where in the file each of `#nodes` begins, and behind the last one of them ends what was read. */
  readonly #starts: number[] = [];
  #nextLook = firstLook;
  #run: Run | undefined;

  constructor(wire: WireReader, nodes: OnnxNode[]) {
    this.#wire = wire;
    this.#nodes = nodes;
  }

  /**
   * Says that the node at the end of the list was read, whose field begins at `start`, in a graph that ends at `end`.
   * Moves behind the blocks that follow it.
   */
  wasRead(start: number, end: number): void {
    this.#starts.push(start);
    const run = this.#run;
    if (run === undefined) {
      if (this.#nodes.length < this.#nextLook) return;
      this.#nextLook *= 2;
      this.#look(end);
    } else if (!run.hasEnded && this.#nodes.length === run.split + run.block.length) {
      this.#goOn(run, end);
    }
  }

  /** What was passed, when all nodes were read; `undefined` where they repeat no block. */
  finish(): RepeatedNodes | undefined {
    const run = this.#run;
    if (run === undefined) return undefined;
    const nodes = this.#nodes;
    const { block, split } = run;
    const period = block.length;
    // Where the two blocks that it was found by begin is by chance: they begin as early as nodes are like theirs.
    let first = split - 2 * period;
    let number = 0;
    for (let position = period - 1; first > 0; position -= 1) {
      if (position === period - 1) number -= 1;
      if (!isNode(nodes[first - 1], block[position], number)) break;
      first -= 1;
      if (position === 0) position = period;
    }
    const rotated = (split - first) % period;
    const whole = Math.floor((split - first) / period);
    // As many nodes of the last one are left over.
    const left = block.slice(period - rotated).map((node) => nodeIn(node, run.next - 1));
    return {
      before: nodes.slice(0, first),
      block: [
        ...block.slice(period - rotated).map((node) => countedNode(node, 1 - whole)),
        ...block.slice(0, period - rotated).map((node) => countedNode(node, 2 - whole)),
      ],
      count: whole - 2 + run.next,
      behind: [...left, ...nodes.slice(split)],
    };
  }

  /** Blocks of the shortest length for which those just read are followed by another one. */
  #look(end: number): void {
    const nodes = this.#nodes;
    const last = nodes.length - 1;
    // Nodes that are alike everywhere are given up before they cost more than reading them did.
    let effort = 4 * nodes.length;
    for (let period = 1; 2 * period <= nodes.length && effort > 0; period += 1) {
      effort -= 1;
      if (!areAlike(nodes[last], nodes[last - period])) continue;
      if (numberedNode(nodes[last - period], nodes[last]) === undefined) continue;
      effort -= period;
      const block = blockOf(nodes, nodes.length - 2 * period, period);
      if (block === undefined) continue;
      const run: Run = { block, split: nodes.length, next: 2, hasEnded: false };
      if (this.#pass(run, end) === 0) continue;
      this.#run = run;
      return;
    }
  }

  /** A block was read node by node behind those that were passed. */
  #goOn(run: Run, end: number): void {
    if (areBlock(this.#nodes, run.split, run.block, run.next)) {
      run.next += 1;
      this.#pass(run, end);
      this.#nodes.length = run.split;
      this.#starts.length = run.split;
    } else run.hasEnded = true;
  }

  /** Moves behind the blocks whose bytes are those of the one just read, numbers counted on; gives how many there were. */
  #pass(run: Run, end: number): number {
    const wire = this.#wire;
    const { length } = run.block;
    const from = this.#starts[this.#nodes.length - length] ?? 0;
    const parts = partsOf(run.block, this.#nodes, wire, from);
    if (parts === undefined) return 0;
    const before = run.next;
    while (wire.passText(bytesIn(parts, run.next), end)) run.next += 1;
    return run.next - before;
  }
}

/** Blocks that follow each other. */
interface Run {
  readonly block: readonly NumberedNode[];
  /** How many of the nodes read stand before the first block that was passed. */
  readonly split: number;
  /** Number of the next block; that by which the run was found is number 1. */
  next: number;
  hasEnded: boolean;
}

/** The block that nodes from `first` on are twice; `undefined` where they are not. */
function blockOf(
  nodes: readonly OnnxNode[],
  first: number,
  period: number,
): readonly NumberedNode[] | undefined {
  const block: NumberedNode[] = [];
  for (let index = first; index < first + period; index += 1) {
    if (!areAlike(nodes[index], nodes[index + period])) return undefined;
  }
  for (let index = first; index < first + period; index += 1) {
    const node = numberedNode(nodes[index], nodes[index + period]);
    if (node === undefined) return undefined;
    block.push(node);
  }
  return block;
}

/** The same operator with the same attributes, and as many names. */
function areAlike(left: OnnxNode | undefined, right: OnnxNode | undefined): boolean {
  if (left === undefined || right === undefined) return false;
  return (
    left.type === right.type &&
    left.domain === right.domain &&
    left.overload === right.overload &&
    left.inputs.length === right.inputs.length &&
    left.outputs.length === right.outputs.length &&
    left.metadata.size === right.metadata.size &&
    haveSameAttributes(left.attributes, right.attributes)
  );
}

/** Attributes are read once, however often they stand in the file. */
function haveSameAttributes(left: OnnxNode['attributes'], right: OnnxNode['attributes']): boolean {
  if (left === right) return true;
  if (left.size !== right.size) return false;
  for (const [name, attribute] of left) if (right.get(name) !== attribute) return false;
  return true;
}

function numberedNode(first: OnnxNode | undefined, second: OnnxNode | undefined): NumberedNode | undefined {
  if (first === undefined || second === undefined) return undefined;
  const name = numberedText(first.name, second.name);
  const inputs = numberedTexts(first.inputs, second.inputs);
  const outputs = numberedTexts(first.outputs, second.outputs);
  const keys = [...first.metadata.keys()];
  const haveSameKeys = [...second.metadata.keys()].every((key, index) => key === keys[index]);
  const metadata = numberedTexts([...first.metadata.values()], [...second.metadata.values()]);
  if (!haveSameKeys || name === undefined || inputs === undefined || outputs === undefined) return undefined;
  return metadata && { like: first, name, inputs, outputs, metadata };
}

function numberedTexts(
  first: readonly string[],
  second: readonly string[],
): readonly NumberedText[] | undefined {
  const texts: NumberedText[] = [];
  for (const [index, text] of first.entries()) {
    const numbered = numberedText(text, second[index] ?? '');
    if (numbered === undefined) return undefined;
    texts.push(numbered);
  }
  return texts;
}

/** Whether the nodes from `first` on are those of the block with this number. */
const areBlock = (
  nodes: readonly OnnxNode[],
  first: number,
  block: readonly NumberedNode[],
  number: number,
): boolean => block.every((numbered, index) => isNode(nodes[first + index], numbered, number));

/** Whether a node is that of the block with this number. */
function isNode(node: OnnxNode | undefined, numbered: NumberedNode | undefined, number: number): boolean {
  if (node === undefined || numbered === undefined || !areAlike(numbered.like, node)) return false;
  const isText = (text: NumberedText, given: string | undefined): boolean =>
    isIn(text, number) && textIn(text, number) === given;
  const keys = [...node.metadata.keys()];
  const values = [...node.metadata.values()];
  return (
    isText(numbered.name, node.name) &&
    numbered.inputs.every((text, input) => isText(text, node.inputs[input])) &&
    numbered.outputs.every((text, output) => isText(text, node.outputs[output])) &&
    [...numbered.like.metadata.keys()].every((key, entry) => key === keys[entry]) &&
    numbered.metadata.every((text, entry) => isText(text, values[entry]))
  );
}

/** The bytes of a block as a text: what stands between the numbers that count up, and these numbers. */
interface Parts {
  readonly texts: string[];
  readonly values: readonly number[];
  readonly steps: readonly number[];
}

function bytesIn({ texts, values, steps }: Parts, block: number): string {
  for (let index = 0; index < values.length; index += 1) {
    texts[2 * index + 1] = String((values[index] ?? 0) + block * (steps[index] ?? 0));
  }
  return texts.join('');
}

/**
 * The bytes of the block that was read last, which begins at `from` and ends where `wire` is. `undefined` where they are
 * not its nodes alone, each name once, in ASCII.
 */
function partsOf(
  block: readonly NumberedNode[],
  nodes: readonly OnnxNode[],
  wire: WireReader,
  from: number,
): Parts | undefined {
  const bytes = wire.bytesBetween(from, wire.position);
  const whole = wire.textBetween(from, wire.position);
  const texts: string[] = [];
  const values: number[] = [];
  const steps: number[] = [];
  let written = 0;
  const first = nodes.length - block.length;
  const count = (text: NumberedText | undefined, given: string | undefined, at: Span): boolean => {
    if (text === undefined || whole.slice(at.start, at.end) !== given) return false;
    let place = at.start;
    for (let index = 0; index < text.values.length; index += 1) {
      place += (text.pieces[index] ?? '').length;
      texts.push(whole.slice(written, place), '');
      values.push(text.values[index] ?? 0);
      steps.push(text.steps[index] ?? 0);
      while (isDigit(bytes[place])) place += 1;
      written = place;
    }
    return true;
  };
  const node = new Fields(bytes, 0, bytes.length);
  for (let index = 0; index < block.length; index += 1) {
    const numbered = block[index];
    const read = nodes[first + index];
    if (numbered === undefined || read === undefined || !node.nextIs(GraphProto.node)) return undefined;
    const metadata = [...read.metadata.values()];
    let [inputs, outputs, names, entries] = [0, 0, 0, 0];
    const fields = new Fields(bytes, node.start, node.end);
    while (fields.next()) {
      const isWritten = ((): boolean => {
        switch (fields.field) {
          case NodeProto.input:
            return count(numbered.inputs[inputs], read.inputs[inputs++], fields);
          case NodeProto.output:
            return count(numbered.outputs[outputs], read.outputs[outputs++], fields);
          case NodeProto.name:
            names += 1;
            return names === 1 && count(numbered.name, read.name, fields);
          case NodeProto.metadata_props: {
            const entry = new Fields(bytes, fields.start, fields.end);
            if (!entry.nextIs(StringStringEntryProto.key) || !entry.nextIs(StringStringEntryProto.value)) {
              return false;
            }
            return entry.end === fields.end && count(numbered.metadata[entries], metadata[entries++], entry);
          }
          default:
            // A description counts for itself, and may say anything.
            return fields.field !== NodeProto.doc_string;
        }
      })();
      if (!isWritten) return undefined;
    }
    if (fields.failed || inputs !== read.inputs.length || outputs !== read.outputs.length) return undefined;
    if (names > 1 || entries !== metadata.length || (names === 0 && read.name !== '')) return undefined;
  }
  if (node.next() || node.failed) return undefined;
  texts.push(whole.slice(written));
  return { texts, values, steps };
}

interface Span {
  readonly start: number;
  readonly end: number;
}

const isDigit = (byte: number | undefined): boolean => byte !== undefined && byte >= 0x30 && byte <= 0x39;

/** The fields of a message that was read before, and is known to be one. */
class Fields implements Span {
  field = 0;
  /** Of the value. */
  start: number;
  end: number;
  /** Whether something was met that no node of a sound model holds. */
  failed = false;
  readonly #bytes: Uint8Array;
  readonly #last: number;

  constructor(bytes: Uint8Array, first: number, last: number) {
    this.#bytes = bytes;
    this.#last = last;
    this.start = first;
    this.end = first;
  }

  next(): boolean {
    if (this.end >= this.#last) return false;
    const tag = this.#varint();
    this.field = tag >>> 3;
    // All that is known of a node is texts and messages.
    this.failed ||= (tag & 7) !== wireTypes.length;
    const length = this.#varint();
    this.start = this.end;
    this.end = this.start + length;
    this.failed ||= this.end > this.#last;
    return !this.failed;
  }

  /** Whether there is another field, and it is this one. */
  nextIs(field: number): boolean {
    return this.next() && this.field === field;
  }

  #varint(): number {
    let value = 0;
    for (let shift = 0; shift < 28; shift += 7) {
      const byte = this.#bytes[this.end] ?? 0;
      this.end += 1;
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    this.failed = true;
    return 0;
  }
}
