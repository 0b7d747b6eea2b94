/** The work of a step before it is simulated: kernels with times, messages with times, the update. */

import type { TrainingGraph } from '../../analysis/modelAnalysis.ts';
import { nodesFor, placeGpus } from '../../communication/placement.ts';
import type { FrameworkBehaviour, Update } from '../../frameworks/behaviour.ts';
import { shardsOf } from '../../frameworks/exchange.ts';
import { eagerLaunch, launchWithoutAutograd, leanLaunch } from '../../frameworks/pytorch/eagerLaunch.ts';
import { resolveFramework } from '../../frameworks/registry.ts';
import type { ClusterProfile } from '../../hardware/clusterProfile.ts';
import { findGpu } from '../../hardware/gpus.ts';
import type { KernelWork } from '../../hardware/kernelWork.ts';
import { floatAt, itemAt } from '../../model/at.ts';
import { type Bound, type Estimate, estimateOf, type Range } from '../../model/estimate.ts';
import { lazy } from '../../model/lazy.ts';
import type { LayerMeasurements } from '../../model/measurement.ts';
import { memoizeRecent } from '../../model/memoizeRecent.ts';
import type { Optimizer, Scenario } from '../../model/scenario.ts';
import { sumOf } from '../../model/sumOf.ts';
import { bytes, type Seconds, seconds, sum } from '../../model/units.ts';
import { noMessages } from '../../schedule/messageColumns.ts';
import { repeatPasses, repeatTimes } from '../../schedule/repeatPasses.ts';
import { type StepTimeline, type StepTimes, stepTimeline, stepTimes } from '../../schedule/stepTimeline.ts';
import type { LaunchedWork, StepWork } from '../../schedule/stepWork.ts';
import { givenStepFactors } from './givenStepFactors.ts';
import { gradientsInReadyOrder } from './gradients.ts';
import { type GradientTimes, gradientTimes, passTimes } from './gradientTimes.ts';
import { type HeldTables, heldTables, silentBackward, unlikeOthers, updateOfTables } from './heldTables.ts';
import { rangeOfCauses } from './independentRange.ts';
import { type InputWork, inputWork } from './inputWork.ts';
import { type LoweredStep, lowerStep } from './loweredStep.ts';
import { isMeasured, type MeasuredWork, measuredWork } from './measuredWork.ts';
import {
  kernelTimes,
  launchedOneByOne,
  type OperatorTimes,
  type PassTimes,
  type UpdateTimes,
  withoutBackward,
} from './operatorTimes.ts';
import { type ExchangingStep, type PlannedExchange, planExchange, workerGroup } from './plannedExchange.ts';
import { spreadTimes, spreadWeights, stepSpread } from './stepSpread.ts';
import { imbalanceFactor, saysHowWorkersDiffer } from './workerImbalance.ts';

export interface StepPlan extends LoweredStep, ExchangingStep, PlannedExchange {
  /** Where the scenario describes the input. */
  readonly input: InputWork | undefined;
  /** Time of the slowest worker over the average. */
  readonly imbalance: number;
  /** Embedding tables whose gradients are rows, or that are sharded. */
  readonly tables: HeldTables;
  readonly update: Update;
  /** Of length 1. */
  readonly updateTimes: UpdateTimes;
  /** The same of a GPU that updates all parameters itself. */
  readonly wholeUpdateTimes: UpdateTimes;
  /** What is done with gradients beside computing them, and by a GPU by itself; left out, nothing. */
  readonly gradientTimes?: GradientTimes;
  readonly ownGradientTimes?: GradientTimes;
  /** In the place of `times`, launches and `updateTimes`. */
  readonly measured?: MeasuredWork;
  /** Where GPUs are of two kinds: the plan is that of the slower kind, this the one of the others. */
  readonly faster?: FasterWorkers;
}

export interface FasterWorkers {
  readonly plan: StepPlan;
  readonly count: number;
}

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
  const exchanged = planExchange(
    { training, scenario, cluster, placement, behaviour, weightBytesPerElement },
    { backwardEnds: () => profile().ends, backwardLaunches: () => profile().launches },
  );
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
  const dense = tables.size === 0 ? learned : learned.filter((_, index) => !tables.has(index));
  const updateOf = (optimizer: Optimizer, shards: number, held = tables): Update => {
    // Experts are split over fewer GPUs than the rest.
    const lengths = dense.map((parameter) => parameter.elements / shardsOf(parameter, shards));
    const own = behaviour.update(dense.length > 0 ? optimizer : 'none', scenario.precision, {
      elements: lengths.reduce((total, length) => total + length, 0),
      lengths,
    });
    if (tables.size === 0 || learned.length === 0) return own;
    const ofTables = updateOfTables(held, optimizer, weightBytesPerElement, behaviour);
    return {
      ...own,
      kernels: [...own.kernels, ...ofTables.kernels],
      stateBytes: bytes(own.stateBytes + ofTables.stateBytes),
      temporaryBytes: own.temporaryBytes,
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
    updateTimes: updateTimesOf(cluster.gpu, update),
    wholeUpdateTimes: updateTimesOf(cluster.gpu, whole),
  };
}

