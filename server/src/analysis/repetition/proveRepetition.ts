/**
 * Proves that blocks of a graph, which its source states to repeat, do so: each time reading from where the one before
 * read, one block further on.
 *
 * Two blocks are alike when no rule of analysis or costing can tell them apart: same operators and attributes, same
 * types and contents of what is stored, names that differ only in their numbers, inputs from the same places. What
 * all blocks read from outside is the same value for all; what one block reads alone is read by no other.
 */

import type { OnnxGraph, OnnxNode, OnnxType } from '../../formats/onnx/syntax.ts';
import type { StatedRepetition } from '../../lowering/providedStructure.ts';
import { intAt } from '../../model/at.ts';
import type { Attribute, TensorLiteral } from '../../model/attribute.ts';
import { hasTrait } from '../../operators/operatorFacts.ts';
import type { FlatNode } from '../expandFunctions.ts';
import { holdsGraph } from '../subgraphs.ts';

export interface Repetition extends StatedRepetition {
  /** Block by the name of each stored tensor that one block alone reads. */
  readonly owners: ReadonlyMap<string, number>;
  /** What the first block calls that tensor. */
  readonly origins: ReadonlyMap<string, string>;
}

/** The stated repetition with what each block owns; `undefined` where its blocks are not alike. */
export function proveRepetition(
  nodes: readonly FlatNode[],
  graph: OnnxGraph,
  stated: StatedRepetition,
): Repetition | undefined {
  const wiring = wire(nodes, graph);
  if (wiring === undefined) return undefined;
  const { start, period, count } = stated;
  const isProven = (from: number): boolean => {
    for (let index = from + period; index < start + period * count; index += 1) {
      if (!follows(wiring, index, period)) return false;
    }
    return true;
  };
  const proven = isProven(start) ? ownBlocks(wiring, stated) : undefined;
  if (proven !== undefined) return proven;
  // The first block may read what stands before it in another way than each further one reads the one before.
  const behindFirst = { start: start + period, period, count: count - 1 };
  return isProven(behindFirst.start) ? ownBlocks(wiring, behindFirst) : undefined;
}

/** A graph by numbers: its outputs numbered in order, and by node and input what is read. */
interface Wiring {
  readonly nodes: readonly FlatNode[];
  /** Number of the first output of each node, and behind the last node how many there are. */
  readonly firstOutput: Int32Array;
  /** Position of the first input of each node in `sources`. */
  readonly firstInput: Int32Array;
  /** By input: number of the output it reads, `absent`, or `-2 - n` where it reads the stored tensor `n`. */
  readonly sources: Int32Array;
  readonly stored: readonly StoredTensor[];
  /** By output: the type that the file declares, where it declares any. */
  readonly declared: readonly (OnnxType | undefined)[];
  /** Numbers of the outputs that are outputs of the graph. */
  readonly graphOutputs: ReadonlySet<number>;
}

/** An input of the graph or a tensor stored in it. */
interface StoredTensor {
  readonly name: string;
  /** Of the name. */
  readonly pattern: string;
  readonly literal: TensorLiteral | undefined;
  readonly type: OnnxType | undefined;
}

const absent = -1;

