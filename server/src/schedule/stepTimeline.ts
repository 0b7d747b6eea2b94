/**
 * A training step on its resources, in steady state: the host launches, the GPU computes, messages travel over their
 * channels, the next batches are read and copied.
 *
 * The GPU runs its work in the order it is launched, as a CUDA stream does; a piece starts when it has been launched
 * and what it waits for has arrived. Each step's launches begin when the one before has ended, as in a loop that reads
 * its loss. Where something of one step is used in a later one (prefetched input, parameters that only the next forward
 * needs), steps are simulated until they repeat (`steadyState.ts`). Messages that are kernels themselves slow those beside them.
 *
 * The closed forms of the literature are special cases (Shi, Wang, Chu, arXiv 1711.05979 and 1811.11141): without
 * messages t = t_f + t_b + t_u; with messages after backward t = t_f + t_b + t_c + t_u; with one for each layer, sent
 * while the layer before it back-propagates, the wait-free recursion τ_c(l) = max(τ_c(l+1) + t_c(l+1), τ_b(l) + t_b(l)).
 */

import { floatAt, intAt, itemAt } from '../model/at.ts';
import { lazy } from '../model/lazy.ts';
import { sumOf } from '../model/sumOf.ts';
import { type Seconds, seconds } from '../model/units.ts';
import { exposureOfMessages, slackOfMessages } from './exposure.ts';
import type { SuppliedBatch } from './inputSupply.ts';
import type { Jobs } from './jobs.ts';
import type { SimulatedStep } from './simulateStep.ts';
import { type SteadyState, steadyState } from './steadyState.ts';
import type { StepWork } from './stepWork.ts';

/** How long a step takes, and what of it. */
export interface StepTimes {
  /**
   * By how much each piece of work moves the end of the GPU's work, waiting for the host included and for messages
   * not, aligned with the input; they add up to `forwardTime` and `backwardTime`.
   */
  readonly forward: Float64Array;
  readonly backward: Float64Array;
  /** When each piece ends, from the start of the step. */
  readonly forwardEnds: Float64Array;
  readonly backwardEnds: Float64Array;
  /** The update, in one piece or as messages arrive: by how much each piece moves the end, and the end. */
  readonly updates: readonly UpdatePiece[];
  /** Reading, decoding and copying of one batch. */
  readonly inputTime: Seconds;
  /** The part for which the GPU waits. */
  readonly exposedInputTime: Seconds;
  readonly forwardTime: Seconds;
  readonly backwardTime: Seconds;
  /** Of all messages, whatever hides it. */
  readonly communicationTime: Seconds;
  /** For which the GPU waits: t_c^no. With input, forward, backward and update it adds up to the step. */
  readonly exposedTime: Seconds;
  readonly updateTime: Seconds;
  /** Of forward, backward and update: the GPU has nothing to run until the host has launched it. */
  readonly hostTime: Seconds;
  /** Of it, the part in the update. */
  readonly updateHostTime: Seconds;
  /** Of forward and backward: by how much messages that run beside them slow them. */
  readonly slowedTime: Seconds;
  readonly step: Seconds;
}

/**
 * When what travels beside the GPU's work does. All but the exposed parts is worked out when it is first read: what is told of
 * messages that cross the end of the step needs the steps that wait for them.
 */
export interface StepTimeline extends StepTimes {
  /** By message: the part for which the GPU waits. */
  readonly exposed: Float64Array;
  readonly messages: readonly SentMessage[];
  /** A stage of a message, by their places. */
  readonly stageOf: (message: number, stage: number) => SentStage;
  /** The batch that comes while the step runs; `undefined` where input is not described. */
  readonly batch: SuppliedBatch | undefined;
}

export interface UpdatePiece {
  readonly time: Seconds;
  readonly end: Seconds;
}

export interface SentStage {
  readonly channel: number;
  readonly start: Seconds;
  readonly end: Seconds;
}

export interface SentMessage {
  /** From the start of the step that issues it; it may end after that step. */
  readonly start: Seconds;
  readonly end: Seconds;
  /** The part for which the GPU waits. */
  readonly exposed: Seconds;
  /** By how much it could end later without anything waiting for it. */
  readonly slack: Seconds;
}

export function stepTimeline(work: StepWork): StepTimeline {
  const steady = steadyState(work, true);
  const exposed = exposedParts(work, steady);
  const followed = lazy((): SteadyState => {
    steady.follow();
    return steady;
  });
  const messages = lazy(() => sentMessages(work, followed(), exposed));
  const stages = lazy(() => stageOf(work, followed()));
  return {
    ...timesOf(work, steady),
    exposed,
    get messages() {
      return messages();
    },
    stageOf: (message, stage) => stages()(message, stage),
    get batch() {
      return batchDuring(followed());
    },
  };
}