/** For which the GPU waits in a step for its host, beside launches. */
function waitsOf(plan: StepPlan): Estimate<Seconds> {
  const ofUpdate = updateWaits(plan, plan.updateTimes);
  return estimateOf((bound) => seconds(ofUpdate[bound] + passesOf(plan.scenario) * passWaitOf(plan, bound)));
}

/** What passes before a pass forward while the GPU waits. */
const passWaitOf = (
  { behaviour: { passWait }, cluster: { gpu } }: Pick<StepPlan, 'behaviour' | 'cluster'>,
  bound: Bound,
): Seconds => (passWait === undefined || gpu.architecture === 'cpu' ? seconds(0) : passWait[bound]);

/** What passes around the kernels of an update while the GPU waits. */
export function updateWaits(
  { behaviour: { updateWait }, cluster: { gpu } }: Pick<StepPlan, 'behaviour' | 'cluster'>,
  updateTimes: PassTimes,
): Estimate<Seconds> {
  if (updateWait === undefined || gpu.architecture === 'cpu') return estimateOf(() => seconds(0));
  const launches = floatAt(updateTimes.launches, 0);
  return estimateOf((bound) => seconds(launches * updateWait[bound]));
}

const updateTimesOf = (
  gpu: ClusterProfile['gpu'],
  { kernels, hostWork = 0, hostWaits = false }: Update,
): UpdateTimes => ({
  ...kernelTimes(gpu, asUpdate(kernels)),
  hostLaunches: kernels.reduce((launches, kernel) => launches + kernel.launches, hostWork),
  hostWaits,
});

/** Kernels of an update, which machines are measured by apart from others of their kind. */
export const asUpdate = (kernels: readonly KernelWork[]): readonly KernelWork[] =>
  kernels.map((kernel) => ({ ...kernel, purpose: 'update' }));

const slowdownOf = (behaviour: FrameworkBehaviour, { gpu }: ClusterProfile): number =>
  gpu.architecture === 'cpu' ? (behaviour.slowdownOnCpus ?? 1) : 1;

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

/** The plan on its timeline. */
export function timelineOf(plan: StepPlan, bound: Bound): StepTimeline {
  const line = workerTimeline(plan, bound);
  const time = timeInQueue(line, plan);
  if (time === 0) return line;
  const queue = queueOfMessages(plan, bound);
  const exposed = line.exposed.map((own, index) => own + queue(index));
  return {
    ...queued(line, time),
    exposed,
    messages: line.messages.map((message, index) => ({
      ...message,
      exposed: seconds(floatAt(exposed, index)),
      slack: seconds(0),
    })),
  };
}

/** How long each message waits at servers for those of other workers: by what it keeps its server for. */
export function queueOfMessages(plan: StepPlan, bound: Bound): (message: number) => number {
  const time = timeInQueue(workerTimeline(plan, bound), plan);
  if (time === 0) return () => 0;
  const { placement, traffic } = plan;
  const perServerTime = (time * placement.nodes) / timeAtServers(plan);
  return (message) => perServerTime * itemAt(traffic.serverTimes, message);
}

/**
 * The same plan with the bounds of a whole step, in which errors of kernels balance. What was measured keeps its own.
 */
