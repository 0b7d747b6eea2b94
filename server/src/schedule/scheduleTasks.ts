/**
 * The discrete-event core: tasks on resources that each do one thing at a time, in the order given.
 *
 * This is how CUDA streams behave: work issued to a stream runs in issue order, and an event makes it wait for
 * work of another stream. With the order fixed, one pass over the tasks is the whole simulation.
 */

import { type Seconds, seconds } from '../model/units.ts';

export interface Task {
  /** Number of the resource it occupies, from 0. */
  readonly resource: number;
  readonly duration: Seconds;
  /** Indices of earlier tasks that must end first. */
  readonly after: readonly number[];
}

/** Start and end of every task, in the order given. A dependency on a later task is ignored. */
export interface Schedule {
  readonly starts: readonly Seconds[];
  readonly ends: readonly Seconds[];
}

/** Task i starts when its resource is free and all of `after` have ended. */
export function scheduleTasks(tasks: readonly Task[]): Schedule {
  const starts: Seconds[] = [];
  const ends: Seconds[] = [];
  const free: number[] = [];
  for (const task of tasks) {
    let start = free[task.resource] ?? 0;
    for (const index of task.after) start = Math.max(start, ends[index] ?? 0);
    const end = start + task.duration;
    free[task.resource] = end;
    starts.push(seconds(start));
    ends.push(seconds(end));
  }
  return { starts, ends };
}