/** `undefined` where the graph is not made of plain nodes in order, each value defined once before it is read. */
function wire(nodes: readonly FlatNode[], graph: OnnxGraph): Wiring | undefined {
  const numbers = new Map<string, number>();
  const stored: StoredTensor[] = [];
  const store = (name: string, literal: TensorLiteral | undefined, type: OnnxType | undefined): void => {
    const known = numbers.get(name);
    if (known === undefined) {
      numbers.set(name, -2 - stored.length);
      stored.push({ name, pattern: patternOf(name), literal, type });
    } else stored[-2 - known] = { name, pattern: patternOf(name), literal, type };
  };
  for (const { name, type } of graph.inputs) store(name, undefined, type);
  for (const literal of graph.initializers) store(literal.name, literal, undefined);
  for (const literal of graph.sparseInitializers) store(literal.name, literal, undefined);

  const firstOutput = new Int32Array(nodes.length + 1);
  const firstInput = new Int32Array(nodes.length + 1);
  const sources: number[] = [];
  let outputs = 0;
  for (let index = 0; index < nodes.length; index += 1) {
    const node = nodes[index]?.node;
    if (node === undefined || holdsGraph(node.attributes)) return undefined;
    firstOutput[index] = outputs;
    firstInput[index] = sources.length;
    for (let input = 0; input < node.inputs.length; input += 1) {
      const name = node.inputs[input] ?? '';
      const source = name === '' ? absent : numbers.get(name);
      if (source === undefined) return undefined;
      sources.push(source);
    }
    for (let output = 0; output < node.outputs.length; output += 1) {
      const name = node.outputs[output] ?? '';
      if (name !== '') {
        if (numbers.has(name)) return undefined;
        numbers.set(name, outputs);
      }
      outputs += 1;
    }
  }
  firstOutput[nodes.length] = outputs;
  firstInput[nodes.length] = sources.length;

  const declared: (OnnxType | undefined)[] = [];
  for (const { name, type } of graph.valueInfos) {
    const number = numbers.get(name);
    if (number !== undefined && number >= 0) declared[number] = type;
  }
  const graphOutputs = new Set<number>();
  for (const { name, type } of graph.outputs) {
    const number = numbers.get(name);
    if (number === undefined) return undefined;
    graphOutputs.add(number);
    if (number >= 0) declared[number] = type;
  }
  return {
    nodes,
    firstOutput,
    firstInput,
    sources: Int32Array.from(sources),
    stored,
    declared,
    graphOutputs,
  };
}

/** Whether a node is like the one a period before it and reads from the same places, or from a period further on. */
function follows(
  { nodes, firstInput, firstOutput, sources, stored }: Wiring,
  index: number,
  period: number,
): boolean {
  const node = nodes[index];
  const earlierNode = nodes[index - period];
  if (!areAlike(node, earlierNode)) return false;
  if (node !== undefined && (hasTrait(node.node, 'constant') || hasTrait(node.node, 'generator'))) {
    // What a node stores is told apart by name, as any stored tensor is.
    if (!areNamesAlike(node.node.outputs[0] ?? '', earlierNode?.node.outputs[0] ?? '')) return false;
  }
  const step = intAt(firstOutput, index) - intAt(firstOutput, index - period);
  const first = intAt(firstInput, index);
  const before = intAt(firstInput, index - period);
  for (let input = 0; input < intAt(firstInput, index + 1) - first; input += 1) {
    const source = intAt(sources, first + input);
    const earlier = intAt(sources, before + input);
    if (source === earlier) continue;
    if (source < 0 || earlier < 0) {
      if (source > absent || earlier > absent || source === absent || earlier === absent) return false;
      if (!areStoredAlike(stored[-2 - source], stored[-2 - earlier])) return false;
    } else if (source - earlier !== step) return false;
  }
  return true;
}

function areAlike(left: FlatNode | undefined, right: FlatNode | undefined): boolean {
  if (left === undefined || right === undefined) return false;
  const a = left.node;
  const b = right.node;
  if (a.type !== b.type || a.domain !== b.domain || a.inputs.length !== b.inputs.length) return false;
  if (a.outputs.length !== b.outputs.length || left.operatorSets !== right.operatorSets) return false;
  for (let output = 0; output < a.outputs.length; output += 1) {
    if ((a.outputs[output] === '') !== (b.outputs[output] === '')) return false;
  }
  if (left.scope !== right.scope) {
    if (left.scope.paths.length !== right.scope.paths.length) return false;
    if (left.scope.moduleClass !== right.scope.moduleClass) return false;
  }
  return a.attributes === b.attributes || haveSameAttributes(a, b);
}