/** The times alone, which is less work. */
export const stepTimes = (work: StepWork): StepTimes => timesOf(work, steadyState(work));

/** They are the average of some steps, the last of which is the one whose messages and batch are shown. */
function timesOf(work: StepWork, { steps, shown, averaged }: SteadyState): StepTimes {
  const step = steps[shown];
  if (step === undefined) throw new Error('no step was laid out');
  const recent = steps.slice(shown + 1 - averaged, shown + 1);
  const from = step.start;
  const mean = (timeOf: (one: SimulatedStep) => number): Seconds => {
    let total = 0;
    for (const one of recent) total += timeOf(one);
    return seconds(total / averaged);
  };
  const forward = meanColumn(recent.map((one) => one.forward));
  const backward = meanColumn(recent.map((one) => one.backward));
  return {
    forward,
    backward,
    forwardEnds: fromStart(step.forwardEnds, from),
    backwardEnds: fromStart(step.backwardEnds, from),
    updates: step.updates.map(({ time, end }) => ({ time: seconds(time), end: seconds(end - from) })),
    inputTime: seconds(work.input === undefined ? 0 : work.input.read + work.input.copy),
    exposedInputTime: mean((one) => one.fed - one.start),
    forwardTime: seconds(sumOf(forward)),
    backwardTime: seconds(sumOf(backward)),
    communicationTime: seconds(sumOf(work.messages.time)),
    exposedTime: mean((one) => one.stalls.reduce((sum, stall) => sum + stall.until - stall.from, 0)),
    updateTime: mean((one) => one.updateTime),
    hostTime: mean((one) => one.hostTime),
    updateHostTime: mean((one) => one.updateHostTime),
    slowedTime: mean((one) => one.slowedTime),
    step: mean((one) => one.end - one.start),
  };
}

function exposedParts({ messages }: StepWork, steady: SteadyState): Float64Array {
  const { steps, shown, averaged } = steady;
  const stalls = steps.slice(shown + 1 - averaged, shown + 1).flatMap((one) => one.stalls);
  const exposed = exposureOfMessages(stalls, recordedJobs(steady), messages.count);
  return averaged === 1 ? exposed : exposed.map((time) => time / averaged);
}

function sentMessages(
  { messages }: StepWork,
  steady: SteadyState,
  exposed: Float64Array,
): readonly SentMessage[] {
  const { steps, shown } = steady;
  const jobs = recordedJobs(steady);
  const from = itemAt(steps, shown).start;
  const neededAt = steps.map((step) => step.neededAt);
  const slack = slackOfMessages(shown, neededAt, jobs, messages.count);
  const { start, end } = jobs;
  const sent: SentMessage[] = [];
  for (let index = 0; index < messages.count; index += 1) {
    sent.push({
      start: seconds(floatAt(start, jobs.jobOf(shown, index)) - from),
      end: seconds(floatAt(end, jobs.jobOf(shown, index + 1) - 1) - from),
      exposed: seconds(floatAt(exposed, index)),
      slack: seconds(floatAt(slack, index)),
    });
  }
  return sent;
}

function stageOf({ messages }: StepWork, steady: SteadyState): StepTimeline['stageOf'] {
  const { start, end, jobOf } = recordedJobs(steady);
  const { steps, shown } = steady;
  const from = itemAt(steps, shown).start;
  return (message, stage) => {
    const job = jobOf(shown, message) + stage;
    return {
      channel: intAt(messages.channel, intAt(messages.firstStage, message) + stage),
      start: seconds(floatAt(start, job) - from),
      end: seconds(floatAt(end, job) - from),
    };
  };
}

function batchDuring({ steps, supply, shown }: SteadyState): SuppliedBatch | undefined {
  const batch = supply?.batches[Math.min(shown + 1, supply.batches.length - 1)];
  return batch && shifted(batch, -itemAt(steps, shown).start);
}

function recordedJobs({ traffic: { jobs } }: SteadyState): Jobs {
  if (jobs === undefined) throw new Error('messages of steps that were not recorded are asked for');
  return jobs;
}

const fromStart = (ends: Float64Array, start: number): Float64Array =>
  start === 0 ? ends : ends.map((end) => end - start);

function meanColumn(columns: readonly Float64Array[]): Float64Array {
  const first = itemAt(columns, 0);
  if (columns.length === 1) return first;
  return first.map((_, index) => {
    let sum = 0;
    for (const column of columns) sum += floatAt(column, index);
    return sum / columns.length;
  });
}

const shifted = ({ readFrom, readUntil, copiedFrom, copiedUntil }: SuppliedBatch, by: number) => ({
  readFrom: readFrom + by,
  readUntil: readUntil + by,
  copiedFrom: copiedFrom + by,
  copiedUntil: copiedUntil + by,
});
