/** Plans a step: its kernels, what is exchanged, and the update, on each number of GPUs. */

import type { TrainingGraph } from '../../analysis/modelAnalysis.ts';
import { nodesFor, placeGpus } from '../../communication/placement.ts';
import type { FrameworkBehaviour, Update } from '../../frameworks/behaviour.ts';
import { shardsOf } from '../../frameworks/exchange.ts';
import { eagerLaunch, launchWithoutAutograd, leanLaunch } from '../../frameworks/pytorch/eagerLaunch.ts';
import { resolveFramework } from '../../frameworks/registry.ts';
import type { ClusterProfile } from '../../hardware/clusterProfile.ts';
import { findGpu } from '../../hardware/gpus.ts';
import { hostMemoryRate, rateOfThread } from '../../hardware/hostMemory.ts';
import type { KernelWork } from '../../hardware/kernelWork.ts';
import { floatAt } from '../../model/at.ts';
import { type Bound, type Estimate, estimateOf } from '../../model/estimate.ts';
import { lazy } from '../../model/lazy.ts';
import type { LayerMeasurements } from '../../model/measurement.ts';
import type { Optimizer, Scenario } from '../../model/scenario.ts';
import { sumOf } from '../../model/sumOf.ts';
import { totalElements } from '../../model/totalElements.ts';
import { bytes, type Seconds, seconds } from '../../model/units.ts';
import { givenStepFactors } from './givenStepFactors.ts';
import { gradientsInReadyOrder } from './gradients.ts';
import { type GradientTimes, gradientTimes } from './gradientTimes.ts';
import { type HeldTables, heldTables, silentBackward, unlikeOthers, updateOfTables } from './heldTables.ts';
import { inputWork } from './inputWork.ts';
import { type LoweredStep, lowerStep } from './loweredStep.ts';
import { isMeasured, type MeasuredWork, measuredWork } from './measuredWork.ts';
import {
  kernelTimes,
  launchedOneByOne,
  type OperatorTimes,
  type UpdateTimes,
  withoutBackward,
} from './operatorTimes.ts';
import { type PlannedExchange, planExchange, workerGroup } from './plannedExchange.ts';
import { passAlone } from './plannedTimes.ts';
import { slowdownOf } from './plannedWork.ts';
import type { StepPlan } from './stepPlan.ts';
import { surerAsWhole } from './surerPlan.ts';
import { shardOf, updatedTensors } from './updatedTensors.ts';
import { imbalanceFactor, saysHowWorkersDiffer } from './workerImbalance.ts';

/**
 * `measurements` take the place of predicted compute; of a measured step alone, `Scenario.measuredStep` tells. They are
 * those of the slower GPUs where there are two kinds.
 */
export function planStep(
  training: TrainingGraph,
  scenario: Scenario,
  cluster: ClusterProfile,
  measurements?: LayerMeasurements,
): StepPlan {
  const plan = slowestWorkers(predictStep(training, scenario, cluster));
  const given: LayerMeasurements = {
    origin: 'the measured step given',
    layers: new Map(),
    ...measurements,
    ...(scenario.measuredStep === undefined ? {} : { step: scenario.measuredStep }),
  };
  if (!isMeasured(given)) return plan;
  // Measured is one pass and the update.
  const whole = surerAsWhole(plan);
  const alone = estimateOf((bound) => passAlone(whole, bound));
  const measured = measuredWork(given, training.analysis.layers, alone);
  return exchangeAsMeasured(plan, measured);
}

/** Of two kinds of GPUs the plan of those that take longer by themselves, and whose memory is the smaller of both. */
function slowestWorkers(own: StepPlan): StepPlan {
  const { training, scenario, cluster } = own;
  const { others } = scenario.workers ?? {};
  const gpu = others === undefined ? undefined : findGpu(others.gpu);
  if (others === undefined || gpu === undefined || scenario.gpus < 2) return own;
  const other = predictStep(training, scenario, { ...cluster, gpu });
  const count = Math.min(others.count, scenario.gpus - 1);
  return passAlone(other, 'middle').step > passAlone(own, 'middle').step
    ? { ...other, faster: { plan: own, count: scenario.gpus - count } }
    : { ...own, faster: { plan: other, count } };
}

function cumulative(times: Float64Array): Float64Array {
  let end = 0;
  return times.map((time) => {
    end += time;
    return end;
  });
}

/**
 * The same kernels, as measured where they are, on another number of GPUs of the cluster. Of two kinds as many stay the
 * other kind as there are, and at least one of the cluster's own; a single GPU is the slower kind.
 */
export function planForGpus(plan: StepPlan, gpus: number): StepPlan {
  const { training, cluster, measured, faster } = plan;
  const scenario = { ...plan.scenario, gpus, nodes: nodesFor(cluster, gpus) };
  const predicted = predictStep(training, scenario, cluster);
  const slower = measured === undefined ? predicted : exchangeAsMeasured(predicted, measured);
  const { others } = scenario.workers ?? {};
  if (faster === undefined || others === undefined || gpus < 2) return slower;
  const count = Math.min(others.count, gpus - 1);
  const areOthers = faster.plan.cluster.gpu === findGpu(others.gpu);
  return {
    ...slower,
    faster: { plan: planForGpus(faster.plan, gpus), count: areOthers ? count : gpus - count },
  };
}