function haveSameAttributes(a: OnnxNode, b: OnnxNode): boolean {
  if (a.attributes.size !== b.attributes.size) return false;
  for (const [name, attribute] of a.attributes) {
    const other = b.attributes.get(name);
    if (other === undefined || !isSameAttribute(attribute, other)) return false;
  }
  return true;
}

function isSameAttribute(left: Attribute<OnnxGraph>, right: Attribute<OnnxGraph>): boolean {
  if (left === right) return true;
  if (left.kind === 'tensor') return right.kind === 'tensor' && isSameLiteral(left.value, right.value);
  if (
    left.kind !== right.kind ||
    left.kind === 'tensors' ||
    left.kind === 'graph' ||
    left.kind === 'graphs'
  ) {
    return false;
  }
  if (left.kind === 'strings') return JSON.stringify(left.value) === JSON.stringify(right.value);
  return String(left.value) === String(right.value);
}

/** Same type and contents; contents that were skipped are those no rule can see. */
function isSameLiteral(left: TensorLiteral, right: TensorLiteral): boolean {
  return (
    left.elementType === right.elementType &&
    areSameNumbers(left.dimensions, right.dimensions) &&
    (left.elements === right.elements ||
      (left.elements !== undefined &&
        right.elements !== undefined &&
        areSameNumbers(left.elements, right.elements)))
  );
}

function areSameNumbers(left: readonly number[], right: readonly number[]): boolean {
  if (left.length !== right.length) return false;
  for (let index = 0; index < left.length; index += 1) {
    if (!Object.is(left[index], right[index])) return false;
  }
  return true;
}

function areStoredAlike(left: StoredTensor | undefined, right: StoredTensor | undefined): boolean {
  if (left === undefined || right === undefined) return false;
  if (left.literal === undefined || right.literal === undefined) {
    if (left.literal !== right.literal || !isSameType(left.type, right.type)) return false;
  } else if (!isSameLiteral(left.literal, right.literal)) return false;
  return left.pattern === right.pattern;
}

function isSameType(left: OnnxType | undefined, right: OnnxType | undefined): boolean {
  return left === right || JSON.stringify(left) === JSON.stringify(right);
}

/** Whether two names differ at most in their numbers: what roles are told by does not look at numbers. */
export const areNamesAlike = (left: string, right: string): boolean =>
  left === right || patternOf(left) === patternOf(right);

/** A name with the same number in the place of every number. */
const patternOf = (name: string): string => name.replace(/\d+/g, '0');

