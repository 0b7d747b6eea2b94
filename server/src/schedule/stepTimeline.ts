/**
 * A training step on its resources, in steady state: the host launches, the GPU computes, messages travel over their
 * channels, the next batches are read and copied.
 *
 * The GPU runs its work in the order it is launched, as a CUDA stream does; a piece starts when it has been launched
 * and what it waits for has arrived. Each step's launches begin when the one before has ended, as in a loop that reads
 * its loss. Where something of one step is used in a later one (prefetched input, parameters that only the next forward
 * needs), steps are laid out until two take the same time. Messages that are kernels themselves slow those beside them.
 *
 * The closed forms of the literature are special cases (Shi, Wang, Chu, arXiv 1711.05979 and 1811.11141): without
 * messages t = t_f + t_b + t_u; with messages after backward t = t_f + t_b + t_c + t_u; with one for each layer, sent
 * while the layer before it back-propagates, the wait-free recursion τ_c(l) = max(τ_c(l+1) + t_c(l+1), τ_b(l) + t_b(l)).
 */

import { type Seconds, seconds } from '../model/units.ts';
import { exposureOfMessages, type Stall, slackOfMessages } from './exposure.ts';
import { createGpuStream } from './gpuStream.ts';
import { createInputSupply, type InputSupply, type SuppliedBatch } from './inputSupply.ts';
import type { StepWork } from './stepWork.ts';
import { createTraffic, type Traffic } from './traffic.ts';

export interface StepTimeline {
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
  readonly messages: readonly SentMessage[];
  /** The batch that comes while the step runs; absent where input is not described. */
  readonly batch?: SuppliedBatch;
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
  /** Of forward and backward: by how much messages that run beside them slow them. */
  readonly slowedTime: Seconds;
  readonly step: Seconds;
}

export interface UpdatePiece {
  readonly time: Seconds;
  readonly end: Seconds;
}

export interface SentMessage {
  /** From the start of the step that issues it; it may end after that step. */
  readonly start: Seconds;
  readonly end: Seconds;
  readonly stages: readonly { readonly channel: number; readonly start: Seconds; readonly end: Seconds }[];
  /** The part for which the GPU waits. */
  readonly exposed: Seconds;
  /** By how much it could end later without anything waiting for it. */
  readonly slack: Seconds;
}

export function stepTimeline(work: StepWork): StepTimeline {
  const order = orderOf(work);
  const mostSteps = order.longestLag > 0 || work.input !== undefined ? settlingSteps + order.longestLag : 1;
  const traffic = createTraffic(work.messages, work.channels, work.slowing);
  const supply = work.input === undefined ? undefined : createInputSupply(work.input);
  const steps: LaidStep[] = [];
  let alike = 1;
  while (steps.length < mostSteps && alike < stepsAlike + order.longestLag) {
    const before = steps.at(-1);
    const step = layStep(work, order, traffic, supply, steps, before?.end ?? 0);
    steps.push(step);
    const isAlike = before !== undefined && isClose(step.end - step.start, before.end - before.start);
    alike = isAlike ? alike + 1 : 1;
  }
  // What the shown step sends for later ones has been waited for by the steps laid out after it.
  const shown = steps.length - 1 - (mostSteps === 1 ? 0 : order.longestLag);
  const isSettled = mostSteps === 1 || alike >= stepsAlike + order.longestLag;
  return shownTimeline(work, traffic, supply, steps, shown, isSettled ? 1 : stepsAveraged);
}

/** Periods settle within a few steps; where steps of two or three kinds alternate, their average is told. */
const settlingSteps = 14;
const stepsAlike = 3;
const stepsAveraged = 6;

const isClose = (left: number, right: number): boolean =>
  Math.abs(left - right) <= 1e-9 * Math.max(left, right);

interface Order {
  /** By work plus 1, the start of the step at 0: messages that may start when it has ended. */
  readonly released: Listed;
  /** By work: messages that it waits for. */
  readonly waitedFor: Listed;
  /** How much of the work has ended where messages are released or waited for. */
  readonly stops: Int32Array;
  /** By message: steps between the one that sends it and the one that waits for it. */
  readonly lags: Int32Array;
  readonly longestLag: number;
  /** What is left of the update beside the shares of messages. */
  readonly sharedUpdate: number;
}

function orderOf({ forward, backward, messages }: StepWork): Order {
  const split = forward.device.length;
  const count = split + backward.device.length;
  const lags = new Int32Array(messages.length);
  const isStop = new Uint8Array(count + 1);
  isStop[split] = 1;
  isStop[count] = 1;
  let longestLag = 0;
  let sharedUpdate = 1;
  messages.forEach(({ after, before, stepsLater, updateShare }, index) => {
    const lag = (before > after ? 0 : 1) + stepsLater;
    lags[index] = lag;
    longestLag = Math.max(longestLag, lag);
    sharedUpdate -= updateShare;
    if (after < count) isStop[after + 1] = 1;
    isStop[before] = 1;
  });
  const stops: number[] = [];
  for (let work = 0; work <= count; work += 1) if (isStop[work] === 1) stops.push(work);
  return {
    released: listedBy(count + 2, messages, ({ after }) => after + 1),
    waitedFor: listedBy(count + 1, messages, ({ before }) => before),
    lags,
    stops: Int32Array.from(stops),
    longestLag,
    sharedUpdate: sharedUpdate > 1e-9 ? sharedUpdate : 0,
  };
}