export function surerAsWhole(plan: StepPlan): StepPlan {
  const { times, updateTimes, wholeUpdateTimes, gradientTimes, ownGradientTimes, behaviour, scenario } = plan;
  const range = stepSpread({
    times,
    passes: passesOf(scenario),
    updateTimes,
    ...(gradientTimes === undefined ? {} : { gradientTimes }),
    isTraining: scenario.mode === 'training',
    launch: behaviour.launch,
    waits: waitsOf(plan),
    isOld: behaviour.isOld === true,
  });
  const { middle } = behaviour.launch;
  const { updateWait, passWait } = behaviour;
  const spread = (pass: PassTimes): PassTimes => spreadTimes(pass, range);
  const handled = (own: GradientTimes): GradientTimes => ({
    last: spread(own.last),
    earlier: spread(own.earlier),
  });
  return {
    ...plan,
    behaviour: {
      ...behaviour,
      launch: spreadOf(middle, range),
      ...(updateWait === undefined ? {} : { updateWait: spreadOf(updateWait.middle, range) }),
      ...(passWait === undefined ? {} : { passWait: spreadOf(passWait.middle, range) }),
    },
    times: {
      forward: spread(times.forward),
      backward: spread(times.backward),
      weight: spreadWeights(times.weight, range),
    },
    updateTimes: { ...updateTimes, ...spread(updateTimes) },
    wholeUpdateTimes: { ...wholeUpdateTimes, ...spread(wholeUpdateTimes) },
    ...(gradientTimes === undefined ? {} : { gradientTimes: handled(gradientTimes) }),
    ...(ownGradientTimes === undefined ? {} : { ownGradientTimes: handled(ownGradientTimes) }),
  };
}

const spreadOf = (middle: Seconds, { low, high }: Range): Estimate<Seconds> => ({
  middle,
  low: seconds(middle * low),
  high: seconds(middle * high),
});

/** The range of a step: 80 % of what is measured should lie between. */
export function stepRange(plan: StepPlan): Range<Seconds> {
  const whole = surerAsWhole(plan);
  const stepWith = (computed: Bound, sent: Bound): Seconds => timesOf(whole, computed, 1, sent).step;
  if (plan.scenario.gpus === 1) return { low: stepWith('low', 'low'), high: stepWith('high', 'high') };
  return rangeOfCauses(stepWith);
}

/**
 * Its times alone, which is less work. `growth` scales GPU work of the model, as a larger batch would; `sent` is the bound of
 * what is sent, where that is another.
 */
export const timesOf = (plan: StepPlan, bound: Bound, growth = 1, sent = bound): StepTimes =>
  withQueue(plan, workerTimes(plan, bound, growth, sent));

function withQueue(plan: StepPlan, times: StepTimes): StepTimes {
  const time = timeInQueue(times, plan);
  return time === 0 ? times : queued(times, time);
}

/** Times of the last pass of a step, which exchanges and updates, and of one before it. */
export interface PassesOfStep {
  readonly last: StepTimes;
  readonly earlier: StepTimes;
}

/** The same as `timesOf`, of passes that were laid out already. */
export function timesOfPasses(plan: StepPlan, { last, earlier }: PassesOfStep): StepTimes {
  const passes = passesOf(plan.scenario);
  return withQueue(plan, passes === 1 ? last : repeatTimes(last, earlier, passes));
}

/** The timeline of one worker, without queues at servers that other workers cause. */
export const workerTimeline = (plan: StepPlan, bound: Bound): StepTimeline =>
  plan.exchange.synchrony === 'synchronous' ? simulateWorker(plan, bound) : keptTimeline(plan, bound);

const keptTimeline = memoizeRecent(
  (plan: StepPlan, bound: Bound): StepTimeline => simulateWorker(plan, bound),
  (known, asked) => known === asked,
);

function simulateWorker(plan: StepPlan, bound: Bound): StepTimeline {
  const work = workOf(plan, bound);
  const pass = stepTimeline(work);
  const passes = passesOf(plan.scenario);
  if (passes === 1) return pass;
  return repeatPasses(pass, stepTimeline(earlierPass(plan, work, bound)), passes);
}

export function workerTimes(plan: StepPlan, bound: Bound, growth = 1, sent = bound): StepTimes {
  const work = workOf(plan, bound, growth, sent);
  const pass = stepTimes(work);
  const passes = passesOf(plan.scenario);
  if (passes === 1) return pass;
  return repeatTimes(pass, stepTimes(earlierPass(plan, work, bound, growth)), passes);
}

/**
 * A pass before the last of a step: it updates nothing, and mostly sends nothing. While an input is waited for, the update
 * of a whole step takes no time of its own, so that it cannot be taken off afterwards.
 */
export const earlierPass = (plan: StepPlan, work: StepWork, bound: Bound, growth = 1): StepWork => ({
  ...work,
  ...(plan.gradientTimes === undefined || plan.measured !== undefined
    ? {}
    : { backward: backwardOf(plan, bound, growth, slowestOf(plan, bound), plan.gradientTimes.earlier) }),
  ...(exchangesPerStep(plan) === 1 ? { messages: noMessages, channels: [] } : {}),
  update: noUpdate,
});

const noUpdate: StepWork['update'] = { device: seconds(0), host: seconds(0) };

