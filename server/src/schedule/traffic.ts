/**
 * Messages on their channels: a discrete-event simulation in which a channel carries one message at a time.
 *
 * It runs only as far as someone asks for the arrival of a message. Whoever asks waits, so that nothing new is released
 * before that arrival: what the channels choose from is then always known.
 */

import { createQueue, ranksOf } from './queue.ts';
import type { ChannelOrder, TimedMessage } from './stepWork.ts';

export interface Traffic {
  /** The message of a step may start at `time`; times never decrease from call to call. */
  readonly release: (step: number, message: number, time: number) => void;
  /** When a released message has passed its last stage. */
  readonly arrival: (step: number, message: number) => number;
  /**
   * When kernels end that begin at `start` and take `work` by themselves, slowed while messages are on their way. Nothing
   * may be released before that end, and nothing asked for that arrives after `start`.
   */
  readonly endOfWork: (start: number, work: number) => number;
  /**
   * What is on its way at `time`, where `step` begins, told from there: two steps that begin with the same go on alike.
   * Nothing may be released before `time` any more.
   */
  readonly outstanding: (step: number, time: number) => Outstanding;
  /** The stages of the messages of all steps as jobs of channels. */
  readonly jobs: Jobs;
}

/** Jobs are counted from the first one of the step that begins, so that those of steps before are negative. */
export interface Outstanding {
  /** By channel the one it carries, then all that wait in the order they would be taken, closed by `noJob`. */
  readonly jobs: readonly number[];
  /** By channel, how much longer it carries its job; 0 where it is free. */
  readonly left: readonly number[];
}

/**
 * Columns by job; the job of stage k of a message of a step is `jobOf(step, message) + k`. They grow with the steps, so
 * that a column is asked for where it is used.
 */
export interface Jobs {
  readonly jobOf: (step: number, message: number) => number;
  readonly perStep: number;
  /** By job of a step. */
  readonly messageOf: Int32Array;
  readonly ready: Float64Array;
  readonly start: Float64Array;
  readonly end: Float64Array;
  /** The job that had the channel before, −1 for none. */
  readonly previous: Int32Array;
  /** In the order they started. */
  readonly started: readonly number[];
}

const noJob = Number.NEGATIVE_INFINITY;
const never = Number.POSITIVE_INFINITY;