/** Indices by place: those of `place` lie in `all` from `first[place]` to before `first[place + 1]`, rising. */
interface Listed {
  readonly all: Int32Array;
  readonly first: Int32Array;
}

function listedBy(
  places: number,
  messages: StepWork['messages'],
  placeOf: (message: StepWork['messages'][number]) => number,
): Listed {
  const first = new Int32Array(places + 1);
  for (const message of messages) {
    const place = placeOf(message) + 1;
    first[place] = (first[place] ?? 0) + 1;
  }
  for (let place = 1; place <= places; place += 1) {
    first[place] = (first[place] ?? 0) + (first[place - 1] ?? 0);
  }
  const next = first.slice();
  const all = new Int32Array(messages.length);
  messages.forEach((message, index) => {
    const place = placeOf(message);
    const at = next[place] ?? 0;
    all[at] = index;
    next[place] = at + 1;
  });
  return { all, first };
}

interface LaidStep {
  readonly start: number;
  /** When it has its batch. */
  readonly fed: number;
  readonly end: number;
  readonly forward: Float64Array;
  readonly backward: Float64Array;
  readonly forwardEnds: Float64Array;
  readonly backwardEnds: Float64Array;
  readonly updateTime: number;
  readonly updates: readonly { readonly time: number; readonly end: number }[];
  readonly hostTime: number;
  readonly slowedTime: number;
  readonly stalls: readonly Stall[];
  /** By message: when what waits for it started; infinite where the step ended before. */
  readonly neededAt: Float64Array;
}

function layStep(
  work: StepWork,
  order: Order,
  traffic: Traffic,
  supply: InputSupply | undefined,
  steps: readonly LaidStep[],
  start: number,
): LaidStep {
  const step = steps.length;
  const { forward, backward, messages, update } = work;
  const split = forward.device.length;
  const count = split + backward.device.length;
  const moved = { forward: new Float64Array(split), backward: new Float64Array(count - split) };
  const ends = { forward: new Float64Array(split), backward: new Float64Array(count - split) };
  const neededAt = new Float64Array(messages.length).fill(Number.POSITIVE_INFINITY);
  const stalls: Stall[] = [];
  const fed = supply?.arrival(step, start) ?? start;
  const isHeldByInput = work.input !== undefined && work.input.ahead !== 'reading and copying';
  const isSlowed = work.slowing?.some((share) => share > 0) ?? false;
  const gpu = createGpuStream(fed, isHeldByInput ? fed : start, isSlowed ? traffic.endOfWork : undefined);
  let updateTime = 0;

  const release = (position: number, time: number): void => {
    const { all, first } = order.released;
    const end = first[position + 1] ?? 0;
    for (let at = first[position] ?? 0; at < end; at += 1) traffic.release(step, all[at] ?? 0, time);
  };
  const sentIn = (message: number): number => step - (order.lags[message] ?? 0);
  const arrivalOf = (message: number): number =>
    sentIn(message) < 0 ? 0 : traffic.arrival(sentIn(message), message);
  const waitFor = (message: number, host: number): void => {
    const sent = sentIn(message);
    if (sent < 0) return;
    const arrived = traffic.arrival(sent, message);
    const free = gpu.waitUntil(arrived, host);
    if (arrived > free) stalls.push({ from: free, until: arrived, step: sent, message });
    const needed = sent === step ? neededAt : steps[sent]?.neededAt;
    if (needed !== undefined) needed[message] = Math.max(arrived, free);
  };
  const updates: { time: number; end: number }[] = [];
  const updateBy = (share: number): void => {
    const time = gpu.runPiece(update.device * share, update.host * share);
    updateTime += time;
    if (time > 0) updates.push({ time, end: gpu.freeAt() });
  };
  const shareOf = (message: number): number => messages[message]?.updateShare ?? 0;

  release(0, start);
  let done = 0;
  for (const stop of order.stops) {
    if (stop > done) {
      gpu.run(forward, done, Math.min(stop, split), moved.forward, ends.forward);
      gpu.run(backward, Math.max(done - split, 0), stop - split, moved.backward, ends.backward);
      done = stop;
      release(stop, gpu.freeAt());
    }
    if (stop === count) break;
    const launch = stop < split ? forward.host[stop] : backward.host[stop - split];
    const { all, first } = order.waitedFor;
    const end = first[stop + 1] ?? 0;
    for (let at = first[stop] ?? 0; at < end; at += 1) {
      const message = all[at] ?? 0;
      const share = shareOf(message);
      waitFor(message, share > 0 ? update.host * share : (launch ?? 0));
      if (share > 0) updateBy(share);
    }
  }
  const { all: waiting, first: placed } = order.waitedFor;
  const awaited = waiting.subarray(placed[count], placed[count + 1]);
  const apart = awaited.filter((message) => shareOf(message) > 0);
  for (const message of apart.sort((a, b) => arrivalOf(a) - arrivalOf(b))) {
    waitFor(message, update.host * shareOf(message));
    updateBy(shareOf(message));
  }
  for (const message of awaited) {
    if (shareOf(message) === 0) waitFor(message, update.host * order.sharedUpdate);
  }
  updateBy(order.sharedUpdate);
  release(count + 1, gpu.freeAt());
  return {
    start,
    fed,
    end: gpu.freeAt(),
    forward: moved.forward,
    backward: moved.backward,
    forwardEnds: ends.forward,
    backwardEnds: ends.backward,
    updateTime,
    updates,
    hostTime: gpu.hostTime(),
    slowedTime: gpu.slowedTime(),
    stalls,
    neededAt,
  };
}