/** What one worker does in one pass of a step, with middle, low or high times. */
export function workOf(plan: StepPlan, bound: Bound, growth = 1, sent = bound): StepWork {
  const { traffic, input } = plan;
  return {
    ...computeOf(plan, bound, growth, slowestOf(plan, bound), plan.updateTimes, plan.gradientTimes?.last),
    messages: traffic.messages(sent),
    channels: traffic.channels.map(({ order }) => order),
    slowing: traffic.slowing[sent],
    hostWaits: plan.exchange.hostWaits ?? false,
    ...(input === undefined ? {} : { input: input.timed }),
  };
}

/**
 * Of a pass that updates nothing, the gradients of weights, and what is done with them: as long as the GPU computes or the host
 * launches.
 */
export function weightTime(plan: StepPlan, bound: Bound): Seconds {
  const { times, gradientTimes, behaviour, cluster } = plan;
  const handled = gradientTimes?.earlier;
  const device = sumOf(times.weight[bound]) + (handled === undefined ? 0 : sumOf(handled[bound]));
  const launches = sumOf(times.weight.launches) + (handled === undefined ? 0 : sumOf(handled.launches));
  return seconds(
    slowestOf(plan, bound) *
      Math.max(device * slowdownOf(behaviour, cluster), launches * behaviour.launch[bound]),
  );
}

/** Time of the slowest worker over the average; of a step that was measured on one GPU nobody knows what several take. */
function slowestOf({ imbalance, measured, exchange, scenario: { gpus } }: StepPlan, bound: Bound): number {
  if (measured?.given.step === undefined || exchange.synchrony !== 'synchronous') return imbalance;
  const factors = givenStepFactors(gpus);
  return (imbalance * factors[bound]) / factors.middle;
}

/** Passes forward and backward of one step. */
export const passesOf = ({ accumulate }: Scenario): number => accumulate ?? 1;

/** Whether a pass adds its gradients to what is there: those of the passes before, or zeros in those of the step before. */
export const addsToGradients = ({ scenario, behaviour }: Pick<StepPlan, 'scenario' | 'behaviour'>): boolean =>
  scenario.mode === 'training' && (passesOf(scenario) > 1 || behaviour.addsGradients === true);

/**
 * What is sent once in a step (`no_sync` of PyTorch DDP), or, where a GPU keeps a shard of the gradients alone, in each
 * of its passes (FSDP without `no_sync`, DeepSpeed stages 2 and 3).
 */
export const exchangesPerStep = ({ exchange, scenario }: StepPlan): number =>
  exchange.shards.gradients > 1 ? passesOf(scenario) : 1;

/** The plan on one GPU by itself: it sends nothing, updates all parameters, and shares no source of input. */
export function timesAlone(plan: StepPlan, bound: Bound): StepTimes {
  const passes = passesOf(plan.scenario);
  const pass = passAlone(plan, bound);
  if (passes === 1) return pass;
  const earlier = workAlone(plan, bound, plan.ownGradientTimes?.earlier);
  return repeatTimes(pass, stepTimes({ ...earlier, update: noUpdate }), passes);
}

const passAlone = (plan: StepPlan, bound: Bound): StepTimes =>
  stepTimes(workAlone(plan, bound, plan.ownGradientTimes?.last));

function workAlone(plan: StepPlan, bound: Bound, gradients: PassTimes | undefined): StepWork {
  const { training, scenario, cluster, behaviour } = plan;
  const input = inputWork(training, scenario, cluster, { nodes: 1, gpusPerNode: 1 }, behaviour.input);
  return {
    ...computeOf(plan, bound, 1, 1, plan.wholeUpdateTimes, gradients),
    messages: noMessages,
    channels: [],
    ...(input === undefined ? {} : { input: input.timed }),
  };
}

