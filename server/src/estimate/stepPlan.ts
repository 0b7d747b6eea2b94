/** What a step consists of before it is laid on its timeline: kernels with times, messages with times, the update. */

import { isSettled, unfoldColumn, unfoldList } from '../analysis/folding/foldGraph.ts';
import type { TrainingGraph } from '../analysis/modelAnalysis.ts';
import { allReduceTime, type CollectiveTime } from '../communication/allReduce.ts';
import { type Placement, placeGpus } from '../communication/placement.ts';
import type { FrameworkBehaviour, LoweredGraph, Message, Update } from '../frameworks/behaviour.ts';
import { resolveFramework } from '../frameworks/registry.ts';
import type { ClusterProfile } from '../hardware/clusterProfile.ts';
import type { Scenario } from '../model/scenario.ts';
import { seconds } from '../model/units.ts';
import { type StepTimeline, stepTimeline } from '../schedule/stepTimeline.ts';
import { gradientsInReadyOrder } from './gradients.ts';
import {
  kernelTimes,
  type OperatorTimes,
  operatorTimes,
  type PassTimes,
  unfoldTimes,
} from './operatorTimes.ts';
import { type SavedBytes, savedBytes } from './stepMemory.ts';

export interface StepPlan {
  readonly training: TrainingGraph;
  readonly scenario: Scenario;
  readonly cluster: ClusterProfile;
  readonly placement: Placement;
  readonly behaviour: FrameworkBehaviour;
  readonly lowered: LoweredGraph;
  readonly times: OperatorTimes;
  readonly saved: SavedBytes;
  /** Where blocks repeat and are lowered alike: the graph with most of them left out. */
  readonly folded?: { readonly training: TrainingGraph; readonly lowered: LoweredGraph };
  /** Empty where nothing is sent. */
  readonly messages: readonly Message[];
  /** Aligned with `messages`. */
  readonly collectives: readonly CollectiveTime[];
  readonly update: Update;
  /** Of length 1. */
  readonly updateTimes: PassTimes;
}

/** Middle, low and high values of every time. */
export type Edge = 0 | 1 | 2;

export function planStep(training: TrainingGraph, scenario: Scenario, cluster: ClusterProfile): StepPlan {
  const { behaviour } = resolveFramework(scenario.framework);
  const learns = scenario.mode === 'training';
  const placement = placeGpus(scenario.gpus, scenario.nodes);
  const messages = learns && scenario.gpus > 1 ? behaviour.pack(gradientsInReadyOrder(training)) : [];
  const { parameters } = training.analysis;
  const update = behaviour.update(learns ? scenario.optimizer : 'none', scenario.precision, {
    elements: parameters.reduce((total, { elements }) => total + elements, 0),
    tensors: parameters.length,
  });
  return {
    training,
    scenario,
    cluster,
    placement,
    behaviour,
    ...lowerFolded(training, behaviour, scenario, cluster),
    messages,
    collectives: collectiveTimes(messages, cluster, placement),
    update,
    updateTimes: kernelTimes(cluster.gpu, update.kernels),
  };
}

type LoweredPlan = Pick<StepPlan, 'lowered' | 'times' | 'saved' | 'folded'>;

/** Kernels and their times; where blocks repeat, those of one block for all. */
function lowerFolded(
  training: TrainingGraph,
  behaviour: FrameworkBehaviour,
  scenario: Scenario,
  cluster: ClusterProfile,
): LoweredPlan {
  const lower = (graph: TrainingGraph): LoweredPlan => {
    const lowered = behaviour.lower(graph, scenario.precision, scenario.mode);
    return { lowered, times: operatorTimes(cluster.gpu, lowered), saved: savedBytes(lowered) };
  };
  const places = training.analysis.folded?.places;
  if (training.folded === undefined || places === undefined) return lower(training);
  const { lowered, times, saved } = lower(training.folded);
  const columns = [
    ...Object.values<Float64Array>({ ...times.forward }),
    ...Object.values<Float64Array>({ ...times.backward }),
    saved.activations,
    saved.weightCopies,
  ];
  const areAlike = (index: number, other: number): boolean => {
    const [left, right] = [lowered.operators[index], lowered.operators[other]];
    return (
      left?.numeric === right?.numeric &&
      left?.width === right?.width &&
      left?.view === right?.view &&
      left?.inside === right?.inside &&
      columns.every((column) => column[index] === column[other])
    );
  };
  // What autocast and memory remember from earlier operators settles within a block or two; where it does not,
  // the whole graph is lowered.
  if (lowered.recomputedBytes > 0 || !isSettled(places, areAlike)) return lower(training);
  return {
    lowered: { ...lowered, operators: unfoldList(places, lowered.operators) },
    times: unfoldTimes(places, times),
    saved: {
      activations: unfoldColumn(places, saved.activations),
      weightCopies: unfoldColumn(places, saved.weightCopies),
    },
    folded: { training: training.folded, lowered },
  };
}

/** Buckets are mostly of one size; each size is timed once. */
function collectiveTimes(
  messages: readonly Message[],
  cluster: ClusterProfile,
  placement: Placement,
): readonly CollectiveTime[] {
  const times = new Map<number, CollectiveTime>();
  return messages.map(({ bytes }) => {
    let time = times.get(bytes);
    if (time === undefined) {
      time = allReduceTime(cluster, placement, bytes);
      times.set(bytes, time);
    }
    return time;
  });
}

/** The plan on its timeline. `growth` scales GPU work of the model, as a larger batch would. */
export function timelineOf(plan: StepPlan, edge: Edge, growth = 1): StepTimeline {
  const launch = plan.behaviour.launch[edge];
  const column = (['middle', 'low', 'high'] as const)[edge];
  const { forward, backward } = plan.times;
  const trains = plan.scenario.mode === 'training';
  return stepTimeline({
    forward: { device: scaled(forward[column], growth), host: scaled(forward.launches, launch) },
    backward: trains
      ? {
          device: scaled(backward[column].toReversed(), growth),
          host: scaled(backward.launches.toReversed(), launch),
        }
      : { device: new Float64Array(0), host: new Float64Array(0) },
    messages: plan.messages.map((message, index) => ({
      time: timeOfEdge(plan.collectives[index], edge),
      readyAfter: message.readyAfter,
    })),
    update: {
      device: seconds(plan.updateTimes[column][0] ?? 0),
      host: seconds((plan.updateTimes.launches[0] ?? 0) * launch),
    },
    overlap: plan.behaviour.overlap,
  });
}

function scaled(column: Float64Array, factor: number): Float64Array {
  if (factor === 1) return column;
  const result = new Float64Array(column.length);
  for (let index = 0; index < column.length; index += 1) result[index] = (column[index] ?? 0) * factor;
  return result;
}

const timeOfEdge = (collective: CollectiveTime | undefined, edge: Edge) =>
  collective === undefined
    ? seconds(0)
    : edge === 0
      ? collective.time
      : edge === 1
        ? collective.low
        : collective.high;