/** A framework that profiles its steps before it decides what to send together finds the measured ones. */
function exchangeAsMeasured(plan: StepPlan, measured: MeasuredWork): StepPlan {
  const exchanged = planExchange(plan, {
    backwardEnds: () => cumulative(measured.backward.middle.toReversed()),
    backwardLaunches: () =>
      launchEnds(plan.times, plan.behaviour.launch.middle, sumOf(measured.forward.middle)),
  });
  return { ...plan, measured, ...exchanged, imbalance: imbalanceOfGiven(plan, measured) };
}

/** Workers of a step that was measured on one GPU differ as those of others did, where nothing is said of them. */
function imbalanceOfGiven({ imbalance, exchange, scenario }: StepPlan, { given }: MeasuredWork): number {
  const isTold = saysHowWorkersDiffer(scenario.workers);
  return given.step === undefined || exchange.synchrony !== 'synchronous' || isTold
    ? imbalance
    : givenStepFactors(scenario.gpus).middle;
}

/** The kernels of a step, of which a GPU of a group keeps its part of tables. */
interface ComputedStep {
  readonly behaviour: FrameworkBehaviour;
  readonly tables: HeldTables;
  readonly computed: LoweredStep;
}

/**
 * Where nobody says how fast the host launches eager PyTorch: as measured on the cluster, or without a driver on a processor;
 * sooner where no autograd and no autocast stand around a launch.
 */
function hostedBy(
  behaviour: FrameworkBehaviour,
  { framework, mode, precision }: Scenario,
  { gpu, host }: ClusterProfile,
): FrameworkBehaviour {
  if (behaviour.launch !== eagerLaunch || framework.options['launch-us'] !== undefined) return behaviour;
  if (gpu.architecture === 'cpu' && host?.launch === undefined) return { ...behaviour, launch: leanLaunch };
  const launch = host?.launch?.time ?? eagerLaunch;
  const isFull = precision === 'fp32' || precision === 'tf32';
  const isCast = !isFull && behaviour.weightBytesPerElement?.(precision) === 4;
  if (mode === 'training' || isCast) return launch === eagerLaunch ? behaviour : { ...behaviour, launch };
  return { ...behaviour, launch: estimateOf((bound) => seconds(launch[bound] * launchWithoutAutograd)) };
}

/** What is computed alone: nothing is exchanged, nothing updated. */
export function computeStep(
  training: TrainingGraph,
  scenario: Scenario,
  cluster: ClusterProfile,
): ComputedStep {
  const behaviour = hostedBy(resolveFramework(scenario.framework).behaviour, scenario, cluster);
  const tables = heldTables(training, behaviour, scenario.gpus);
  const ahead = lowerStep(training, { behaviour, scenario, gpu: cluster.gpu });
  const lowered =
    behaviour.launchBlocking === true
      ? { ...ahead, times: launchedOneByOne(ahead.times, behaviour.launch) }
      : ahead;
  return {
    behaviour,
    tables,
    computed:
      tables.size === 0
        ? lowered
        : { ...lowered, times: withoutBackward(lowered.times, silentBackward(tables)) },
  };
}

