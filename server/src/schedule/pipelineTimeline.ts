/** A pipeline's schedule on its ranks: each does its actions in order, an action when what it needs has arrived. */

import { floatAt, intAt } from '../model/at.ts';
import { type Seconds, seconds } from '../model/units.ts';
import type { PipelineAction, PipelineSchedule } from './pipelineSchedules.ts';

/** Times of one micro-batch. Columns have an entry for each stage, that of chunk c of rank r at c·p + r. */
export interface PipelineWork {
  readonly schedule: PipelineSchedule;
  readonly forward: Float64Array;
  readonly backward: Float64Array;
  /** From each stage to the next, and of the gradient back; the sender computes nothing meanwhile. */
  readonly transfer: Float64Array;
}

export interface PipelineTimeline {
  /** By rank: in the order of its schedule. */
  readonly actions: readonly (readonly TimedAction[])[];
  /** By rank: when it is free again, from the start of the first action of all. */
  readonly ends: Float64Array;
  /** By rank: for how long it computes. */
  readonly busy: Float64Array;
  /** By rank: the most micro-batches of each chunk that have gone forward and not yet backward, added up over chunks. */
  readonly alive: readonly Float64Array[];
}

export interface TimedAction extends PipelineAction {
  readonly start: Seconds;
  readonly end: Seconds;
}

/** A schedule in which a rank waits for what nobody will do is a fault of the schedule: `undefined`. */
export function pipelineTimeline(work: PipelineWork): PipelineTimeline | undefined {
  const { schedule, forward, backward, transfer } = work;
  const ranks = schedule.length;
  const stages = forward.length;
  const arrivals = new Map<string, number>();
  const actions: TimedAction[][] = schedule.map(() => []);
  const free = new Float64Array(ranks);
  const busy = new Float64Array(ranks);
  const keyOf = (pass: PipelineAction['pass'], stage: number, microBatch: number): string =>
    `${pass} ${stage} ${microBatch}`;
  const next = new Int32Array(ranks);
  for (let progress = true; progress; ) {
    progress = false;
    for (const [rank, own] of schedule.entries()) {
      for (;;) {
        const action = own[intAt(next, rank)];
        if (action === undefined) break;
        const { pass, chunk, microBatch } = action;
        const stage = chunk * ranks + rank;
        const arrived = pass === 'forward' && stage === 0 ? 0 : arrivals.get(keyOf(pass, stage, microBatch));
        if (arrived === undefined) break;
        const start = Math.max(floatAt(free, rank), arrived);
        const time = floatAt(pass === 'forward' ? forward : backward, stage);
        const end = start + time;
        const isLast = pass === 'forward' ? stage === stages - 1 : stage === 0;
        // The last stage turns round; all others hand on.
        const sending = isLast ? 0 : floatAt(transfer, pass === 'forward' ? stage : stage - 1);
        if (pass === 'forward') {
          const receiver = isLast
            ? keyOf('backward', stage, microBatch)
            : keyOf('forward', stage + 1, microBatch);
          arrivals.set(receiver, end + sending);
        } else if (!isLast) arrivals.set(keyOf('backward', stage - 1, microBatch), end + sending);
        actions[rank]?.push({ ...action, start: seconds(start), end: seconds(end) });
        free[rank] = end + sending;
        busy[rank] = floatAt(busy, rank) + time;
        next[rank] = intAt(next, rank) + 1;
        progress = true;
      }
    }
  }
  if (schedule.some((own, rank) => next[rank] !== own.length)) return undefined;
  const chunks = stages / ranks;
  return {
    actions,
    ends: free,
    busy,
    alive: schedule.map((own) => mostAlive(own, chunks)),
  };
}

/** By chunk: micro-batches alive when most of them, weighted alike, are. */
function mostAlive(actions: readonly PipelineAction[], chunks: number): Float64Array {
  const alive = new Float64Array(chunks);
  let most = new Float64Array(chunks);
  let total = 0;
  let greatest = 0;
  for (const { pass, chunk } of actions) {
    const change = pass === 'forward' ? 1 : -1;
    alive[chunk] = floatAt(alive, chunk) + change;
    total += change;
    if (total <= greatest) continue;
    greatest = total;
    most = alive.slice();
  }
  return most;
}
