/**
 * Messages on their channels: a discrete-event simulation in which a channel carries one message at a time.
 *
 * It runs only as far as someone asks for the arrival of a message. Whoever asks waits, so that nothing new is released
 * before that arrival: what the channels choose from is then always known.
 */

import { floatAt, intAt } from '../model/at.ts';
import { ChannelJobs } from './channelJobs.ts';
import type { Pace } from './gpuStream.ts';
import { type Jobs, longer, Records } from './jobs.ts';
import type { MessageColumns } from './messageColumns.ts';
import { ReleasedJobs } from './releasedJobs.ts';
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
export const createMessageSimulation = (
  messages: MessageColumns,
  channels: readonly ChannelOrder[],
  slowing: readonly number[] = [],
  { steps = 1, isRecorded = false }: { readonly steps?: number; readonly isRecorded?: boolean } = {},
): MessageSimulation => {
  const records = isRecorded ? new Records(messages, channels.length) : undefined;
  return new Simulation(messages, { orders: channels, slowing }, steps, records);
};

/** A job of a later step is like that of the first one: both are the same stage, told by its place in the columns. */
class Simulation implements MessageSimulation {
  readonly pace = { until: never, factor: 1 };
  private readonly perStep: number;
  private readonly channels: ChannelJobs;
  private readonly released = new ReleasedJobs();
  /** By channel, by which share kernels take longer beside what it carries. */
  private readonly slowing: Float64Array;
  /** There is room for so many steps. */
  private capacity = 0;
  /** By step and message: when it has passed its last stage, where that is known. */
  private arrived = new Float64Array(0);

  constructor(
    private readonly messages: MessageColumns,
    { orders, slowing }: { readonly orders: readonly ChannelOrder[]; readonly slowing: readonly number[] },
    private readonly steps: number,
    readonly jobs: Records | undefined,
  ) {
    this.perStep = messages.time.length;
    this.channels = new ChannelJobs(orders, messages.ranks);
    this.slowing = Float64Array.from(orders, (_, channel) => slowing[channel] ?? 0);
  }

  release(step: number, message: number, time: number): void {
    if (!this.hasStages(message)) return;
    this.hold(step);
    this.released.add(step * this.perStep + intAt(this.messages.firstStage, message), time);
    if (time < this.pace.until) this.pace.until = time;
  }

  arrival(step: number, message: number): number {
    if (!this.hasStages(message)) return 0;
    const at = step * this.messages.count + message;
    while ((this.arrived[at] ?? never) === never) {
      // A time that is no number compares with nothing: it would be waited for forever.
      if (!(this.pace.until < never)) throw new Error('a message is waited for that was never sent');
      this.advance();
    }
    return floatAt(this.arrived, at);
  }

  endOfWork(start: number, work: number): number {
    let time = start;
    let left = work;
    while (left > 0) {
      while (this.pace.until <= time) this.advance();
      const { until: next, factor } = this.pace;
      const done = time + left * factor;
      if (done <= next) return done;
      left -= (next - time) / factor;
      time = next;
    }
    return time;
  }

  outstanding(step: number, time: number): Outstanding {
    while (this.pace.until < time) this.advance();
    const begin = step * this.perStep;
    const jobs: number[] = [];
    for (let channel = 0; channel < this.channels.count; channel += 1) {
      const job = intAt(this.channels.running, channel);
      jobs.push(job < 0 ? noJob : job - begin);
      for (const waiting of this.channels.waiting(channel)) jobs.push(waiting - begin);
      jobs.push(noJob);
    }
    // What is released and not yet queued became ready at `time` itself.
    for (const job of this.released.left()) jobs.push(job - begin);
    return { jobs, left: this.channels.left(time) };
  }

  /** All that happens next, at one time. */
  private advance(): void {
    const time = this.pace.until;
    this.endJobs(time);
    this.queueReleased(time);
    this.startJobs(time);
  }

  /** Jobs that have passed their channel leave it, and their next stages queue. */
  private endJobs(time: number): void {
    const { channels, jobs, messages } = this;
    for (let channel = 0; channel < channels.count; channel += 1) {
      if (floatAt(channels.until, channel) > time) continue;
      const job = channels.end(channel);
      const stage = this.stageOf(job);
      if (isLastStage(messages, stage)) continue;
      if (jobs !== undefined) jobs.ready[job + 1] = time;
      this.enqueue(job + 1, stage + 1);
    }
  }

  private queueReleased(time: number): void {
    const { released, jobs } = this;
    for (let at = released.nextTime; at <= time; at = released.nextTime) {
      const job = released.take();
      if (jobs !== undefined) jobs.ready[job] = at;
      this.enqueue(job, this.stageOf(job));
    }
  }

  /** Free channels take what goes first; the pace holds until the next job ends or is released. */
  private startJobs(time: number): void {
    const { channels, pace } = this;
    let next = this.released.nextTime;
    let slowdown = 0;
    for (let channel = 0; channel < channels.count; channel += 1) {
      if (intAt(channels.running, channel) < 0) {
        const job = channels.takeNext(channel);
        if (job < 0) continue;
        this.start(channel, job, time);
      }
      next = Math.min(next, floatAt(channels.until, channel));
      slowdown = Math.max(slowdown, floatAt(this.slowing, channel));
    }
    pace.until = next;
    pace.factor = 1 + slowdown;
  }

  private start(channel: number, job: number, time: number): void {
    const { messages } = this;
    const stage = this.stageOf(job);
    const until = time + floatAt(messages.time, stage);
    this.channels.start(channel, job, until);
    this.jobs?.add(channel, job, time, until);
    if (isLastStage(messages, stage)) {
      const step = (job - stage) / this.perStep;
      this.arrived[step * messages.count + intAt(messages.messageOf, stage)] = until;
    }
  }

  private enqueue(job: number, stage: number): void {
    const { channel, messageOf, rank } = this.messages;
    this.channels.enqueue(intAt(channel, stage), job, intAt(rank, intAt(messageOf, stage)));
  }

  private stageOf(job: number): number {
    return job < this.perStep ? job : job % this.perStep;
  }

  /** A message without stages arrives at once. */
  private hasStages(message: number): boolean {
    const { firstStage } = this.messages;
    return firstStage[message + 1] !== firstStage[message];
  }

  private hold(step: number): void {
    if (step < this.capacity) return;
    this.capacity = Math.max(this.steps, 2 * this.capacity);
    const { count } = this.messages;
    this.arrived = longer(this.arrived, new Float64Array(count * this.capacity).fill(never));
    this.channels.hold(this.perStep * this.capacity);
    this.released.hold(count * this.capacity);
    this.jobs?.hold(this.capacity);
  }
}

const isLastStage = ({ messageOf }: MessageColumns, stage: number): boolean =>
  messageOf[stage + 1] !== messageOf[stage];
