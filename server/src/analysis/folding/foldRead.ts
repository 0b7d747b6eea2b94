/**
 * Folds a graph that was read as a block and how often it stands there (`formats/onnx/repeatedNodes.ts`), without
 * looking at the blocks that are left out.
 *
 * The graph with the blocks that folding keeps is examined as any other (`findRepetition.ts`). What is said of its
 * blocks holds for the others, because their names count on: a block reads from the one before what the one before it
 * does, as long as no two names are ever the same. Only what stands beside the nodes is looked up for every block:
 * stored tensors, outputs of the graph, declared types.
 */

import { type NumberedText, numberedText, textIn } from '../../formats/onnx/numberedText.ts';
import {
  countedNode,
  lengthOf,
  type NumberedNode,
  namedIn,
  nodeAt,
  placeIn,
  type RepeatedNodes,
  withNodes,
} from '../../formats/onnx/repeatedNodes.ts';
import type { OnnxGraph, OnnxNode, OnnxType } from '../../formats/onnx/syntax.ts';
import type { TensorLiteral } from '../../model/attribute.ts';
import type { FlatNode } from '../expandFunctions.ts';
import { nameOfNode } from '../inferGraph.ts';
import { collectScopes } from '../moduleScope.ts';
import { holdsGraph } from '../subgraphs.ts';
import { CountedNames } from './countedNames.ts';
import { isSameLiteral, isSameType, type Repetition, repetitionAt } from './findRepetition.ts';
import { type FoldedGraph, fewestDropped, keptAtEnd, keptAtStart } from './foldGraph.ts';
import type { FlatNodes } from './unfoldAnalysis.ts';

export interface FoldedRead {
  readonly folded: FoldedGraph;
  readonly repetition: Repetition;
  /** Those of the whole graph. */
  readonly nodes: FlatNodes;
}

const kept = keptAtStart + keptAtEnd;

/** `undefined` where there are too few blocks, or where they cannot be told to be alike. */
export function foldRead(graph: OnnxGraph, repeated: RepeatedNodes): FoldedRead | undefined {
  // What is left out has to be worth more than knowing that it may be.
  if (2 * (repeated.count - kept - 1) * repeated.block.length < lengthOf(repeated)) return undefined;
  if (repeated.block.some(({ like }) => holdsGraph(like.attributes))) return undefined;
  const nodes = flatNodes(repeated);
  const start = firstOfModule(repeated, nodes);
  if (start === undefined) return undefined;
  // The first block may read what only stands where one before it would.
  return (
    foldFrom(graph, repeated, nodes, start) ?? foldFrom(graph, repeated, nodes, start + repeated.block.length)
  );
}

/** The nodes with the modules they stand in. */
function flatNodes(repeated: RepeatedNodes): FlatNodes {
  const scopeOf = collectScopes();
  const length = lengthOf(repeated);
  /** With the names of values left as they are in one of the blocks. */
  const namedAt = (index: number): OnnxNode | undefined => {
    const place = placeIn(repeated, index);
    return place === undefined ? nodeAt(repeated, index) : namedIn(place.node, place.block);
  };
  const at = (index: number): FlatNode | undefined => {
    const node = nodeAt(repeated, index);
    return node && { node, source: index, scope: scopeOf(node) };
  };
  return {
    length,
    at,
    nameAt: (index) => {
      const place = placeIn(repeated, index);
      const name = place && textIn(place.node.name, place.block);
      return name || nameOfNode(at(index));
    },
    pathsAt: (index) => {
      const node = namedAt(index);
      return node === undefined ? [] : scopeOf(node).paths;
    },
    sourceAt: (index) => (index < length ? index : undefined),
  };
}

/** The first node that begins a layer and a block in modules of its own; `undefined` where there is none. */
function firstOfModule(repeated: RepeatedNodes, nodes: FlatNodes): number | undefined {
  const first = repeated.before.length;
  const period = repeated.block.length;
  let last = nodes.at(first - 1)?.scope;
  for (let start = first; start < first + period; start += 1) {
    const scope = nodes.at(start)?.scope;
    const count = repeated.count - (start === first ? 0 : 1);
    if ((start === 0 || scope !== last) && areModulesTheirOwn({ start, period, count }, nodes)) return start;
    last = scope;
  }
  return areModulesTheirOwn({ start: first, period, count: repeated.count }, nodes) ? first : undefined;
}

/** The blocks of a graph, which begin at one of its nodes. */
interface Blocks {
  readonly start: number;
  readonly period: number;
  readonly count: number;
  readonly graph: OnnxGraph;
  readonly nodes: FlatNodes;
  /** Of a block, counted from the first. */
  readonly block: readonly NumberedNode[];
  /** Nodes that stand in none. */
  readonly outside: readonly FlatNode[];
}

