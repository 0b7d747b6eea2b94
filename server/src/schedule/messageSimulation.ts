/**
 * Messages on their channels: a discrete-event simulation in which a channel carries one message at a time.
 *
 * It runs only as far as someone asks for the arrival of a message. Whoever asks waits, so that nothing new is released
 * before that arrival: what the channels choose from is then always known.
 */

import { floatAt, intAt } from '../model/at.ts';
import type { Pace } from './gpuStream.ts';
import { type Jobs, longer, Records } from './jobs.ts';
import type { MessageColumns } from './messageColumns.ts';
import { createQueue } from './queue.ts';
import type { ChannelOrder } from './stepWork.ts';

export interface MessageSimulation {
  /** The message of a step may start at `time`; times never decrease from call to call. */
  readonly release: (step: number, message: number, time: number) => void;
  /** When a released message has passed its last stage. */
  readonly arrival: (step: number, message: number) => number;
  /**
   * When kernels end that begin at `start` and take `work` by themselves, slowed while messages are on their way. Nothing
   * may be released before that end, and nothing asked for that arrives after `start`.
   */
  readonly endOfWork: (start: number, work: number) => number;
  /** How kernels are slowed, until something happens next. */
  readonly pace: Pace;
  /**
   * What is outstanding when `step` begins at `time`, relative to it. Steps that begin with the same repeat.
   * Nothing may be released before `time` any more.
   */
  readonly outstanding: (step: number, time: number) => Outstanding;
  /** The stages of the messages of all steps as jobs of channels; `undefined` where they are not recorded. */
  readonly jobs: Jobs | undefined;
}

/** Jobs are counted from the first one of the step that begins, so that those of steps before are negative. */
export interface Outstanding {
  /** By channel the one it carries, then all that wait in the order they would be taken, closed by `noJob`. */
  readonly jobs: readonly number[];
  /** By channel, how much longer it carries its job; 0 where it is free. */
  readonly left: readonly number[];
}

const noJob = Number.NEGATIVE_INFINITY;
const never = Number.POSITIVE_INFINITY;