function computeOf(
  plan: StepPlan,
  bound: Bound,
  growth: number,
  imbalance: number,
  updateTimes: UpdateTimes,
  gradients: PassTimes | undefined,
): Pick<StepWork, 'forward' | 'backward' | 'update'> {
  const { behaviour, times, measured } = plan;
  const factor = growth * imbalance;
  if (measured !== undefined) {
    const unlaunched = (device: Float64Array): LaunchedWork => ({
      device,
      host: new Float64Array(device.length),
    });
    const whole = floatAt(plan.wholeUpdateTimes.middle, 0);
    const share = whole === 0 ? 1 : floatAt(updateTimes.middle, 0) / whole;
    return {
      forward: unlaunched(scaled(measured.forward[bound], factor)),
      backward: unlaunched(reversed(measured.backward[bound], factor)),
      update: {
        device: seconds(measured.update[bound] * share * imbalance),
        // What one GPU has launched ahead is launched here when the messages are back.
        host: seconds(
          plan.exchange.hostWaits === true ? updateTimes.hostLaunches * behaviour.launch.middle : 0,
        ),
        launches: Math.max(1, floatAt(updateTimes.launches, 0)),
      },
    };
  }
  const launch = behaviour.launch[bound] * imbalance;
  return {
    forward: {
      device: scaled(times.forward[bound], factor * slowdownOf(behaviour, plan.cluster)),
      host: delayed(scaled(times.forward.launches, launch), passWaitOf(plan, bound) * imbalance),
    },
    backward: backwardOf(plan, bound, growth, imbalance, gradients),
    update: {
      device: seconds((floatAt(updateTimes[bound], 0) + updateWaits(plan, updateTimes)[bound]) * imbalance),
      host: seconds(updateTimes.hostLaunches * launch),
      launches: Math.max(1, floatAt(updateTimes.launches, 0)),
      ...(updateTimes.hostWaits ? { hostWaits: true } : {}),
    },
  };
}

/** Kernels of backward as they are predicted, with what is done with their gradients. */
function backwardOf(
  { behaviour, times, scenario, cluster }: StepPlan,
  bound: Bound,
  growth: number,
  imbalance: number,
  gradients: PassTimes | undefined,
): LaunchedWork {
  if (scenario.mode !== 'training') return { device: new Float64Array(0), host: new Float64Array(0) };
  const launch = behaviour.launch[bound] * imbalance;
  const slowdown = slowdownOf(behaviour, cluster);
  const device = growth * imbalance * slowdown;
  const { backward } = times;
  if (gradients === undefined)
    return { device: reversed(backward[bound], device), host: reversed(backward.launches, launch) };
  return {
    // A larger batch has no more gradients.
    device: reversedSum(backward[bound], device, gradients[bound], imbalance * slowdown),
    host: reversedSum(backward.launches, launch, gradients.launches, launch),
  };
}

/** The first piece comes later. */
const delayed = (host: Float64Array, by: number): Float64Array =>
  by === 0 ? host : host.map((time, index) => (index === 0 ? time + by : time));

/** Kernels of one pass on average, with what it does with its gradients. */
export const passTimesOf = ({ times, gradientTimes: handled, scenario }: StepPlan): OperatorTimes =>
  handled === undefined ? times : passTimes(times, { handled, passes: passesOf(scenario) });

/** What servers take for one exchange of every node. */
export const timeAtServers = ({ placement, traffic }: StepPlan): Seconds =>
  seconds(placement.nodes * sum(traffic.serverTimes));

/**
 * What the faster of two kinds of GPUs wait in every step for the slower: none where there is one kind, or where nobody
 * waits. `step` is that of all.
 */
export const waitingForSlower = ({ faster, exchange }: StepPlan, step: number): Seconds =>
  seconds(
    faster === undefined || exchange.synchrony !== 'synchronous'
      ? 0
      : Math.max(0, step - timesOf(faster.plan, 'middle').step),
  );

/**
 * Workers without a barrier queue where the servers take longer for the exchanges of all than one takes for its step: for
 * so long.
 */
const timeInQueue = ({ step }: StepTimes, plan: StepPlan): number =>
  plan.exchange.synchrony === 'synchronous' ? 0 : Math.max(0, timeAtServers(plan) - step);

const queued = <Times extends StepTimes>(times: Times, time: number): Times => ({
  ...times,
  communicationTime: seconds(times.communicationTime + time),
  exposedTime: seconds(times.exposedTime + time),
  step: seconds(times.step + time),
});

function scaled(column: Float64Array, factor: number): Float64Array {
  if (factor === 1) return column;
  const result = new Float64Array(column.length);
  for (let index = 0; index < column.length; index += 1) result[index] = floatAt(column, index) * factor;
  return result;
}

/** Two columns, each by its factor, in the order backward runs. */
function reversedSum(
  left: Float64Array,
  leftFactor: number,
  right: Float64Array,
  rightFactor: number,
): Float64Array {
  const last = left.length - 1;
  const sums = new Float64Array(last + 1);
  for (let index = 0; index <= last; index += 1)
    sums[index] = floatAt(left, last - index) * leftFactor + floatAt(right, last - index) * rightFactor;
  return sums;
}

/** In the order backward runs. */
function reversed(column: Float64Array, factor: number): Float64Array {
  const last = column.length - 1;
  const result = new Float64Array(last + 1);
  for (let index = 0; index <= last; index += 1) result[index] = floatAt(column, last - index) * factor;
  return result;
}
