/** Jobs released to channels and not yet queued, in the order of their times. */

import { floatAt, intAt } from '../model/at.ts';
import { longer } from './jobs.ts';

/** Written in place; there is room for as many as `hold` said. */
export class ReleasedJobs {
  private jobs = new Int32Array(0);
  private times = new Float64Array(0);
  private taken = 0;
  private given = 0;

  hold(count: number): void {
    this.jobs = longer(this.jobs, new Int32Array(count));
    this.times = longer(this.times, new Float64Array(count));
  }

  add(job: number, time: number): void {
    this.jobs[this.given] = job;
    this.times[this.given] = time;
    this.given += 1;
  }

  /** When the next one was released; infinite where none is left. */
  get nextTime(): number {
    return this.taken < this.given ? floatAt(this.times, this.taken) : Number.POSITIVE_INFINITY;
  }

  take(): number {
    this.taken += 1;
    return intAt(this.jobs, this.taken - 1);
  }

  /** Those that are left. */
  left(): Int32Array {
    return this.jobs.subarray(this.taken, this.given);
  }
}