export function createTraffic(
  messages: readonly TimedMessage[],
  channels: readonly ChannelOrder[],
  slowing: readonly number[] = [],
): Traffic {
  const { first, perStep, channelOf, durationOf, messageOf, rankOf, ranks } = jobsOf(messages, channels);
  let capacity = 0;
  let ready = new Float64Array(0);
  let start = new Float64Array(0);
  let end = new Float64Array(0);
  let previous = new Int32Array(0);
  let links = new Int32Array(0);
  const started: number[] = [];
  /** Steps mostly settle within a few. */
  const holdStep = (step: number): void => {
    if (step < capacity) return;
    capacity = Math.max(step + 1, 2 * capacity);
    const size = perStep * capacity;
    const held = end.length;
    ready = longer(ready, new Float64Array(size));
    start = longer(start, new Float64Array(size));
    end = longer(end, new Float64Array(size)).fill(never, held);
    previous = longer(previous, new Int32Array(size));
    links = longer(links, new Int32Array(size));
  };
  const jobOf = (step: number, message: number): number => step * perStep + (first[message] ?? 0);

  const queues = channels.map((order) => createQueue(order === 'first come' ? 1 : ranks));
  const count = channels.length;
  const isByPriority = Int32Array.from(channels, (order) => (order === 'first come' ? 0 : 1));
  const running = new Int32Array(count).fill(-1);
  /** By channel: when it has carried its job. */
  const busyUntil = new Float64Array(count).fill(never);
  const last = new Int32Array(count).fill(-1);
  /** Jobs released and not yet in a queue are those from `taken`. */
  const released: number[] = [];
  let taken = 0;
  /** When something happens next. */
  let upcoming = never;
  const isSlowing = slowing.some((share) => share > 0);
  /** By how much longer kernels take as things are. */
  let factor = 1;

  const enqueue = (job: number, kind: number, time: number): void => {
    ready[job] = time;
    const channel = channelOf[kind] ?? 0;
    queues[channel]?.push(job, isByPriority[channel] === 1 ? (rankOf[kind] ?? 0) : 0, links);
  };
  /** All that happens at `upcoming`: jobs end, released ones and next stages queue, free channels take what goes first. */
  const pass = (): void => {
    const time = upcoming;
    for (let channel = 0; channel < count; channel += 1) {
      if ((busyUntil[channel] ?? never) > time) continue;
      const job = running[channel] ?? 0;
      running[channel] = -1;
      busyUntil[channel] = never;
      const kind = job % perStep;
      if (messageOf[kind + 1] === messageOf[kind]) enqueue(job + 1, kind + 1, time);
    }
    while (taken < released.length) {
      const job = released[taken] ?? 0;
      const at = ready[job] ?? 0;
      if (at > time) break;
      enqueue(job, job % perStep, at);
      taken += 1;
    }
    let next = taken < released.length ? (ready[released[taken] ?? 0] ?? never) : never;
    for (let channel = 0; channel < count; channel += 1) {
      if ((running[channel] ?? 0) < 0) {
        const job = queues[channel]?.pop(links) ?? -1;
        if (job < 0) continue;
        running[channel] = job;
        previous[job] = last[channel] ?? -1;
        last[channel] = job;
        start[job] = time;
        const until = time + (durationOf[job % perStep] ?? 0);
        end[job] = until;
        busyUntil[channel] = until;
        started.push(job);
      }
      const until = busyUntil[channel] ?? never;
      if (until < next) next = until;
    }
    upcoming = next;
    if (isSlowing) factor = 1 + slowdown();
  };
  const slowdown = (): number => {
    let most = 0;
    for (let channel = 0; channel < count; channel += 1) {
      if ((running[channel] ?? -1) >= 0) most = Math.max(most, slowing[channel] ?? 0);
    }
    return most;
  };
  return {
    endOfWork: (start, work) => {
      let time = start;
      let left = work;
      while (left > 0) {
        while (upcoming <= time) pass();
        const done = time + left * factor;
        if (done <= upcoming) return done;
        left -= (upcoming - time) / factor;
        time = upcoming;
      }
      return time;
    },
    release: (step, message, time) => {
      const job = jobOf(step, message);
      if (job === jobOf(step, message + 1)) return;
      holdStep(step);
      ready[job] = time;
      released.push(job);
      if (time < upcoming) upcoming = time;
    },
    arrival: (step, message) => {
      const final = jobOf(step, message + 1) - 1;
      while ((end[final] ?? never) === never) {
        // A time that is no number compares with nothing: it would be waited for forever.
        if (!(upcoming < never)) throw new Error('a message is waited for that was never sent');
        pass();
      }
      return end[final] ?? 0;
    },
    outstanding: (step, time) => {
      while (upcoming < time) pass();
      const begin = step * perStep;
      const jobs: number[] = [];
      for (let channel = 0; channel < count; channel += 1) {
        const job = running[channel] ?? -1;
        jobs.push(job < 0 ? noJob : job - begin);
        for (const waiting of queues[channel]?.waiting(links) ?? []) jobs.push(waiting - begin);
        jobs.push(noJob);
      }
      // What is released and not yet queued became ready at `time` itself.
      for (let at = taken; at < released.length; at += 1) jobs.push((released[at] ?? 0) - begin);
      return { jobs, left: Array.from(busyUntil, (until) => (until === never ? 0 : until - time)) };
    },
    jobs: {
      jobOf,
      perStep,
      messageOf,
      get ready() {
        return ready;
      },
      get start() {
        return start;
      },
      get end() {
        return end;
      },
      get previous() {
        return previous;
      },
      started,
    },
  };
}

/** The stages of the messages of one step, in columns; those of a message lie from `first` to before that of the next. */
function jobsOf(messages: readonly TimedMessage[], channels: readonly ChannelOrder[]) {
  const first = new Int32Array(messages.length + 1);
  for (let index = 0; index < messages.length; index += 1) {
    first[index + 1] = (first[index] ?? 0) + (messages[index]?.stages.length ?? 0);
  }
  const perStep = first[messages.length] ?? 0;
  const channelOf = new Int32Array(perStep);
  const durationOf = new Float64Array(perStep);
  const messageOf = new Int32Array(perStep);
  const rankOf = new Int32Array(perStep);
  const { ranks, count } = channels.includes('by priority')
    ? ranksOf(messages.map(({ priority }) => priority))
    : { ranks: rankOf, count: 1 };
  for (const [index, { stages }] of messages.entries()) {
    let job = first[index] ?? 0;
    for (const { channel, time } of stages) {
      channelOf[job] = channel;
      durationOf[job] = time;
      messageOf[job] = index;
      rankOf[job] = ranks[index] ?? 0;
      job += 1;
    }
  }
  return { first, perStep, channelOf, durationOf, messageOf, rankOf, ranks: Math.max(1, count) };
}

function longer<Column extends Int32Array | Float64Array>(column: Column, wider: Column): Column {
  wider.set(column);
  return wider;
}
