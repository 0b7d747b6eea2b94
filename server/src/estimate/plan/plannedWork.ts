/** What one worker does in a pass of a planned step, as the timeline takes it: with middle, low or high times. */

import type { FrameworkBehaviour } from '../../frameworks/behaviour.ts';
import type { ClusterProfile } from '../../hardware/clusterProfile.ts';
import { floatAt, intAt } from '../../model/at.ts';
import { type Bound, type Estimate, estimateOf } from '../../model/estimate.ts';
import { sumOf } from '../../model/sumOf.ts';
import { type Seconds, seconds } from '../../model/units.ts';
import { type MessageColumns, noMessages } from '../../schedule/messageColumns.ts';
import type { LaunchedWork, StepWork } from '../../schedule/stepWork.ts';
import { givenStepFactors } from './givenStepFactors.ts';
import { inputWork } from './inputWork.ts';
import type { PassTimes, UpdateTimes } from './operatorTimes.ts';
import { exchangesPerStep, passesOf, type StepPlan } from './stepPlan.ts';

/** For which the GPU waits in a step for its host, beside launches. */
export function waitsOf(plan: StepPlan): Estimate<Seconds> {
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

export const slowdownOf = (behaviour: FrameworkBehaviour, { gpu }: ClusterProfile): number =>
  gpu.architecture === 'cpu' ? (behaviour.slowdownOnCpus ?? 1) : 1;

/**
 * A pass before the last of a step: it updates nothing, and mostly sends nothing. While an input is waited for, the update
 * of a whole step takes no time of its own, so that it cannot be taken off afterwards.
 */
export const earlierPass = (plan: StepPlan, work: StepWork, bound: Bound, growth = 1): StepWork => ({
  ...work,
  ...(plan.gradientTimes === undefined || plan.measured !== undefined
    ? {}
    : { backward: backwardOf(plan, bound, growth, slowestOf(plan, bound), plan.gradientTimes.earlier) }),
  ...(exchangesPerStep(plan) === 1
    ? { messages: noMessages, channels: [] }
    : { messages: withoutUpdated(work.messages, plan.training.costs.length) }),
  update: noUpdate,
});

/** What the update gives, such as weights that ZeRO gathers after it, is sent behind the last pass alone: here it takes no time. */
export function withoutUpdated(messages: MessageColumns, operators: number): MessageColumns {
  const update = 2 * operators;
  if (!messages.after.includes(update)) return messages;
  const time = messages.time.map((own, stage) =>
    intAt(messages.after, intAt(messages.messageOf, stage)) === update ? 0 : own,
  );
  return { ...messages, time };
}

export const noUpdate: StepWork['update'] = { device: seconds(0), host: seconds(0) };

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

export function workAlone(plan: StepPlan, bound: Bound, gradients: PassTimes | undefined): StepWork {
  const { training, scenario, cluster, behaviour } = plan;
  const input = inputWork(training, scenario, cluster, { nodes: 1, gpusPerNode: 1 }, behaviour.input);
  const own = plan.ownExchange;
  return {
    ...computeOf(plan, bound, 1, 1, plan.wholeUpdateTimes, gradients),
    messages: own?.traffic.messages(bound) ?? noMessages,
    channels: own?.traffic.channels.map(({ order }) => order) ?? [],
    ...(own === undefined ? {} : { hostWaits: own.exchange.hostWaits ?? false }),
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
    const whole = updateTime(plan.wholeUpdateTimes, 'middle');
    const share = whole === 0 ? 1 : updateTime(updateTimes, 'middle') / whole;
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
      device: seconds((updateTime(updateTimes, bound) + updateWaits(plan, updateTimes)[bound]) * imbalance),
      host: seconds(updateTimes.hostLaunches * launch),
      launches: Math.max(1, floatAt(updateTimes.launches, 0)),
      ...(updateTimes.hostWaits ? { hostWaits: true } : {}),
    },
  };
}

/** By kernels, or by the processors of the host, for which the GPU waits. */
const updateTime = (times: UpdateTimes, bound: Bound): number =>
  times.onHost === undefined ? floatAt(times[bound], 0) : times.onHost[bound];

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