function predictStep(training: TrainingGraph, scenario: Scenario, cluster: ClusterProfile): StepPlan {
  const { behaviour, tables, computed } = computeStep(training, scenario, cluster);
  const learned = scenario.mode === 'training' ? training.analysis.parameters : [];
  const placement = placeGpus(scenario.gpus, scenario.nodes);
  const weightBytesPerElement = behaviour.weightBytesPerElement?.(scenario.precision) ?? 4;
  const profile = lazy(() =>
    backwardProfile(computed.times, behaviour.launch.middle, slowdownOf(behaviour, cluster)),
  );
  const exchangeOn = (gpus: number, nodes: number): PlannedExchange =>
    planExchange(
      {
        training,
        scenario: { ...scenario, gpus },
        cluster,
        placement: placeGpus(gpus, nodes),
        behaviour,
        weightBytesPerElement,
      },
      { backwardEnds: () => profile().ends, backwardLaunches: () => profile().launches },
    );
  const exchanged = exchangeOn(scenario.gpus, scenario.nodes);
  const { exchange } = exchanged;
  const handling = (gpus: number, nodes: number): GradientTimes | undefined =>
    gradientTimes({
      training,
      scenario,
      gpu: cluster.gpu,
      behaviour,
      gradients: gradientsInReadyOrder(training, weightBytesPerElement, unlikeOthers(training, behaviour)),
      group: workerGroup(training, { ...scenario, gpus }, placeGpus(gpus, nodes)),
      shards: exchange.shards,
    });
  const handled = handling(scenario.gpus, scenario.nodes);
  const ownHandled = scenario.gpus === 1 ? handled : handling(1, 1);
  const updated = updatedTensors(training, scenario.optimizer);
  const dense = learned.flatMap((parameter, index) => {
    const tensor = updated[index];
    return tensor === undefined || tables.has(index) ? [] : [{ tensor, ways: parameter }];
  });
  const updateOf = (optimizer: Optimizer, shards: number, held = tables): Update => {
    // Experts are split over fewer GPUs than the rest.
    const tensors = dense.map(({ tensor, ways }) => shardOf(tensor, shardsOf(ways, shards)));
    const own = behaviour.update(dense.length > 0 ? optimizer : 'none', scenario.precision, {
      elements: totalElements(tensors),
      tensors,
    });
    if (tables.size === 0 || learned.length === 0) return own;
    const ofTables = updateOfTables(held, optimizer, weightBytesPerElement, behaviour);
    return {
      ...own,
      kernels: [...own.kernels, ...ofTables.kernels],
      stateBytes: bytes(own.stateBytes + ofTables.stateBytes),
    };
  };
  const own = updateOf(scenario.optimizer, 1);
  // A GPU by itself meets no rows of others.
  const whole = tables.size === 0 ? own : updateOf(scenario.optimizer, 1, heldTables(training, behaviour, 1));
  const isWhole = exchange.update !== 'at servers' && exchange.shards.optimizerState === 1;
  const update = isWhole
    ? own
    : updateOf(
        exchange.update === 'at servers' ? 'none' : scenario.optimizer,
        exchange.shards.optimizerState,
      );
  return {
    training,
    scenario,
    cluster,
    placement,
    behaviour,
    ...computed,
    weightBytesPerElement,
    ...exchanged,
    input: inputWork(training, scenario, cluster, placement, behaviour.input),
    tables,
    imbalance: exchange.synchrony === 'synchronous' ? imbalanceFactor(scenario.workers, scenario.gpus) : 1,
    update,
    ...(handled === undefined ? {} : { gradientTimes: handled }),
    ...(ownHandled === undefined ? {} : { ownGradientTimes: ownHandled }),
    ...(exchange.onHost === undefined ? {} : { ownExchange: exchangeOn(1, 1) }),
    updateTimes: updateTimesOf(cluster, update, placement.gpusPerNode),
    wholeUpdateTimes: updateTimesOf(cluster, whole, 1),
  };
}

/** `sharing`: GPUs of a node, whose processes share the memory of the host. */
function updateTimesOf(
  { gpu, host }: ClusterProfile,
  { kernels, hostWork = 0, hostWaits = false, hostBytes, hostIsOneThread }: Update,
  sharing: number,
): UpdateTimes {
  return {
    ...kernelTimes(gpu, asUpdate(kernels)),
    hostLaunches: kernels.reduce((launches, kernel) => launches + kernel.launches, hostWork),
    hostWaits,
    ...(hostBytes === undefined
      ? {}
      : {
          onHost: hostPassTime(host, hostBytes, sharing, hostIsOneThread === true && sharing > 1),
        }),
  };
}

/** Of one of the processes that share the memory. The faster the memory, the sooner: its low rate gives the high time. */
function hostPassTime(
  host: ClusterProfile['host'],
  size: number,
  sharing: number,
  isOneThread: boolean,
): Estimate<Seconds> {
  const rate = hostMemoryRate(host);
  const timeAt = (bound: Bound): Seconds => {
    const share = rate[bound] / sharing;
    return seconds(size / (isOneThread ? Math.min(share, rateOfThread[bound]) : share));
  };
  return { middle: timeAt('middle'), low: timeAt('high'), high: timeAt('low') };
}

/** Kernels of an update, which machines are measured by apart from others of their kind. */
export const asUpdate = (kernels: readonly KernelWork[]): readonly KernelWork[] =>
  kernels.map((kernel) => ({ ...kernel, purpose: 'update' }));

/** When each position of backward has been launched and ends on a GPU by itself, from the start of backward. */
function backwardProfile(
  times: OperatorTimes,
  launch: number,
  slowdown: number,
): { readonly launches: Float64Array; readonly ends: Float64Array } {
  const { forward, backward } = times;
  let launched = 0;
  let forwardEnd = 0;
  for (let index = 0; index < forward.middle.length; index += 1) {
    launched += floatAt(forward.launches, index) * launch;
    forwardEnd = Math.max(forwardEnd, launched) + floatAt(forward.middle, index) * slowdown;
  }
  const launches = launchEnds(times, launch, forwardEnd);
  let computed = 0;
  const ends = launches.map((time, position) => {
    computed =
      Math.max(computed, time) + floatAt(backward.middle, backward.middle.length - 1 - position) * slowdown;
    return computed;
  });
  return { launches, ends };
}

/** When the host has launched each position of backward, from its start on a GPU that needs `forwardTime` for forward. */
export function launchEnds(
  { forward, backward }: OperatorTimes,
  launch: number,
  forwardTime: number,
): Float64Array {
  const last = backward.launches.length - 1;
  let launched = sumOf(forward.launches) * launch;
  const start = Math.max(launched, forwardTime);
  return Float64Array.from({ length: last + 1 }, (_, position) => {
    launched += floatAt(backward.launches, last - position) * launch;
    return launched - start;
  });
}
