/**
 * Messages on their channels: a discrete-event simulation in which a channel carries one message at a time.
 *
 * It runs only as far as someone asks for the arrival of a message. Whoever asks waits, so that nothing new is released
 * before that arrival: what the channels choose from is then always known.
 */

import { createQueue } from './queue.ts';
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
  /** The stages of the messages of all steps as jobs of channels. */
  readonly jobs: Jobs;
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

export function createTraffic(
  messages: readonly TimedMessage[],
  channels: readonly ChannelOrder[],
  slowing: readonly number[] = [],
): Traffic {
  const first = new Int32Array(messages.length + 1);
  messages.forEach(({ stages }, index) => {
    first[index + 1] = (first[index] ?? 0) + stages.length;
  });
  const jobsPerStep = first[messages.length] ?? 0;
  const channelOf = new Int32Array(jobsPerStep);
  const durationOf = new Float64Array(jobsPerStep);
  const messageOf = new Int32Array(jobsPerStep);
  messages.forEach(({ stages }, index) => {
    let job = first[index] ?? 0;
    for (const { channel, time } of stages) {
      channelOf[job] = channel;
      durationOf[job] = time;
      messageOf[job] = index;
      job += 1;
    }
  });
  let capacity = 0;
  let ready = new Float64Array(0);
  let start = new Float64Array(0);
  let end = new Float64Array(0);
  let previous = new Int32Array(0);
  const started: number[] = [];
  /** Steps mostly settle within a few. */
  const holdStep = (step: number): void => {
    if (step < capacity) return;
    capacity = step === 0 ? 1 : Math.max(step + 1, 6, 2 * capacity);
    const size = jobsPerStep * capacity;
    const held = end.length;
    ready = longer(ready, new Float64Array(size));
    start = longer(start, new Float64Array(size));
    end = longer(end, new Float64Array(size)).fill(Number.POSITIVE_INFINITY, held);
    previous = longer(previous, new Int32Array(size)).fill(-1, held);
  };
  const jobOf = (step: number, message: number): number => step * jobsPerStep + (first[message] ?? 0);

  const queues = channels.map(createQueue);
  const running = new Int32Array(channels.length).fill(-1);
  const last = new Int32Array(channels.length).fill(-1);
  const released: number[] = [];
  let taken = 0;

  const enqueue = (job: number, time: number): void => {
    ready[job] = time;
    const kind = job % jobsPerStep;
    queues[channelOf[kind] ?? 0]?.push(job, messages[messageOf[kind] ?? 0]?.priority ?? 0);
  };
  const nextEvent = (): number => {
    let time = Number.POSITIVE_INFINITY;
    if (taken < released.length) time = ready[released[taken] ?? 0] ?? time;
    for (const job of running) if (job >= 0) time = Math.min(time, end[job] ?? time);
    return time;
  };
  const pass = (time: number): void => {
    for (let channel = 0; channel < running.length; channel += 1) {
      const job = running[channel] ?? -1;
      if (job < 0 || (end[job] ?? 0) > time) continue;
      running[channel] = -1;
      const kind = job % jobsPerStep;
      if (messageOf[kind + 1] === messageOf[kind]) enqueue(job + 1, time);
    }
    while (taken < released.length && (ready[released[taken] ?? 0] ?? 0) <= time) {
      const job = released[taken] ?? 0;
      enqueue(job, ready[job] ?? time);
      taken += 1;
    }
    for (let channel = 0; channel < running.length; channel += 1) {
      if ((running[channel] ?? 0) >= 0) continue;
      const job = queues[channel]?.pop() ?? -1;
      if (job < 0) continue;
      running[channel] = job;
      previous[job] = last[channel] ?? -1;
      last[channel] = job;
      start[job] = time;
      end[job] = time + (durationOf[job % jobsPerStep] ?? 0);
      started.push(job);
    }
  };
  const slowdown = (): number => {
    let most = 0;
    for (let channel = 0; channel < running.length; channel += 1) {
      if ((running[channel] ?? -1) >= 0) most = Math.max(most, slowing[channel] ?? 0);
    }
    return most;
  };
  return {
    endOfWork: (start, work) => {
      let time = start;
      let left = work;
      while (left > 0) {
        let next = nextEvent();
        while (next <= time) {
          pass(next);
          next = nextEvent();
        }
        const factor = 1 + slowdown();
        if (next === Number.POSITIVE_INFINITY || time + left * factor <= next) return time + left * factor;
        left -= (next - time) / factor;
        time = next;
      }
      return time;
    },
    release: (step, message, time) => {
      const job = jobOf(step, message);
      if (job === jobOf(step, message + 1)) return;
      holdStep(step);
      ready[job] = time;
      released.push(job);
    },
    arrival: (step, message) => {
      const final = jobOf(step, message + 1) - 1;
      while ((end[final] ?? Number.POSITIVE_INFINITY) === Number.POSITIVE_INFINITY) {
        const time = nextEvent();
        // A time that is no number compares with nothing: it would be waited for forever.
        if (!(time < Number.POSITIVE_INFINITY))
          throw new Error('a message is waited for that was never sent');
        pass(time);
      }
      return end[final] ?? 0;
    },
    jobs: {
      jobOf,
      perStep: jobsPerStep,
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

function longer<Column extends Int32Array | Float64Array>(column: Column, wider: Column): Column {
  wider.set(column);
  return wider;
}
