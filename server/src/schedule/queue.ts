/**
 * Jobs that wait for a channel: those of the lowest rank first, among equals the first to come.
 *
 * A line for each rank, chained through a column of jobs, and a tree of bits that tells which lines are not empty: adding
 * and taking look at one word for every 32-fold of ranks, however many jobs wait. Mostly a channel is free when a job
 * comes, so that one that waits alone stands in no line.
 */

import { intAt, itemAt } from '../model/at.ts';

export interface Queue {
  /** `links`: by job, the one behind it in its line; a job waits in one queue at a time, so that queues share it. */
  readonly push: (job: number, rank: number, links: Int32Array) => void;
  /** The next job; −1 where none waits. */
  readonly pop: (links: Int32Array) => number;
  /** All that wait, in the order they would be taken. */
  readonly waiting: (links: Int32Array) => readonly number[];
}

/** For ranks from 0 to before `ranks`. */
export function createQueue(ranks: number): Queue {
  const heads = new Int32Array(ranks).fill(-1);
  const tails = new Int32Array(ranks);
  const levels = levelsOver(ranks);
  const top = levels.length - 1;
  const mark = (rank: number): void => {
    let index = rank;
    for (const level of levels) {
      const word = index >>> 5;
      const before = intAt(level, word);
      level[word] = before | bitOf(index);
      if (before !== 0) return;
      index = word;
    }
  };
  const unmark = (rank: number): void => {
    let index = rank;
    for (const level of levels) {
      const word = index >>> 5;
      const left = intAt(level, word) & ~bitOf(index);
      level[word] = left;
      if (left !== 0) return;
      index = word;
    }
  };
  const line = (job: number, rank: number, links: Int32Array): void => {
    links[job] = -1;
    if (intAt(heads, rank) < 0) {
      heads[rank] = job;
      mark(rank);
    } else links[intAt(tails, rank)] = job;
    tails[rank] = job;
  };
  const state = { waits: 0, alone: -1, rankOfAlone: 0 };
  return {
    push: (job, rank, links) => {
      state.waits += 1;
      if (state.waits === 1) {
        state.alone = job;
        state.rankOfAlone = rank;
        return;
      }
      if (state.alone >= 0) line(state.alone, state.rankOfAlone, links);
      state.alone = -1;
      line(job, rank, links);
    },
    pop: (links) => {
      if (state.waits === 0) return -1;
      state.waits -= 1;
      if (state.alone >= 0) {
        const { alone } = state;
        state.alone = -1;
        return alone;
      }
      let rank = 0;
      for (let level = top; level >= 0; level -= 1) {
        rank = 32 * rank + Math.clz32(intAt(itemAt(levels, level), rank));
      }
      const job = intAt(heads, rank);
      const next = intAt(links, job);
      heads[rank] = next;
      if (next < 0) unmark(rank);
      return job;
    },
    waiting: (links) => {
      if (state.alone >= 0) return [state.alone];
      const jobs: number[] = [];
      for (const head of heads) {
        for (let job = head; job >= 0; job = intAt(links, job)) jobs.push(job);
      }
      return jobs;
    },
  };
}

/** The first bit of a word tells whether there is anything in the first it stands for; the last level is one word. */
function levelsOver(ranks: number): readonly Int32Array[] {
  const levels: Int32Array[] = [];
  for (let words = ranks; levels.length === 0 || words > 1; ) {
    words = Math.max(1, Math.ceil(words / 32));
    levels.push(new Int32Array(words));
  }
  return levels;
}

/** The first bit is the highest, so that counting zeros before it finds the first. */
const bitOf = (index: number): number => 1 << (31 - (index & 31));
