/** What each worker computes and exchanges, where several share a copy of a model. */

import type { TrainingGraph } from '../analysis/modelAnalysis.ts';
import type { Bindings } from '../model/dimension.ts';
import { memoizeRecent } from '../model/memoizeRecent.ts';
import { isSameContent } from '../model/sameContent.ts';
import type { ContextExchange } from '../model/scenario.ts';
import { dividedGraph } from './boundMap.ts';
import { contextTraffic } from './contextCollectives.ts';
import { divideContext } from './contextParallel.ts';
import type { AxisDivision } from './division.ts';
import { expertTraffic } from './expertCollectives.ts';
import { expertsOverCopies, spansTensor } from './expertGroups.ts';
import { divideExperts, type ExpertParallel } from './expertParallel.ts';
import type { DividedTraining, ShardedTraining } from './shardedTraining.ts';
import { foldedTraining } from './stageTraining.ts';
import { tensorTraffic } from './tensorCollectives.ts';
import { divideTensors } from './tensorParallel.ts';
import { divideTokens } from './tokenParallel.ts';
import { unfoldSharded } from './unfoldSharded.ts';
import { elementsOver, workerTraining } from './workerTraining.ts';

export interface TensorDegree {
  readonly ways: number;
  /** Split along the sequence between the pairs. */
  readonly sequence: boolean;
  /** What a product reads whole is kept for backward so, and not gathered again. */
  readonly keepsGathered: boolean;
  /** Workers share heads of keys and values where these are fewer (`sharedHeads.ts`); left out, such attention stays whole. */
  readonly sharesHeads?: boolean;
  /** Left out: each worker has the whole sequence. */
  readonly context?: ContextDegree;
  /** Left out: each worker has all experts. */
  readonly expert?: ExpertDegree;
}

export interface ExpertDegree {
  readonly ways: number;
  /** Rows of the busiest worker over the mean. */
  readonly imbalance: number;
}

export interface ContextDegree {
  readonly ways: number;
  readonly exchange: ContextExchange;
}

/**
 * `bindings` are those the graph was bound with. One way gives the graph as it is. The same is given for the same again, so that
 * what is found of it can be kept with it.
 */
export const shardTraining = (
  training: TrainingGraph,
  bindings: Bindings,
  { context, expert, ...degree }: TensorDegree,
): ShardedTraining =>
  shardedRecently(training, {
    bindings,
    // One way exchanges nothing: frameworks that would do so differently have the same worker.
    degree: {
      ...degree,
      ...(context === undefined || context.ways === 1 ? {} : { context }),
      ...(expert === undefined || expert.ways === 1 ? {} : { expert }),
    },
  });

const shardedRecently = memoizeRecent(
  (training: TrainingGraph, { bindings, degree }: ShardingQuestion): ShardedTraining => {
    const whole = foldedTraining(training, 'whole');
    if ([degree, degree.context, degree.expert].every((axis) => (axis?.ways ?? 1) === 1))
      return undivided(whole);
    const { folded } = whole;
    const short = folded && divideTraining(folded, bindings, degree);
    return (short && unfoldSharded(whole, short)) ?? divideTraining(training, bindings, degree);
  },
  isSameContent,
  // One, two, four and eight ways.
  4,
);

interface ShardingQuestion {
  readonly bindings: Bindings;
  readonly degree: TensorDegree;
}

const undivided = (training: TrainingGraph): ShardedTraining => ({
  training,
  collectives: [],
  partialGradients: new Set(),
  whole: [],
  wholeSequence: [],
  cores: [],
  mixtures: [],
});

function divideTraining(
  training: TrainingGraph,
  bindings: Bindings,
  { ways, sequence, keepsGathered, sharesHeads = false, context, expert }: TensorDegree,
): DividedTraining {
  const divided = dividedGraph(training, bindings);
  const { division: pairs, whole } =
    ways === 1 ? { division: undividedWork, whole: [] } : divideTensors(divided, { ways, sharesHeads });
  const tensor: AxisDivision = {
    axis: 'tensor',
    ways,
    division: sequence && ways > 1 ? divideTokens(divided, ways, pairs) : pairs,
  };
  const overSequence =
    context === undefined || context.ways === 1 ? undefined : divideContext(divided, context, tensor);
  const degrees = { tensor: ways, sequence, expert: expert?.ways ?? 1 };
  const experts =
    degrees.expert === 1 ? undefined : divideExperts(divided, degrees.expert, expertsOverCopies(degrees));
  // Rows of experts are those of the tokens that a worker has of its sequences.
  const dense = overSequence === undefined ? [tensor] : [tensor, overSequence.division];
  const axes = [...dense, ...(experts?.divisions ?? [])];
  const elementsOfWorker = (name: string): number => elementsOver(divided, dense, name);
  const elementsBeside = (axis: AxisDivision) => (name: string) =>
    elementsOver(
      divided,
      dense.filter((each) => each !== axis),
      name,
    );
  const { gathered, ...traffic } = tensorTraffic(
    divided,
    tensor.division,
    keepsGathered,
    elementsBeside(tensor),
  );
  return {
    training: workerTraining(
      divided,
      axes,
      { axis: 'tensor', first: keepsGathered ? gathered : new Map() },
      new Map((experts?.mixtures ?? []).map((index) => [index, expert?.imbalance ?? 1])),
    ),
    collectives: [
      ...traffic.collectives,
      ...(overSequence === undefined
        ? []
        : contextTraffic(divided, overSequence, elementsBeside(overSequence.division))),
      ...(experts === undefined
        ? []
        : expertTraffic(divided, experts, expert?.imbalance ?? 1, elementsOfWorker)),
    ],
    partialGradients: spansTensor(degrees)
      ? withoutExperts(traffic.partialGradients, experts)
      : traffic.partialGradients,
    divisions: axes.map(({ division }) => division),
    whole,
    wholeSequence: overSequence?.whole ?? [],
    cores: overSequence?.cores ?? [],
    mixtures: experts?.mixtures ?? [],
  };
}

/** Workers of tensor parallelism that have experts of their own hold no weight of them together. */
const withoutExperts = (
  names: ReadonlySet<string>,
  experts: ExpertParallel | undefined,
): ReadonlySet<string> =>
  new Set([...names].filter((name) => experts?.divisions[0]?.division.values.has(name) !== true));

const undividedWork: AxisDivision['division'] = { values: new Map(), operators: new Map() };
