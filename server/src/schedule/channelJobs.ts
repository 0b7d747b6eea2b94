/** By channel the job that it carries, and those that wait for it. */

import { floatAt, intAt, itemAt } from '../model/at.ts';
import { longer } from './jobs.ts';
import { createQueue, type Queue } from './queue.ts';
import type { ChannelOrder } from './stepWork.ts';

const never = Number.POSITIVE_INFINITY;

/** Written in place: there is an event for every stage of every message. */
export class ChannelJobs {
  readonly count: number;
  /** What each carries, −1 for nothing. */
  readonly running: Int32Array;
  /** When it has carried that; infinite where it carries nothing. */
  readonly until: Float64Array;
  private readonly queues: readonly Queue[];
  private readonly isByPriority: Uint8Array;
  private links = new Int32Array(0);

  /** Jobs have ranks from 0 to before `ranks`. */
  constructor(orders: readonly ChannelOrder[], ranks: number) {
    this.count = orders.length;
    this.running = new Int32Array(this.count).fill(-1);
    this.until = new Float64Array(this.count).fill(never);
    this.queues = orders.map((order) => createQueue(order === 'first come' ? 1 : ranks));
    this.isByPriority = Uint8Array.from(orders, (order) => (order === 'first come' ? 0 : 1));
  }

  /** There are so many jobs. */
  hold(jobs: number): void {
    this.links = longer(this.links, new Int32Array(jobs));
  }

  enqueue(channel: number, job: number, rank: number): void {
    itemAt(this.queues, channel).push(job, this.isByPriority[channel] === 1 ? rank : 0, this.links);
  }

  /** The job that a free channel carries next; −1 where none waits. */
  takeNext(channel: number): number {
    return itemAt(this.queues, channel).pop(this.links);
  }

  start(channel: number, job: number, until: number): void {
    this.running[channel] = job;
    this.until[channel] = until;
  }

  /** Frees a channel, and gives what it carried. */
  end(channel: number): number {
    const job = intAt(this.running, channel);
    this.running[channel] = -1;
    this.until[channel] = never;
    return job;
  }

  /** All that wait for a channel, in the order they would be taken. */
  waiting(channel: number): readonly number[] {
    return itemAt(this.queues, channel).waiting(this.links);
  }

  /** How much longer each channel carries its job after `time`; 0 where it is free. */
  left(time: number): readonly number[] {
    return Array.from(this.until, (_, channel) => {
      const until = floatAt(this.until, channel);
      return until === never ? 0 : until - time;
    });
  }
}
