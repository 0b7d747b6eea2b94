/** A pipeline's schedule on its ranks: each does its actions in order, an action when what it needs has arrived. */

import { floatAt, intAt, itemAt } from '../model/at.ts';
import { lazy } from '../model/lazy.ts';
import { type Seconds, seconds } from '../model/units.ts';
import type { PipelineAction, PipelineSchedule } from './pipelineAction.ts';

/** Times of one micro-batch. Columns have an entry for each stage of the pipeline. */
export interface PipelineWork {
  readonly schedule: PipelineSchedule;
  readonly forward: Float64Array;
  readonly backward: Float64Array;
  /** Of backward, the gradients of weights. */
  readonly weight: Float64Array;
  /** From each stage to the next, and of the gradient back; 0 where both are on one rank. */
  readonly transfer: Float64Array;
  /** A rank computes while it sends. */
  readonly sendsBeside: boolean;
}

export interface PipelineTimeline {
  readonly schedule: PipelineSchedule;
  /** By rank, aligned with its schedule: when each action begins and ends. */
  readonly begun: readonly Float64Array[];
  readonly ended: readonly Float64Array[];
  /** By rank: the same as one list, made when it is first read: to draw it. */
  readonly actions: readonly (readonly TimedAction[])[];
  /** By rank: when it is free again, from the start of the first action of all. */
  readonly ends: Float64Array;
  /** By rank: for how long it computes. */
  readonly busy: Float64Array;
  /** By stage: the most micro-batches that have gone forward and not yet backward. */
  readonly alive: Float64Array;
}

export interface TimedAction extends PipelineAction {
  readonly start: Seconds;
  readonly end: Seconds;
}

/** A schedule in which a rank waits for what nobody will do is a fault of the schedule: `undefined`. */
export function pipelineTimeline(work: PipelineWork): PipelineTimeline | undefined {
  const { schedule, forward, transfer, sendsBeside } = work;
  const ranks = schedule.length;
  const stages = forward.length;
  const microBatches = schedule.reduce(
    (most, own) => own.reduce((all, { microBatch }) => Math.max(all, microBatch + 1), most),
    0,
  );
  const forwardArrivals = new Float64Array(stages * microBatches).fill(Number.NaN);
  const backwardArrivals = forwardArrivals.slice();
  forwardArrivals.fill(0, 0, microBatches);
  const begun = schedule.map((own) => new Float64Array(own.length));
  const ended = schedule.map((own) => new Float64Array(own.length));
  const free = new Float64Array(ranks);
  const busy = new Float64Array(ranks);
  const next = new Int32Array(ranks);
  for (let progress = true; progress; ) {
    progress = false;
    for (let rank = 0; rank < ranks; rank += 1) {
      const own = itemAt(schedule, rank);
      const [starts, stops] = [itemAt(begun, rank), itemAt(ended, rank)];
      for (;;) {
        const at = intAt(next, rank);
        const action = own[at];
        if (action === undefined) break;
        const { pass, stage, microBatch } = action;
        const isForward = pass === 'forward';
        const isOfWeights = pass === 'backward-weight';
        const arrived = floatAt(
          isForward ? forwardArrivals : backwardArrivals,
          stage * microBatches + microBatch,
        );
        if (Number.isNaN(arrived)) break;
        const start = Math.max(floatAt(free, rank), arrived);
        const time = timeOf(work, action);
        const end = start + time;
        // Gradients of weights stay where they are.
        const isLast = isForward ? stage === stages - 1 : stage === 0 || isOfWeights;
        // The last stage turns round; all others hand on.
        const sending = isLast ? 0 : floatAt(transfer, isForward ? stage : stage - 1);
        if (isForward && isLast) backwardArrivals[stage * microBatches + microBatch] = end;
        else if (isForward) forwardArrivals[(stage + 1) * microBatches + microBatch] = end + sending;
        else if (!isLast) backwardArrivals[(stage - 1) * microBatches + microBatch] = end + sending;
        starts[at] = start;
        stops[at] = end;
        free[rank] = sendsBeside ? end : end + sending;
        busy[rank] = floatAt(busy, rank) + time;
        next[rank] = at + 1;
        progress = true;
      }
    }
  }
  if (schedule.some((own, rank) => next[rank] !== own.length)) return undefined;
  const actions = lazy(() =>
    schedule.map((own, rank) =>
      own.map((action, at) => ({
        ...action,
        start: seconds(floatAt(itemAt(begun, rank), at)),
        end: seconds(floatAt(itemAt(ended, rank), at)),
      })),
    ),
  );
  return {
    schedule,
    begun,
    ended,
    get actions() {
      return actions();
    },
    ends: free,
    busy,
    alive: mostAlive(schedule, stages),
  };
}

function timeOf({ forward, backward, weight }: PipelineWork, { pass, stage }: PipelineAction): number {
  switch (pass) {
    case 'forward':
      return floatAt(forward, stage);
    case 'backward':
      return floatAt(backward, stage);
    case 'backward-input':
      return floatAt(backward, stage) - floatAt(weight, stage);
    case 'backward-weight':
      return floatAt(weight, stage);
  }
}

/** How many more micro-batches a stage keeps activations of: until the gradients of its weights are there. */
export const keptBy = ({ pass }: Pick<PipelineAction, 'pass'>): 1 | 0 | -1 =>
  pass === 'forward' ? 1 : pass === 'backward-input' ? 0 : -1;

function mostAlive(schedule: PipelineSchedule, stages: number): Float64Array {
  const alive = new Float64Array(stages);
  const most = new Float64Array(stages);
  for (const own of schedule) {
    for (const action of own) {
      const { stage } = action;
      alive[stage] = floatAt(alive, stage) + keptBy(action);
      most[stage] = Math.max(floatAt(most, stage), floatAt(alive, stage));
    }
  }
  return most;
}
