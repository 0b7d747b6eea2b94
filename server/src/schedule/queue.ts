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

/** A binary heap; among equals the first to come goes first. */
function createHeap(): Queue {
  const jobs: number[] = [];
  const keys: number[] = [];
  const turns: number[] = [];
  let turn = 0;
  const isBefore = (a: number, b: number): boolean => {
    const [left, right] = [keys[a] ?? 0, keys[b] ?? 0];
    return left < right || (left === right && (turns[a] ?? 0) < (turns[b] ?? 0));
  };
  const swap = (a: number, b: number): void => {
    for (const column of [jobs, keys, turns]) {
      const kept = column[a] ?? 0;
      column[a] = column[b] ?? 0;
      column[b] = kept;
    }
  };
  return {
    push: (job, priority) => {
      jobs.push(job);
      keys.push(priority);
      turns.push(turn);
      turn += 1;
      let at = jobs.length - 1;
      while (at > 0) {
        const parent = (at - 1) >> 1;
        if (!isBefore(at, parent)) break;
        swap(at, parent);
        at = parent;
      }
    },
    pop: () => {
      const count = jobs.length;
      if (count === 0) return -1;
      swap(0, count - 1);
      const job = jobs.pop() ?? -1;
      keys.pop();
      turns.pop();
      let at = 0;
      for (;;) {
        let least = at;
        for (const child of [2 * at + 1, 2 * at + 2]) {
          if (child < count - 1 && isBefore(child, least)) least = child;
        }
        if (least === at) return job;
        swap(at, least);
        at = least;
      }
    },
  };
}
