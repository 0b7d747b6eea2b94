/** Jobs that wait for a channel: in the order they came, or the lowest priority number first. */

import type { ChannelOrder } from './stepWork.ts';

export interface Queue {
  readonly push: (job: number, priority: number) => void;
  /** The next job; −1 where none waits. */
  readonly pop: () => number;
}

export const createQueue = (order: ChannelOrder): Queue =>
  order === 'first come' ? createLine() : createHeap();

function createLine(): Queue {
  const jobs: number[] = [];
  let taken = 0;
  return {
    push: (job) => {
      jobs.push(job);
    },
    pop: () => {
      if (taken === jobs.length) return -1;
      taken += 1;
      return jobs[taken - 1] ?? -1;
    },
  };
}

/** A binary heap in columns; among equals the first to come goes first. */
function createHeap(): Queue {
  let jobs = new Int32Array(64);
  let keys = new Float64Array(64);
  let turns = new Int32Array(64);
  let count = 0;
  let turn = 0;
  const put = (at: number, job: number, key: number, came: number): void => {
    jobs[at] = job;
    keys[at] = key;
    turns[at] = came;
  };
  const move = (from: number, to: number): void =>
    put(to, jobs[from] ?? 0, keys[from] ?? 0, turns[from] ?? 0);
  /** Whether the one at `at` goes before one of `key` that came at `came`. */
  const goesBefore = (at: number, key: number, came: number): boolean => {
    const own = keys[at] ?? 0;
    return own < key || (own === key && (turns[at] ?? 0) < came);
  };
  return {
    push: (job, priority) => {
      if (count === jobs.length) {
        jobs = grown(jobs, new Int32Array(2 * count));
        keys = grown(keys, new Float64Array(2 * count));
        turns = grown(turns, new Int32Array(2 * count));
      }
      let at = count;
      count += 1;
      while (at > 0) {
        const parent = (at - 1) >> 1;
        if (goesBefore(parent, priority, turn)) break;
        move(parent, at);
        at = parent;
      }
      put(at, job, priority, turn);
      turn += 1;
    },
    pop: () => {
      if (count === 0) return -1;
      const first = jobs[0] ?? -1;
      count -= 1;
      const [job, key, came] = [jobs[count] ?? 0, keys[count] ?? 0, turns[count] ?? 0];
      let at = 0;
      for (;;) {
        let child = 2 * at + 1;
        if (child >= count) break;
        if (child + 1 < count && goesBefore(child + 1, keys[child] ?? 0, turns[child] ?? 0)) child += 1;
        if (!goesBefore(child, key, came)) break;
        move(child, at);
        at = child;
      }
      put(at, job, key, came);
      return first;
    },
  };
}

function grown<Column extends Int32Array | Float64Array>(column: Column, wider: Column): Column {
  wider.set(column);
  return wider;
}