/** Checks what only whole blocks show: what each block has of its own, and that nothing else reads it. */
function ownBlocks(wiring: Wiring, run: StatedRepetition): Repetition | undefined {
  const { nodes, firstInput, firstOutput, sources, stored, declared, graphOutputs } = wiring;
  const { start, period, count } = run;
  const end = start + period * count;
  const perBlock = intAt(firstOutput, start + period) - intAt(firstOutput, start);
  const outputsBefore = intAt(firstOutput, start);

  /** By stored tensor: the block that alone reads it, and what the first block reads in its place; negative for none. */
  const owner = new Int32Array(stored.length).fill(nobody);
  const origin = new Int32Array(stored.length).fill(nobody);
  /** By tensor of the first block: what the block at hand has in its place. */
  const places = new Int32Array(stored.length);
  const placedIn = new Int32Array(stored.length).fill(nobody);
  const firstOfAll = intAt(firstInput, start);
  const inputsPerBlock = intAt(firstInput, start + period) - firstOfAll;
  for (let block = 0; block < count; block += 1) {
    const first = firstOfAll + block * inputsPerBlock;
    const blockOutputs = outputsBefore + block * perBlock;
    for (let input = 0; input < inputsPerBlock; input += 1) {
      const source = intAt(sources, first + input);
      const inFirst = intAt(sources, firstOfAll + input);
      if (inFirst === intAt(sources, firstOfAll + inputsPerBlock + input)) {
        if (source !== inFirst || source >= outputsBefore) return undefined;
        if (source < absent) {
          if (intAt(owner, -2 - source) >= 0) return undefined;
          owner[-2 - source] = everybody;
        }
      } else if (source >= 0) {
        if (source - inFirst !== block * perBlock || source < blockOutputs - perBlock) return undefined;
      } else {
        const tensor = -2 - source;
        const pattern = -2 - inFirst;
        if (intAt(placedIn, pattern) !== block) {
          if (intAt(owner, tensor) !== nobody) return undefined;
          // An input is held until it is read: how many there still are tells blocks apart.
          if (stored[tensor]?.literal === undefined) return undefined;
          owner[tensor] = block;
          origin[tensor] = pattern;
          places[pattern] = tensor;
          placedIn[pattern] = block;
        } else if (intAt(places, pattern) !== tensor) return undefined;
      }
    }
  }
  const isOwned = (source: number): boolean => source < absent && intAt(owner, -2 - source) >= 0;
  const lastBlock = outputsBefore + (count - 1) * perBlock;
  for (const output of graphOutputs) if (isOwned(output)) return undefined;
  for (let index = 0; index < nodes.length; index += 1) {
    if (index >= start && index < end) continue;
    for (let input = intAt(firstInput, index); input < intAt(firstInput, index + 1); input += 1) {
      const source = intAt(sources, input);
      if (isOwned(source)) return undefined;
      if (index >= end && source >= outputsBefore && source < lastBlock) return undefined;
    }
  }
  for (let output = outputsBefore + perBlock; output < lastBlock; output += 1) {
    if (graphOutputs.has(output) !== graphOutputs.has(output - perBlock)) return undefined;
    if (!isSameType(declared[output], declared[output - perBlock])) return undefined;
  }
  if (!haveOwnScopes(nodes, run)) return undefined;
  const owners = new Map<string, number>();
  const origins = new Map<string, string>();
  for (const [tensor, { name }] of stored.entries()) {
    const block = intAt(owner, tensor);
    if (block < 0) continue;
    owners.set(name, block);
    origins.set(name, stored[intAt(origin, tensor)]?.name ?? '');
  }
  return { start, period, count, owners, origins };
}

const nobody = -1;
const everybody = -2;

/** Whether each block stands in modules of its own, in the pattern of the first, or in modules that all stand in. */
function haveOwnScopes(nodes: readonly FlatNode[], { start, period, count }: StatedRepetition): boolean {
  const owners = new Map<string, number>();
  const own = (path: string, block: number): boolean => {
    const known = owners.get(path);
    if (known === undefined) owners.set(path, block);
    return known === undefined || known === block;
  };
  for (let block = 0; block < count; block += 1) {
    const names = new Map<string, string>();
    for (let index = 0; index < period; index += 1) {
      const paths = nodes[start + block * period + index]?.scope.paths ?? [];
      const inFirst = nodes[start + index]?.scope.paths ?? [];
      const before = index === 0 ? undefined : nodes[start + block * period + index - 1]?.scope.paths;
      if (paths === before && inFirst === nodes[start + index - 1]?.scope.paths) continue;
      const inSecond = nodes[start + period + index]?.scope.paths ?? [];
      for (let depth = 0; depth < inFirst.length; depth += 1) {
        const path = paths[depth] ?? '';
        const pattern = inFirst[depth] ?? '';
        if (pattern === inSecond[depth]) {
          if (path !== pattern || !own(path, everybody)) return false;
        } else {
          const known = names.get(pattern);
          if (known === undefined) {
            if (owners.has(path)) return false;
            names.set(pattern, path);
            owners.set(path, block);
          } else if (known !== path) return false;
        }
      }
    }
  }
  for (let index = 0; index < nodes.length; index += 1) {
    if (index === start) index += period * count;
    for (const path of nodes[index]?.scope.paths ?? []) {
      const known = owners.get(path);
      if (known !== undefined && known !== everybody) return false;
    }
  }
  return true;
}
