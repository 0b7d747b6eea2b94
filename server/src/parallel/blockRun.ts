/**
 * Blocks in a row that are alike to every rule: each has the operators of the one before, with the same work, and reads
 * from the same places or from one block further on. What is found of one of them holds for all.
 */

import type { ModelAnalysis } from '../analysis/modelAnalysis.ts';
import type { Fold } from '../analysis/repetition/foldGraph.ts';
import { itemAt } from '../model/at.ts';
import { isWeight, type Operator, type Value } from '../model/graph.ts';
import { memoizeRecent } from '../model/memoizeRecent.ts';
import { isSameContent } from '../model/sameContent.ts';
import { hasTrait } from '../operators/operatorFacts.ts';
import type { OperatorRange } from './operatorRange.ts';

export interface BlockRun {
  /** The first operator of the first block. */
  readonly begin: number;
  /** Operators in a block. */
  readonly period: number;
  readonly count: number;
}

/** The longest run of blocks that begin at `cuts`; `undefined` where no two are alike. It is found once for an analysis. */
export const blockRun = memoizeRecent(
  (analysis: ModelAnalysis, cuts: readonly number[]): BlockRun | undefined => longestRun(analysis, cuts),
  isSameContent,
);

function longestRun(analysis: ModelAnalysis, cuts: readonly number[]): BlockRun | undefined {
  const { operators } = analysis.graph;
  const period = commonLength(cuts);
  if (period === undefined) return undefined;
  const areAlike = alikeBlocks(analysis, period);
  let longest: BlockRun | undefined;
  for (let block = 0; block < cuts.length; ) {
    const begin = itemAt(cuts, block);
    let count = 1;
    // What stands behind the last block is no part of it, and nobody says where that begins but a block before.
    while (begin + (count + 1) * period <= operators.length && areAlike(begin + (count - 1) * period))
      count += 1;
    if (count > (longest?.count ?? 1)) longest = { begin, period, count };
    block += count;
  }
  return longest !== undefined && isClosed(analysis, longest) ? longest : undefined;
}

/** Of most blocks; the last one has no next. */
function commonLength(cuts: readonly number[]): number | undefined {
  const lengths = cuts
    .slice(1)
    .map((cut, block) => cut - itemAt(cuts, block))
    .sort((one, other) => one - other);
  return lengths[lengths.length >> 1];
}

/** Whether the block behind the one that begins so is like it. */
function alikeBlocks({ graph, costing }: ModelAnalysis, period: number): (begin: number) => boolean {
  const { operators, values } = graph;
  const given = new Set(graph.outputs);
  const valueNamed = (name: string | undefined): Value | undefined => values.get(name ?? '');
  const isSameOperator = (one: Operator, other: Operator): boolean => {
    const [own, like] = [costing.groups[one.index], costing.groups[other.index]];
    if (own !== undefined || like !== undefined) return own === like;
    // Constants of one content may be of several kinds.
    if (!hasTrait(one, 'constant') || !hasTrait(other, 'constant')) return false;
    const [made, likeMade] = [valueNamed(one.outputs[0]), valueNamed(other.outputs[0])];
    return isSameStored(made, likeMade);
  };
  const isSameStored = (one: Value | undefined, other: Value | undefined): boolean =>
    one !== undefined &&
    other !== undefined &&
    one.role === other.role &&
    isSameContent(one.type, other.type) &&
    isSameContent(one.content, other.content);
  return (begin) => {
    const next = begin + period;
    for (let index = begin; index < next; index += 1) {
      const [one, other] = [operators[index], operators[index + period]];
      if (one === undefined || other === undefined || !isSameOperator(one, other)) return false;
      if (one.contradiction !== undefined || one.inputs.length !== other.inputs.length) return false;
      for (const [input, name] of one.inputs.entries()) {
        const like = other.inputs[input] ?? '';
        const [read, likeRead] = [valueNamed(name), valueNamed(like)];
        if (name === like) {
          if (read?.producer !== undefined && read.producer >= begin) return false;
          continue;
        }
        if (read === undefined || likeRead === undefined) return false;
        if (read.producer === undefined || likeRead.producer === undefined) {
          // How many inputs there still are to be read tells blocks apart.
          if (read.producer !== likeRead.producer || read.role === 'input' || !isSameStored(read, likeRead))
            return false;
          if (!isWeight(read.role)) continue;
          if (!likeRead.consumers.every((reader) => reader >= next && reader < next + period)) return false;
        } else if (likeRead.producer - read.producer !== period || likeRead.producer < begin) return false;
      }
      if (
        !other.outputs.every((name, output) => {
          const own = one.outputs[output] ?? '';
          return (
            (name === '') === (own === '') &&
            given.has(name) === given.has(own) &&
            isSameContent(valueNamed(name)?.type, valueNamed(own)?.type) &&
            isSameContent(valueNamed(name)?.content, valueNamed(own)?.content)
          );
        })
      )
        return false;
    }
    return true;
  };
}

/** Whether nothing reads what a block gives but that block, the next one, and what stands behind the last. */
function isClosed({ graph }: ModelAnalysis, { begin, period, count }: BlockRun): boolean {
  const last = begin + (count - 1) * period;
  for (let index = begin; index < last; index += 1) {
    const end = begin + (Math.floor((index - begin) / period) + 2) * period;
    for (const name of graph.operators[index]?.outputs ?? []) {
      if (graph.values.get(name)?.consumers.some((reader) => reader >= end) === true) return false;
    }
  }
  return true;
}

/** A fold of a range of operators: `cut` counts from the begin of the range. */
export function foldOf(run: BlockRun | undefined, { begin, end }: OperatorRange): Fold | undefined {
  if (run === undefined) return undefined;
  const { period } = run;
  const first = Math.max(0, Math.ceil((begin - run.begin) / period));
  const behind = Math.min(run.count, Math.floor((end - run.begin) / period));
  // No rule looks at an operator further than eight up or four down (`repetition/foldGraph.ts`).
  const keptBefore = 2 + Math.ceil(8 / period);
  const keptBehind = 1 + Math.ceil(4 / period);
  const copies = behind - first - keptBefore - keptBehind;
  if (copies < 1) return undefined;
  const cut = run.begin + (first + keptBefore) * period - begin;
  return { count: end - begin, cut, period, copies, keptBefore, keptBehind };
}

/** Whether two ranges hold as many blocks of a run, and nothing else: what is found of one holds for the other. */
export function areAlikeRanges(run: BlockRun | undefined, one: OperatorRange, other: OperatorRange): boolean {
  if (run === undefined) return false;
  const { begin, period, count } = run;
  const isInside = (range: OperatorRange): boolean =>
    range.begin >= begin && range.end <= begin + count * period && (range.begin - begin) % period === 0;
  return isInside(one) && isInside(other) && one.end - one.begin === other.end - other.begin;
}
