/**
 * Where a model can be cut into stages of a pipeline, and the cut whose slowest stage is the fastest.
 *
 * A cut lies between two of the blocks that the model repeats; what comes before the first block goes with it, and what comes
 * after the last with that one. Operators of a stage are neighbours in the order of the graph.
 */

import type { ModelAnalysis, TrainingGraph } from '../analysis/modelAnalysis.ts';
import { repeatedBlocks } from '../analysis/repeatedBlocks.ts';
import { floatAt, itemAt } from '../model/at.ts';
import type { Graph } from '../model/graph.ts';
import { memoizeRecent } from '../model/memoizeRecent.ts';
import type { StageCut } from '../model/scenario.ts';
import { sumOf } from '../model/sumOf.ts';
import type { OperatorRange } from './operatorRange.ts';

/**
 * The stages of a model, in its order; `ranks` are the stages of each rank. Numbers say how many blocks each stage has. Stages of like time are those with which the slowest
 * rank takes the least: where ranks have several stages, of the two ways to cut. `undefined` where there are fewer blocks than
 * stages, or numbers do not add up to the blocks. `behind`: the first operator behind the last block.
 */
export function cutIntoStages(
  by: StageCut,
  { cuts, behind }: StageCuts,
  times: Float64Array,
  ranks: readonly (readonly number[])[],
): readonly OperatorRange[] | undefined {
  const count = ranks.reduce((total, own) => total + own.length, 0);
  if (typeof by !== 'string')
    return by.length === count ? givenStages({ cuts, behind }, times.length, by) : undefined;
  const uniform = uniformStages({ cuts, behind }, times.length, count);
  if (by === 'uniform') return uniform;
  if (by === 'torchtitan') return uniformStages({ cuts, behind }, times.length, count, 1);
  const balanced = balancedStages(cuts, times, count);
  if (uniform === undefined || balanced === undefined || count === ranks.length) return balanced;
  const slowest = (ranges: readonly OperatorRange[]): number => {
    const sums = ranges.map(({ begin, end }) => sumOf(times.subarray(begin, end)));
    return Math.max(...ranks.map((own) => own.reduce((total, stage) => total + itemAt(sums, stage), 0)));
  };
  return slowest(uniform) < slowest(balanced) ? uniform : balanced;
}

interface StageCuts {
  readonly cuts: readonly number[];
  readonly behind: number;
}

/** The first operator behind the last block: of the last normalization, or of the head. */
export const behindBlocks = (analysis: ModelAnalysis): number =>
  (placesToCut(analysis).at(-1)?.end ?? -1) + 1;

/** The first operators of blocks, ascending: a stage may begin at each but the first. Empty where no blocks repeat. */
export const cutsOf = (analysis: ModelAnalysis): readonly number[] =>
  placesToCut(analysis).map(({ begin }) => begin);

interface PlaceToCut {
  /** Path of the module that begins here, such as `model.layers.8`. */
  readonly block: string;
  /** Its first operator. */
  readonly begin: number;
  /** Its last. */
  readonly end: number;
}

/** In the order of the model. They are found once for an analysis. */
export const placesToCut = (analysis: ModelAnalysis): readonly PlaceToCut[] => knownPlaces(analysis, 'all');

const knownPlaces = memoizeRecent(
  (analysis: ModelAnalysis, _: 'all') => findPlaces(analysis),
  (known, asked) => known === asked,
);

function findPlaces(analysis: ModelAnalysis): readonly PlaceToCut[] {
  const blocks = repeatedBlocks(analysis);
  if (blocks === undefined) return [];
  const first = new Map<string, number>();
  const last = new Map<string, number>();
  analysis.layers.forEach(({ operators }, layer) => {
    const block = blocks[layer];
    if (block === undefined || operators.length === 0) return;
    for (const index of operators) {
      first.set(block, Math.min(first.get(block) ?? index, index));
      last.set(block, Math.max(last.get(block) ?? index, index));
    }
  });
  const begins = [...first].sort(([, one], [, other]) => one - other);
  // Blocks within one another, or interleaved, cannot be cut apart.
  let end = -1;
  return begins.flatMap(([block, begin]) => {
    const isApart = begin > end;
    end = Math.max(end, last.get(block) ?? begin);
    return isApart ? [{ block, begin, end }] : [];
  });
}

/**
 * The cut into `stages` whose slowest stage takes the least time; `times` are those of operators. By dynamic programming over
 * blocks. `undefined` where there are fewer blocks than stages.
 */
