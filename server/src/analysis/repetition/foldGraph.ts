/**
 * A graph with most of its repeated blocks left out, and where everything of it stands in the whole one.
 *
 * What is found out about an operator depends on little: on what flows to it forwards and backwards, and on the
 * operators around it, of which no rule looks at one further than eight up or four down. Blocks read from the one
 * before at most, so that a block with eight before it and four behind it sees nothing of where the repetition ends.
 * Where such blocks came out the same, in all that flows too, those left out between them come out so as well.
 */

import type { OnnxGraph, OnnxNode } from '../../formats/onnx/syntax.ts';
import type { FlatNode } from '../expandFunctions.ts';
import type { Repetition } from './proveRepetition.ts';

/** Eight that may see the beginning, and two that are compared; the furthest look is `fusedGroups`'s, for attention. */
export const keptAtStart = 10;

/** One that is compared with those two, and four that may see the end. */
export const keptAtEnd = 5;

/** Fewer blocks than this are not worth leaving out. */
export const fewestDropped = 3;

/** Where the operators of a folded graph stand in the whole one, which repeats one block. */
export interface Fold {
  /** Operators of the whole graph. */
  readonly count: number;
  /** The first operator that was left out. */
  readonly cut: number;
  /** Operators in a block. */
  readonly period: number;
  /** Blocks left out; each is a copy of the block that ends at `cut`. */
  readonly copies: number;
  /** Blocks before the cut, and behind it. */
  readonly keptBefore: number;
  readonly keptBehind: number;
}

/** The same where what is left may repeat another block, and so on: those folds come first. */
export interface FoldLayout extends Fold {
  readonly inner?: FoldLayout;
}

export interface FoldedGraph {
  readonly graph: OnnxGraph;
  readonly nodes: readonly FlatNode[];
  readonly layout: Fold;
}

export function foldGraph(graph: OnnxGraph, nodes: readonly FlatNode[], repetition: Repetition): FoldedGraph {
  const { start, period, count, owners } = repetition;
  const copies = count - keptAtStart - keptAtEnd;
  const cut = start + keptAtStart * period;
  const resume = cut + copies * period;
  /** Values left out, by the value of the last block kept that stands for them. */
  const renamed = new Map<string, string>();
  for (let index = resume - period; index < resume; index += 1) {
    const kept = nodes[index - copies * period]?.node.outputs ?? [];
    nodes[index]?.node.outputs.forEach((name, output) => {
      renamed.set(name, kept[output] ?? '');
    });
  }
  const dropped = new Set<string>();
  for (let index = cut; index < resume; index += 1) {
    nodes[index]?.node.outputs.forEach((name) => {
      dropped.add(name);
    });
  }
  const isKept = ({ name }: { readonly name: string }): boolean => {
    if (dropped.has(name)) return false;
    const block = owners.get(name);
    return block === undefined || block < keptAtStart || block >= count - keptAtEnd;
  };
  return {
    graph: {
      ...graph,
      inputs: graph.inputs.filter(isKept),
      outputs: graph.outputs.filter(isKept),
      valueInfos: graph.valueInfos.filter(isKept),
      initializers: graph.initializers.filter(isKept),
      sparseInitializers: graph.sparseInitializers.filter(isKept),
    },
    nodes: [
      ...nodes.slice(0, cut),
      ...nodes.slice(resume).map((flat) => ({ ...flat, node: withInputs(flat.node, renamed) })),
    ],
    layout: {
      count: nodes.length,
      cut,
      period,
      copies,
      keptBefore: keptAtStart,
      keptBehind: keptAtEnd,
    },
  };
}

function withInputs(node: OnnxNode, renamed: ReadonlyMap<string, string>): OnnxNode {
  if (!node.inputs.some((name) => name !== '' && renamed.has(name))) return node;
  return { ...node, inputs: node.inputs.map((name) => (name === '' ? '' : (renamed.get(name) ?? name))) };
}

/** The operator of the folded graph that stands for one of the whole graph. */
export function foldedIndex({ cut, period, copies, inner }: FoldLayout, index: number): number {
  const behind = index - cut - copies * period;
  const folded = index < cut ? index : behind >= 0 ? cut + behind : cut - period + ((index - cut) % period);
  return inner === undefined ? folded : foldedIndex(inner, folded);
}

/** A column aligned with the operators of the folded graph, for those of the whole one. */
export function unfoldColumn(layout: FoldLayout, folded: Float64Array): Float64Array {
  const { cut, period, copies, count, inner } = layout;
  const column = inner === undefined ? folded : unfoldColumn(inner, folded);
  const whole = new Float64Array(count);
  whole.set(column.subarray(0, cut));
  // Each copy doubles what is there to copy from.
  for (let done = 0; done < copies * period; done += Math.min(period + done, copies * period - done)) {
    const length = Math.min(period + done, copies * period - done);
    whole.copyWithin(cut + done, cut - period, cut - period + length);
  }
  whole.set(column.subarray(cut), cut + copies * period);
  return whole;
}

/** A list aligned with the operators of the folded graph, for those of the whole one. */
export function unfoldList<T>(
  { cut, period, copies, inner }: FoldLayout,
  folded: readonly T[],
): readonly T[] {
  const list = inner === undefined ? folded : unfoldList(inner, folded);
  const whole = list.slice(0, cut);
  const block = list.slice(cut - period, cut);
  for (let copy = 0; copy < copies; copy += 1) whole.push(...block);
  return whole.concat(list.slice(cut));
}

/**
 * Whether the last two blocks before the cut and the first behind it are the same: every further one then is too,
 * because what it starts from and what it leads to are the same.
 */
export function isSettled(
  { inner, ...fold }: FoldLayout,
  areSame: (index: number, other: number) => boolean,
): boolean {
  if (inner === undefined) return isSettledAround(fold, areSame);
  const areSameOutside = (index: number, other: number): boolean =>
    areSame(foldedIndex(inner, index), foldedIndex(inner, other));
  return isSettled(inner, areSame) && isSettledAround(fold, areSameOutside);
}

/** The same of one fold alone. */
export function isSettledAround(
  { cut, period }: Fold,
  areSame: (index: number, other: number) => boolean,
): boolean {
  for (let index = cut - period; index < cut; index += 1) {
    if (!areSame(index, index - period) || !areSame(index, index + period)) return false;
  }
  return true;
}
