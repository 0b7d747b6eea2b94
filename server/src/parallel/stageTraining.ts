/**
 * The training graph of one stage of a pipeline: some operators in a row, with the tensors that come in and go out. Where it repeats
 * a block, it has the same with most of the blocks left out, which costs the same to find.
 */

import type { Folded, ModelAnalysis, TrainingGraph } from '../analysis/modelAnalysis.ts';
import { type Fold, foldedIndex } from '../analysis/repetition/foldGraph.ts';
import { entryAt } from '../model/at.ts';
import { memoizeRecent } from '../model/memoizeRecent.ts';
import { isSameContent } from '../model/sameContent.ts';
import { type BlockRun, blockRun, foldOf } from './blockRun.ts';
import { analysisLike, analysisOfPart, type GraphPart, ofPart } from './graphPart.ts';
import type { OperatorRange } from './operatorRange.ts';
import { cutsOf } from './pipelineStages.ts';

/** The same is given for the same again, so that what is found of it can be kept with it. */
export const stageTraining = memoizeRecent(
  (training: TrainingGraph, range: OperatorRange): TrainingGraph =>
    foldTraining(partTraining(training, range), training, range),
  (known, asked) => known.begin === asked.begin && known.end === asked.end,
  // Pipelines of two to sixty-four stages.
  128,
);

/** The graph of a stage that has the same blocks as `like`, and nothing else: that one with its own layers and parameters. */
export const likeStage = (
  training: TrainingGraph,
  range: OperatorRange,
  like: TrainingGraph,
): TrainingGraph => ({
  ...like,
  analysis: analysisLike(training.analysis, { part: range, like: like.analysis }),
});

/** A whole training graph with its fold; the graph itself where no blocks repeat. */
export const foldedTraining = memoizeRecent(
  (training: TrainingGraph, _: 'whole'): TrainingGraph =>
    foldTraining(training, training, { begin: 0, end: training.costs.length }),
  (known, asked) => known === asked,
);

/** `own` is the training graph of a range of operators of the whole. */
function foldTraining(own: TrainingGraph, whole: TrainingGraph, range: OperatorRange): TrainingGraph {
  const run = blockRun(whole.analysis, cutsOf(whole.analysis));
  const fold = foldOf(run, range);
  if (run === undefined || fold === undefined) return own;
  const folded = shortTraining(whole, shortestPart(run, range, fold));
  return { ...own, analysis: withFold(own.analysis, { fold, short: folded.analysis }), folded };
}

/** Stages of all pipelines have these few in common: what is found of one is kept with it for all. */
const shortTraining = memoizeRecent(partTraining, isSameContent, 16);

/**
 * The part of the shortest range that is the same with most of its blocks left out: stages that begin and end alike differ in
 * how many blocks they leave out, and in where they lie.
 */
function shortestPart(run: BlockRun, range: OperatorRange, fold: Fold): GraphPart {
  const { period, begin, count } = run;
  const beginsInside = range.begin > begin && (range.begin - begin) % period === 0;
  const endsInside = range.end < begin + count * period;
  const length = range.end - range.begin - (fold.copies - 1) * period;
  // The first block and the last may meet other things outside of the run.
  const from = !beginsInside ? range.begin : endsInside ? begin + period : range.end - length;
  const shortest = { begin: from, end: from + length };
  const own = beginsInside || endsInside ? foldOf(run, shortest) : undefined;
  return own === undefined || own.cut !== fold.cut ? { ...range, fold } : { ...shortest, fold: own };
}

function partTraining(training: TrainingGraph, part: GraphPart): TrainingGraph {
  const { batch, costs, tensors, requiresGradient, analysis } = training;
  return {
    analysis: analysisOfPart(analysis, part),
    batch,
    costs: ofPart(costs, part),
    tensors,
    requiresGradient,
  };
}

interface ShortAnalysis {
  readonly fold: Fold;
  readonly short: ModelAnalysis;
}

const withFold = memoizeRecent(
  (analysis: ModelAnalysis, { fold, short }: ShortAnalysis): ModelAnalysis => ({
    ...analysis,
    folded: { analysis: short, layout: fold, layers: layersIn(analysis, fold, short), ...origins(analysis) },
  }),
  (known, asked) => known.short === asked.short,
);

/** By layer of the whole analysis, that of the folded one which it is like. */
function layersIn({ layers }: ModelAnalysis, fold: Fold, short: ModelAnalysis): Int32Array {
  const layerOf = new Map<number, number>();
  short.layers.forEach(({ operators }, layer) => {
    for (const index of operators) layerOf.set(index, layer);
  });
  return Int32Array.from(layers, ({ operators: [first] }) =>
    first === undefined ? 0 : entryAt(layerOf, foldedIndex(fold, first)),
  );
}

function origins({ graph: { operators } }: ModelAnalysis): Pick<Folded, 'nameOf' | 'sourceOf'> {
  return {
    nameOf: (index) => {
      const operator = operators[index];
      return operator === undefined ? '' : operator.name || (operator.outputs[0] ?? operator.type);
    },
    sourceOf: (index) => operators[index]?.source,
  };
}