/** Times are the average of `averaged` steps, the last of which is the one whose messages and batch are shown. */
function shownTimeline(
  work: StepWork,
  traffic: Traffic,
  supply: InputSupply | undefined,
  steps: readonly LaidStep[],
  shown: number,
  averaged: number,
): StepTimeline {
  const step = steps[shown];
  if (step === undefined) throw new Error('no step was laid out');
  const recent = steps.slice(shown + 1 - averaged, shown + 1);
  const { messages } = work;
  const from = step.start;
  /** Most who ask for a timeline ask for times alone. */
  let sent: readonly SentMessage[] | undefined;
  const stalls = recent.flatMap((one) => one.stalls);
  const mean = (timeOf: (one: LaidStep) => number): Seconds => {
    let total = 0;
    for (const one of recent) total += timeOf(one);
    return seconds(total / averaged);
  };
  const forward = meanColumn(recent.map((one) => one.forward));
  const backward = meanColumn(recent.map((one) => one.backward));
  let communication = 0;
  for (const { stages } of messages) for (const { time } of stages) communication += time;
  const batch = supply?.batches[Math.min(shown + 1, supply.batches.length - 1)];
  return {
    forward,
    backward,
    forwardEnds: fromStart(step.forwardEnds, from),
    backwardEnds: fromStart(step.backwardEnds, from),
    updates: step.updates.map(({ time, end }) => ({ time: seconds(time), end: seconds(end - from) })),
    get messages() {
      sent ??= sentMessages(work, traffic, steps, shown, stalls, averaged);
      return sent;
    },
    ...(batch === undefined ? {} : { batch: shifted(batch, -from) }),
    inputTime: seconds(work.input === undefined ? 0 : work.input.read + work.input.copy),
    exposedInputTime: mean((one) => one.fed - one.start),
    forwardTime: total(forward),
    backwardTime: total(backward),
    communicationTime: seconds(communication),
    exposedTime: seconds(stalls.reduce((sum, stall) => sum + stall.until - stall.from, 0) / averaged),
    updateTime: mean((one) => one.updateTime),
    hostTime: mean((one) => one.hostTime),
    slowedTime: mean((one) => one.slowedTime),
    step: mean((one) => one.end - one.start),
  };
}

function sentMessages(
  { messages }: StepWork,
  { jobs }: Traffic,
  steps: readonly LaidStep[],
  shown: number,
  stalls: readonly Stall[],
  averaged: number,
): readonly SentMessage[] {
  const from = steps[shown]?.start ?? 0;
  const neededAt = steps.map((step) => step.neededAt);
  const exposed = exposureOfMessages(stalls, jobs, messages.length);
  const slack = slackOfMessages(shown, neededAt, jobs, messages.length);
  return messages.map(({ stages }, index) => {
    const job = jobs.jobOf(shown, index);
    const startOf = (stage: number): Seconds => seconds((jobs.start[job + stage] ?? 0) - from);
    const endOf = (stage: number): Seconds => seconds((jobs.end[job + stage] ?? 0) - from);
    return {
      start: startOf(0),
      end: endOf(stages.length - 1),
      stages: stages.map(({ channel }, stage) => ({ channel, start: startOf(stage), end: endOf(stage) })),
      exposed: seconds((exposed[index] ?? 0) / averaged),
      slack: seconds(slack[index] ?? 0),
    };
  });
}

const fromStart = (ends: Float64Array, start: number): Float64Array =>
  start === 0 ? ends : ends.map((end) => end - start);

function meanColumn(columns: readonly Float64Array[]): Float64Array {
  const [first] = columns;
  if (first === undefined || columns.length === 1) return first ?? new Float64Array(0);
  return first.map((_, index) => {
    let sum = 0;
    for (const column of columns) sum += column[index] ?? 0;
    return sum / columns.length;
  });
}

function total(column: Float64Array): Seconds {
  let sum = 0;
  for (let index = 0; index < column.length; index += 1) sum += column[index] ?? 0;
  return seconds(sum);
}

const shifted = ({ readFrom, readUntil, copiedFrom, copiedUntil }: SuppliedBatch, by: number) => ({
  readFrom: readFrom + by,
  readUntil: readUntil + by,
  copiedFrom: copiedFrom + by,
  copiedUntil: copiedUntil + by,
});