/** `steps`: how many are usually simulated. */
export function createMessageSimulation(
  messages: MessageColumns,
  channels: readonly ChannelOrder[],
  slowing: readonly number[] = [],
  { steps = 1, isRecorded = false }: { readonly steps?: number; readonly isRecorded?: boolean } = {},
): MessageSimulation {
  const { firstStage: first, messageOf, channel: channelOf, time: durationOf, rank, ranks } = messages;
  const perStep = durationOf.length;
  const records = isRecorded ? new Records(perStep, first, messageOf) : undefined;
  let capacity = 0;
  /** By step and message: when it has passed its last stage, where that is known. */
  let arrived = new Float64Array(0);
  let links = new Int32Array(0);
  /** Jobs released, and when; those from `taken` to before `given` are not yet in a queue. */
  let released = new Int32Array(0);
  let releasedAt = new Float64Array(0);
  const queued = { taken: 0, given: 0 };
  const holdStep = (step: number): void => {
    if (step < capacity) return;
    capacity = Math.max(steps, 2 * capacity);
    arrived = longer(arrived, new Float64Array(messages.count * capacity).fill(never));
    links = longer(links, new Int32Array(perStep * capacity));
    released = longer(released, new Int32Array(messages.count * capacity));
    releasedAt = longer(releasedAt, new Float64Array(messages.count * capacity));
    records?.hold(capacity);
  };
  const jobOf = (step: number, message: number): number => step * perStep + intAt(first, message);
  /** The job of the first step that it is like. */
  const kindOf = (job: number): number => (job < perStep ? job : job % perStep);

  const queues = channels.map((order) => createQueue(order === 'first come' ? 1 : ranks));
  const count = channels.length;
  const isByPriority = Int32Array.from(channels, (order) => (order === 'first come' ? 0 : 1));
  const running = new Int32Array(count).fill(-1);
  /** Of the records: what each channel carried last. */
  const last = new Int32Array(count).fill(-1);
  /** By channel: when it has carried its job. */
  const busyUntil = new Float64Array(count).fill(never);
  const shares = Float64Array.from(channels, (_, channel) => slowing[channel] ?? 0);
  const pace = { until: never, factor: 1 };

  const enqueue = (job: number, kind: number): void => {
    const channel = intAt(channelOf, kind);
    queues[channel]?.push(job, isByPriority[channel] === 1 ? intAt(rank, intAt(messageOf, kind)) : 0, links);
  };
  /** All that happens next, at one time: jobs end, released ones and next stages queue, free channels take what goes first. */
  const pass = (): void => {
    const time = pace.until;
    for (let channel = 0; channel < count; channel += 1) {
      if ((busyUntil[channel] ?? never) > time) continue;
      const job = intAt(running, channel);
      running[channel] = -1;
      busyUntil[channel] = never;
      const kind = kindOf(job);
      if (messageOf[kind + 1] === messageOf[kind]) {
        if (records !== undefined) records.ready[job + 1] = time;
        enqueue(job + 1, kind + 1);
      }
    }
    const { given } = queued;
    let { taken } = queued;
    for (; taken < given; taken += 1) {
      const at = floatAt(releasedAt, taken);
      if (at > time) break;
      const job = intAt(released, taken);
      if (records !== undefined) records.ready[job] = at;
      enqueue(job, kindOf(job));
    }
    queued.taken = taken;
    // A literal: with `never`, which V8 does not know to be a number here, each time it takes would be one on the heap.
    let next = Number.POSITIVE_INFINITY;
    if (taken < given) next = floatAt(releasedAt, taken);
    let slowdown = 0;
    for (let channel = 0; channel < count; channel += 1) {
      if (intAt(running, channel) < 0) {
        const job = queues[channel]?.pop(links) ?? -1;
        if (job < 0) continue;
        running[channel] = job;
        const kind = kindOf(job);
        const until = time + floatAt(durationOf, kind);
        busyUntil[channel] = until;
        if (records !== undefined) {
          records.start[job] = time;
          records.end[job] = until;
          records.previous[job] = intAt(last, channel);
          records.started[records.startedCount] = job;
          records.startedCount += 1;
          last[channel] = job;
        }
        const message = intAt(messageOf, kind);
        if (messageOf[kind + 1] !== message) {
          arrived[((job - kind) / perStep) * messages.count + message] = until;
        }
      }
      const until = busyUntil[channel] ?? never;
      if (until < next) next = until;
      const share = floatAt(shares, channel);
      if (share > slowdown) slowdown = share;
    }
    pace.until = next;
    pace.factor = 1 + slowdown;
  };
  return {
    pace,
    endOfWork: (start, work) => {
      let time = start;
      let left = work;
      while (left > 0) {
        while (pace.until <= time) pass();
        const { until: next, factor } = pace;
        const done = time + left * factor;
        if (done <= next) return done;
        left -= (next - time) / factor;
        time = next;
      }
      return time;
    },
    release: (step, message, time) => {
      const job = jobOf(step, message);
      if (job === jobOf(step, message + 1)) return;
      holdStep(step);
      released[queued.given] = job;
      releasedAt[queued.given] = time;
      queued.given += 1;
      if (time < pace.until) pace.until = time;
    },
    arrival: (step, message) => {
      const at = step * messages.count + message;
      // Without stages it arrives at once.
      if (first[message + 1] === first[message]) return 0;
      while ((arrived[at] ?? never) === never) {
        // A time that is no number compares with nothing: it would be waited for forever.
        if (!(pace.until < never)) throw new Error('a message is waited for that was never sent');
        pass();
      }
      return floatAt(arrived, at);
    },
    outstanding: (step, time) => {
      while (pace.until < time) pass();
      const begin = step * perStep;
      const jobs: number[] = [];
      for (let channel = 0; channel < count; channel += 1) {
        const job = intAt(running, channel);
        jobs.push(job < 0 ? noJob : job - begin);
        for (const waiting of queues[channel]?.waiting(links) ?? []) jobs.push(waiting - begin);
        jobs.push(noJob);
      }
      // What is released and not yet queued became ready at `time` itself.
      for (let at = queued.taken; at < queued.given; at += 1) jobs.push(intAt(released, at) - begin);
      return { jobs, left: Array.from(busyUntil, (until) => (until === never ? 0 : until - time)) };
    },
    jobs: records,
  };
}
