/** What happened on the channels, for those who ask when a message travelled and not only when it arrived. */

import { intAt } from '../model/at.ts';
import type { MessageColumns } from './messageColumns.ts';

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
  /** In the order they started, `startedCount` of them. */
  readonly started: Int32Array;
  readonly startedCount: number;
}

/** The same while it is written, in place. */
export class Records implements Jobs {
  readonly perStep: number;
  readonly messageOf: Int32Array;
  ready = new Float64Array(0);
  start = new Float64Array(0);
  end = new Float64Array(0);
  previous = new Int32Array(0);
  started = new Int32Array(0);
  startedCount = 0;

  private readonly firstStage: Int32Array;
  /** By channel, what it carried last, −1 for nothing. */
  private readonly last: Int32Array;

  constructor({ firstStage, messageOf, time }: MessageColumns, channels: number) {
    this.perStep = time.length;
    this.messageOf = messageOf;
    this.firstStage = firstStage;
    this.last = new Int32Array(channels).fill(-1);
  }

  jobOf = (step: number, message: number): number => step * this.perStep + intAt(this.firstStage, message);

  /** A channel carries a job from `time` to `until`. */
  add(channel: number, job: number, time: number, until: number): void {
    this.start[job] = time;
    this.end[job] = until;
    this.previous[job] = intAt(this.last, channel);
    this.started[this.startedCount] = job;
    this.startedCount += 1;
    this.last[channel] = job;
  }

  /** There are jobs of so many steps. */
  hold(steps: number): void {
    const size = steps * this.perStep;
    this.ready = longer(this.ready, new Float64Array(size));
    this.start = longer(this.start, new Float64Array(size));
    this.end = longer(this.end, new Float64Array(size).fill(Number.POSITIVE_INFINITY));
    this.previous = longer(this.previous, new Int32Array(size));
    this.started = longer(this.started, new Int32Array(size));
  }
}

/** The wider column, with the other at its start. */
export function longer<Column extends Int32Array | Float64Array>(column: Column, wider: Column): Column {
  wider.set(column);
  return wider;
}
