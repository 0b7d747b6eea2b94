/** What a step consists of before it is laid on its timeline: kernels with times, messages with times, the update. */

import type { TrainingGraph } from '../analysis/modelAnalysis.ts';
import { allReduceTime, type CollectiveTime } from '../communication/allReduce.ts';
import { type Placement, placeGpus } from '../communication/placement.ts';
import type { FrameworkBehaviour, LoweredGraph, Message, Update } from '../frameworks/behaviour.ts';
import { resolveFramework } from '../frameworks/registry.ts';
import type { ClusterProfile } from '../hardware/clusterProfile.ts';
import type { Scenario } from '../model/scenario.ts';
import { seconds } from '../model/units.ts';
import { type LaunchedWork, type StepTimeline, stepTimeline } from '../schedule/stepTimeline.ts';
import { gradientsInReadyOrder } from './gradients.ts';
import { kernelTimes, type OperatorTimes, operatorTimes, type PassTimes } from './operatorTimes.ts';

export interface StepPlan {
  readonly training: TrainingGraph;
  readonly scenario: Scenario;
  readonly cluster: ClusterProfile;
  readonly placement: Placement;
  readonly behaviour: FrameworkBehaviour;
  readonly lowered: LoweredGraph;
  readonly times: OperatorTimes;
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
  const lowered = behaviour.lower(training, scenario.precision, scenario.mode);
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
    lowered,
    times: operatorTimes(cluster.gpu, lowered),
    messages,
    collectives: messages.map((message) => allReduceTime(cluster, placement, message.bytes)),
    update,
    updateTimes: kernelTimes(cluster.gpu, update.kernels),
  };
}

/** The plan on its timeline. `growth` scales GPU work of the model, as a larger batch would. */
export function timelineOf(plan: StepPlan, edge: Edge, growth = 1): StepTimeline {
  const launch = plan.behaviour.launch[edge];
  const column = (['middle', 'low', 'high'] as const)[edge];
  const work = (times: PassTimes): LaunchedWork => ({
    device: growth === 1 ? times[column] : times[column].map((time) => time * growth),
    host: times.launches.map((launches) => launches * launch),
  });
  const backward = work(plan.times.backward);
  const trains = plan.scenario.mode === 'training';
  return stepTimeline({
    forward: work(plan.times.forward),
    backward: trains
      ? { device: backward.device.toReversed(), host: backward.host.toReversed() }
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

const timeOfEdge = (collective: CollectiveTime | undefined, edge: Edge) =>
  collective === undefined
    ? seconds(0)
    : edge === 0
      ? collective.time
      : edge === 1
        ? collective.low
        : collective.high;
