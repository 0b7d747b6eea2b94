/** A folded analysis, and what in it stands for operators and stored tensors of the whole graph. */

import type { OnnxGraph } from '../../formats/onnx/syntax.ts';
import type { GivenLayers, ProvidedStructure } from '../../lowering/providedStructure.ts';
import type { FlatNode } from '../expandFunctions.ts';
import type { Use } from '../findRoles.ts';
import type { ModelAnalysis } from '../modelAnalysis.ts';
import { type FoldedGraph, type FoldLayout, foldedIndex, keptAtEnd, keptAtStart } from './foldGraph.ts';
import type { Repetition } from './proveRepetition.ts';

/** The whole graph, how it was folded, and what came out, which may itself have been unfolded from a shorter one. */
export interface FoldedAnalysis {
  readonly analysis: ModelAnalysis;
  readonly uses: ReadonlyMap<string, Use>;
  readonly folded: FoldedGraph;
  readonly repetition: Repetition;
  readonly graph: OnnxGraph;
  readonly nodes: readonly FlatNode[];
  readonly provided: ProvidedStructure | undefined;
  readonly given: GivenLayers;
}

/** What was found out about an operator of the folded graph: nothing is unfolded to look at a few of them. */
export function analysisAt({ analysis }: FoldedAnalysis): {
  readonly shortest: ModelAnalysis;
  readonly at: (index: number) => number;
} {
  const inner = analysis.folded;
  return inner === undefined
    ? { shortest: analysis, at: (index) => index }
    : { shortest: inner.analysis, at: (index) => foldedIndex(inner.layout, index) };
}

/** Who reads a value: blocks by themselves, or whoever reads it in one block reads it in all. */
export type ReaderBlocks = 'all' | 'start' | 'end' | { readonly copy: number };

/** What stands in the folded graph for a stored tensor or input of the whole one. */
export interface Representative {
  readonly name: string;
  readonly readers: ReaderBlocks;
}

export function representativesIn({ repetition }: FoldedAnalysis): (name: string) => Representative {
  const { owners, origins, count } = repetition;
  const pattern = new Map<string, string>();
  for (const [name, block] of owners) {
    const origin = origins.get(name);
    if (block === keptAtStart - 1 && origin !== undefined) pattern.set(origin, name);
  }
  return (name) => {
    const block = owners.get(name);
    if (block === undefined) return { name, readers: 'all' };
    if (block < keptAtStart - 1) return { name, readers: 'start' };
    if (block >= count - keptAtEnd) return { name, readers: 'end' };
    const copy = block - (keptAtStart - 1);
    return { name: pattern.get(origins.get(name) ?? '') ?? name, readers: { copy } };
  };
}

/** Operators of the whole graph for those of the folded one that read a value; both ascending. */
export function unfoldReaders(
  { cut, period, copies }: FoldLayout,
  readers: readonly number[],
  of: ReaderBlocks,
): readonly number[] {
  if (of === 'start') return readers;
  if (of === 'end') return readers.map((index) => (index < cut ? index : index + copies * period));
  if (of !== 'all') return of.copy === 0 ? readers : readers.map((index) => index + of.copy * period);
  const whole = readers.filter((index) => index < cut);
  const inBlock = whole.filter((index) => index >= cut - period);
  for (let copy = 1; copy <= copies; copy += 1) {
    for (const index of inBlock) whole.push(index + copy * period);
  }
  for (const index of readers) if (index >= cut) whole.push(index + copies * period);
  return whole;
}

/** An operator before the first block, or behind the last, is read by whoever reads it in one of them in all. */
export function readersOfOutput({ cut, period, copies }: FoldLayout, index: number): ReaderBlocks {
  if (index < cut - keptAtStart * period) return 'all';
  if (index < cut - period) return 'start';
  if (index >= cut + copies * period) return 'end';
  return { copy: Math.floor((index - cut) / period) + 1 };
}