function foldFrom(
  graph: OnnxGraph,
  repeated: RepeatedNodes,
  nodes: FlatNodes,
  start: number,
): FoldedRead | undefined {
  const period = repeated.block.length;
  const end = repeated.before.length + period * repeated.count;
  const count = Math.floor((end - start) / period);
  const copies = count - kept;
  if (copies < fewestDropped) return undefined;
  const cut = start + keptAtStart * period;
  const resume = cut + copies * period;
  const plain = (index: number): FlatNode[] => {
    const flat = nodes.at(index);
    return flat === undefined ? [] : [{ ...flat, node: { ...flat.node } }];
  };
  const short: FlatNode[] = [];
  for (let index = 0; index < cut; index += 1) short.push(...plain(index));
  for (let index = resume; index < nodes.length; index += 1) short.push(...plain(index));
  const block: NumberedNode[] = [];
  for (let index = start; index < start + period; index += 1) {
    const place = placeIn(repeated, index);
    if (place !== undefined) block.push(countedNode(place.node, place.block));
  }
  const outside = [...short.slice(0, start), ...short.slice(cut + keptAtEnd * period)];
  const blocks: Blocks = { start, period, count, graph, nodes, block, outside };
  const owned = ownedTensors(blocks);
  if (owned === undefined || !areNamesTheirOwn(blocks, owned)) return undefined;
  const shortGraph = graphOf(blocks, short, owned.repetition);
  if (shortGraph === undefined) return undefined;
  const known = new Map<string, string>();
  for (const { outputs } of block) {
    for (const name of outputs) known.set(textIn(name, count - keptAtEnd - 1), textIn(name, keptAtStart - 1));
  }
  const folded = short.map((flat, index) => (index < cut ? flat : reading(flat, known)));
  const proof = repetitionAt(folded, shortGraph, { start, period, count: kept });
  if (proof === undefined || !isOwnedAlike(proof, owned.repetition)) return undefined;
  return {
    folded: { graph: shortGraph, nodes: folded, places: { count: nodes.length, cut, period, copies } },
    repetition: owned.repetition,
    nodes: { ...nodes, pathsAt: countedPaths(blocks) },
  };
}

/** Modules of nodes, told by those of the first two blocks. */
function countedPaths({ start, period, count, nodes }: Blocks): FlatNodes['pathsAt'] {
  const known: (readonly NumberedText[] | undefined)[] = [];
  const pathsOf = (position: number): readonly NumberedText[] => {
    const next = nodes.pathsAt(start + period + position);
    return nodes
      .pathsAt(start + position)
      .flatMap((path, depth) => numberedText(path, next[depth] ?? path) ?? []);
  };
  return (index) => {
    const block = Math.floor((index - start) / period);
    if (index < start || block >= count) return nodes.pathsAt(index);
    const position = (index - start) % period;
    const paths = known[position] ?? pathsOf(position);
    known[position] = paths;
    return paths.map((path) => textIn(path, block));
  };
}

function reading(flat: FlatNode, instead: ReadonlyMap<string, string>): FlatNode {
  const { inputs } = flat.node;
  if (!inputs.some((name) => instead.has(name))) return flat;
  return { ...flat, node: { ...flat.node, inputs: inputs.map((name) => instead.get(name) ?? name) } };
}

/** The tensors and inputs that are read by one block each, with the names that blocks read them by. */
interface OwnedTensors {
  readonly repetition: Repetition;
  readonly names: readonly NumberedText[];
}

function ownedTensors(blocks: Blocks): OwnedTensors | undefined {
  const { start, period, count, graph, block } = blocks;
  const inputs = new Map<string, OnnxType | undefined>();
  for (const { name, type } of graph.inputs) inputs.set(name, type);
  const literals = new Map<string, TensorLiteral>();
  for (const list of [graph.initializers, graph.sparseInitializers]) {
    for (const literal of list) literals.set(literal.name, literal);
  }
  const owners = new Map<string, number>();
  const origins = new Map<string, string>();
  const names: NumberedText[] = [];
  const seen = new Set<string>();
  for (const text of block.flatMap((node) => node.inputs)) {
    const origin = textIn(text, 0);
    const literal = literals.get(origin);
    if (text.values.length === 0 || seen.has(origin)) continue;
    if (literal === undefined && !inputs.has(origin)) continue;
    seen.add(origin);
    names.push(text);
    for (let index = 0; index < count; index += 1) {
      const name = textIn(text, index);
      const own = literals.get(name);
      const isAlike =
        literal === undefined || own === undefined
          ? own === literal && inputs.has(name) && isSameType(inputs.get(name), inputs.get(origin))
          : isSameLiteral(own, literal);
      if (!isAlike || owners.has(name)) return undefined;
      owners.set(name, index);
      origins.set(name, origin);
    }
  }
  return { repetition: { start, period, count, owners, origins }, names };
}