function balancedStages(
  cuts: readonly number[],
  times: Float64Array,
  stages: number,
): readonly OperatorRange[] | undefined {
  const count = cuts.length;
  if (count < stages) return undefined;
  const begins = [0, ...cuts.slice(1), times.length];
  const before = new Float64Array(times.length + 1);
  times.forEach((time, index) => {
    before[index + 1] = floatAt(before, index) + time;
  });
  const timeOf = (from: number, to: number): number =>
    floatAt(before, itemAt(begins, to)) - floatAt(before, itemAt(begins, from));
  /** By stages and blocks: the time of the slowest of so many stages of the first blocks, and where the last begins. */
  let slowest = Array.from({ length: count + 1 }, (_, to) =>
    to === 0 ? Number.POSITIVE_INFINITY : timeOf(0, to),
  );
  const lastBegins: number[][] = [];
  for (let stage = 2; stage <= stages; stage += 1) {
    const starts: number[] = [];
    const known = slowest;
    const timeFrom = (from: number, to: number): number => Math.max(itemAt(known, from), timeOf(from, to));
    slowest = Array.from({ length: count + 1 }, (_, to) => {
      if (to < stage) return Number.POSITIVE_INFINITY;
      // The stages before take longer the more blocks they have, and this one less: the best lies where they meet.
      let [from, behind] = [stage - 1, to - 1];
      while (from < behind) {
        const middle = (from + behind) >> 1;
        if (itemAt(known, middle) >= timeOf(middle, to)) behind = middle;
        else from = middle + 1;
      }
      // Of cuts that take as long the first is taken.
      while (from > stage - 1 && timeFrom(from - 1, to) <= timeFrom(from, to)) from -= 1;
      starts[to] = from;
      return timeFrom(from, to);
    });
    lastBegins.push(starts);
  }
  return rangesOf(begins, chosenBegins(lastBegins, count));
}

/**
 * As many blocks in each stage, as frameworks cut without being told; the remainder goes to the first stages. `ends` are the blocks
 * that the first and the last stage have less of, for the embedding and the head: 1 in torchtitan
 * (torchtitan/distributed/pipeline_parallel.py, `generate_llm_fqn_per_model_part`, with its weights of input and output).
 */
function uniformStages(
  cuts: StageCuts,
  operators: number,
  stages: number,
  ends = 0,
): readonly OperatorRange[] | undefined {
  const all = cuts.cuts.length + 2 * ends;
  const each = Math.floor(all / stages);
  const more = all % stages;
  if (each < Math.max(1, ends)) return undefined;
  const blocks = Array.from({ length: stages }, (_, stage) => {
    const whole = each + (stage < more ? 1 : 0);
    return whole - (stage === 0 ? ends : 0) - (stage === stages - 1 ? ends : 0);
  });
  return givenStages(cuts, operators, blocks);
}

/**
 * Stages of so many blocks. A first stage without a block has what stands before them, a last one what stands behind; `undefined`
 * where a stage has nothing.
 */
function givenStages(
  { cuts, behind }: StageCuts,
  operators: number,
  blocks: readonly number[],
): readonly OperatorRange[] | undefined {
  if (blocks.reduce((total, each) => total + each, 0) !== cuts.length) return undefined;
  let block = 0;
  const begins = blocks.map((own, stage) => {
    const first = block;
    block += own;
    if (stage === 0) return 0;
    return first === cuts.length ? behind : itemAt(cuts, first);
  });
  const ranges = begins.map((begin, stage) => ({ begin, end: begins[stage + 1] ?? operators }));
  return ranges.every(({ begin, end }) => begin < end) ? ranges : undefined;
}

function chosenBegins(lastBegins: readonly (readonly number[])[], count: number): readonly number[] {
  const begins: number[] = [];
  let to = count;
  for (const starts of lastBegins.toReversed()) {
    to = itemAt(starts, to);
    begins.unshift(to);
  }
  return [0, ...begins];
}

function rangesOf(boundaries: readonly number[], begins: readonly number[]): readonly OperatorRange[] {
  const ends = [...begins.slice(1), boundaries.length - 1];
  return begins.map((block, stage) => ({
    begin: itemAt(boundaries, block),
    end: itemAt(boundaries, itemAt(ends, stage)),
  }));
}

/** A tensor that goes from one stage to a later one, and its gradient back. */
export interface CrossingTensor {
  readonly name: string;
  /** Of one worker. */
  readonly elements: number;
  /** Index of the operator of the whole graph that gives it. */
  readonly producer: number;
}

/**
 * What crosses a cut: activations with gradients. What is computed of constants and positions alone each stage computes
 * itself.
 */
export const crossingTensors = (
  { analysis, requiresGradient, tensors }: TrainingGraph,
  cut: number,
): readonly CrossingTensor[] =>
  spansOver(analysis.graph, cut).flatMap(({ name, producer }) => {
    if (!requiresGradient.has(name)) return [];
    const elements = tensors.get(name)?.elements;
    if (elements === undefined || analysis.costing.gradients.isStored(name)) return [];
    return [{ name, elements, producer }];
  });

/** From the operator that gives an activation to the last that reads it. */
interface Span extends Pick<CrossingTensor, 'name' | 'producer'> {
  readonly last: number;
}

/** Those that a cut goes through: the same for all workers, which share a graph. */
const spansOver = memoizeRecent(
  (graph: Graph, cut: number): readonly Span[] =>
    spansOf(graph, 'activations').filter(({ producer, last }) => producer < cut && last >= cut),
  (known, asked) => known === asked,
  // The blocks of deep models.
  256,
);

const spansOf = memoizeRecent(
  ({ values }: Graph, _: 'activations'): readonly Span[] =>
    [...values.values()].flatMap(({ name, role, producer, consumers }) =>
      role === 'activation' && producer !== undefined
        ? [{ name, producer, last: Math.max(-1, ...consumers) }]
        : [],
    ),
  (known, asked) => known === asked,
);