/** Whether the names of what blocks give and own are nobody else's. */
function areNamesTheirOwn({ graph, block, count, outside }: Blocks, owned: OwnedTensors): boolean {
  const names = new CountedNames(count);
  for (const text of owned.names) if (!names.add(text)) return false;
  for (const { outputs } of block) {
    for (const text of outputs) if (textIn(text, 0) !== '' && !names.add(text)) return false;
  }
  const isFree = (name: string): boolean => owned.repetition.owners.has(name) || !names.mayHave(name);
  return (
    outside.every(({ node }) => node.outputs.every(isFree)) &&
    [graph.inputs, graph.initializers, graph.sparseInitializers].every((list) =>
      list.every(({ name }) => isFree(name)),
    )
  );
}

/** Whether the modules that blocks stand in count as their names do, and hold nothing else. */
function areModulesTheirOwn(
  { start, period, count }: Pick<Blocks, 'start' | 'period' | 'count'>,
  nodes: FlatNodes,
): boolean {
  const names = new CountedNames(count);
  const known = new Map<string, string>();
  for (let index = start; index < start + period; index += 1) {
    const pathsIn = (block: number): readonly string[] => nodes.pathsAt(index + block * period);
    const [first, second, middle, last] = [pathsIn(0), pathsIn(1), pathsIn(keptAtStart), pathsIn(count - 1)];
    for (const [depth, path] of first.entries()) {
      const next = second[depth] ?? '';
      const before = known.get(path);
      if (before !== undefined && before !== next) return false;
      if (before !== undefined) continue;
      known.set(path, next);
      const text = numberedText(path, next);
      if (text === undefined) return false;
      if (textIn(text, keptAtStart) !== middle[depth] || textIn(text, count - 1) !== last[depth])
        return false;
      if (path !== next && !names.add(text)) return false;
    }
  }
  const isOutside = (index: number): boolean => index < start || index >= start + count * period;
  for (let index = 0; index < nodes.length; index += 1) {
    if (!isOutside(index)) index = start + count * period;
    if (nodes.pathsAt(index).some((path) => names.mayHave(path))) return false;
  }
  return true;
}

/**
 * The graph without what the blocks left out own and give. `undefined` where it says of what some blocks give what it
 * does not say of that of others.
 */
function graphOf(
  { graph, block, count }: Blocks,
  short: readonly FlatNode[],
  { owners }: Repetition,
): OnnxGraph | undefined {
  const isLeftOut = (index: number): boolean => index >= keptAtStart && index < count - keptAtEnd;
  const isOwnedHere = ({ name }: { readonly name: string }): boolean => {
    const owner = owners.get(name);
    return owner === undefined || !isLeftOut(owner);
  };
  const whole: OnnxGraph = {
    ...withNodes(
      graph,
      short.map(({ node }) => node),
    ),
    inputs: graph.inputs.filter(isOwnedHere),
    initializers: graph.initializers.filter(isOwnedHere),
    sparseInitializers: graph.sparseInitializers.filter(isOwnedHere),
  };
  const given = new Set(short.flatMap(({ node }) => node.outputs));
  if (graph.valueInfos.length === 0 && graph.outputs.every(({ name }) => given.has(name))) return whole;

  const types = new Map<string, OnnxType | undefined>();
  for (const { name, type } of graph.valueInfos) types.set(name, type);
  for (const { name, type } of graph.outputs) types.set(name, type);
  const outputs = new Set(graph.outputs.map(({ name }) => name));
  const leftOut = new Set<string>();
  for (const text of block.flatMap((node) => node.outputs)) {
    let before = textIn(text, 0);
    for (let index = 1; index < count - 1; index += 1) {
      const name = textIn(text, index);
      if (outputs.has(name) !== outputs.has(before)) return undefined;
      if (!isSameType(types.get(name), types.get(before))) return undefined;
      if (isLeftOut(index)) leftOut.add(name);
      before = name;
    }
  }
  const isThere = ({ name }: { readonly name: string }): boolean => !leftOut.has(name);
  return { ...whole, outputs: graph.outputs.filter(isThere), valueInfos: graph.valueInfos.filter(isThere) };
}

/** Whether the blocks that were examined own what they were taken to own. */
function isOwnedAlike(examined: Repetition, { owners, origins, count }: Repetition): boolean {
  for (const [name, block] of examined.owners) {
    const owner = block < keptAtStart ? block : block - kept + count;
    if (owners.get(name) !== owner || origins.get(name) !== examined.origins.get(name)) return false;
  }
  const perBlock = owners.size / count;
  return examined.owners.size === perBlock * kept;
}
