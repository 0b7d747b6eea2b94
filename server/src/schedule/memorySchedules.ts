/**
 * V-Half and V-Min: pipelines in a V that keep about a half and a third of the activations of 1F1B, for a bubble of about a half and
 * two thirds of its.
 *
 * A schedule is one micro-batch's passage through all ranks, repeated every six units of time: a unit is a forward, a backward of
 * inputs or one of weights of one stage. The passage sets the order of forwards and backwards on each rank. Gradients of weights
 * are computed where a rank would wait, or where it keeps all that it may.
 *
 * Source: Qi et al., "Pipeline Parallelism with Controllable Memory", arXiv:2405.15362, section 4: units between neighbouring ranks
 * (V-Min 1, V-Half 2 on the way down and 1 on the way up), and ⌊(p + 4)/3⌋ and ⌊(p + 2)/2⌋ micro-batches kept at most;
 * sail-sg/zero-bubble-pipeline-parallelism 064369d6, scheduler/zbv_greedy.py: units between the ways, so that no two passes meet.
 */

import { intAt, itemAt } from '../model/at.ts';
import type { PipelineAction, PipelineSchedule, PipelineShape } from './pipelineAction.ts';

export const leastMemoryV = (shape: PipelineShape): PipelineSchedule =>
  scheduleOf(shape, {
    down: 1,
    up: 1,
    turns: [1, shape.ranks % 3 === 0 ? 3 : 1, 1],
    kept: Math.floor((shape.ranks + 4) / 3),
  });

export const halfMemoryV = (shape: PipelineShape): PipelineSchedule =>
  scheduleOf(shape, {
    down: 2,
    up: 1,
    turns: [1, shape.ranks % 2 === 0 ? 4 : 1, 2],
    kept: Math.floor((shape.ranks + 2) / 2),
  });

interface Passage {
  /** Units from a rank to the next one, and back. */
  readonly down: number;
  readonly up: number;
  /** Units from one way to the next: at the last rank, at the first, and at the last again. */
  readonly turns: readonly [number, number, number];
  /** Micro-batches of both stages that a rank keeps at most. */
  readonly kept: number;
}

/** Of a micro-batch on a rank: down and up in forward, and down and up in backward. */
const ways = [0, 1, 2, 3] as const;
type Way = (typeof ways)[number];

interface Pass {
  readonly way: Way;
  readonly microBatch: number;
}

function scheduleOf(shape: PipelineShape, passage: Passage): PipelineSchedule {
  const { ranks, microBatches } = shape;
  const orders = Array.from({ length: ranks }, (_, rank) => orderOf(shape, passage, rank));
  /** By rank, way and micro-batch: the unit in which a pass has ended. */
  const ends = Array.from({ length: ranks }, () => ways.map((): number[] => []));
  const own = Array.from({ length: ranks }, (_, rank) => new Rank(rank, ranks));
  let left = 2 * ranks * microBatches;
  for (let unit = 0; left > 0; unit += 1) {
    for (const [rank, order] of orders.entries()) {
      const each = itemAt(own, rank);
      const next = order[each.done];
      const isFull = next !== undefined && next.way < 2 && each.kept >= 2 * passage.kept;
      if (next !== undefined && !isFull && arrival(ends, next, rank) <= unit) {
        each.do(next);
        itemAt(itemAt(ends, rank), next.way)[next.microBatch] = unit + 1;
      } else if (each.doWeights()) left -= 1;
    }
  }
  return own.map(({ actions }) => actions);
}

/** Passes of a rank in the order in which the passage repeats. */
function orderOf(
  { ranks, microBatches }: PipelineShape,
  { down, up, turns }: Passage,
  rank: number,
): readonly Pass[] {
  const behind = ranks - 1 - rank;
  const [atLast, atFirst, again] = turns;
  const turn = (ranks - 1) * down + atLast;
  const back = turn + (ranks - 1) * up + atFirst;
  const units = [
    rank * down,
    turn + behind * up,
    back + rank * down,
    back + (ranks - 1) * down + again + behind * up,
  ];
  return Array.from({ length: microBatches }, (_, microBatch) =>
    ways.map((way) => ({ way, microBatch, unit: itemAt(units, way) + 6 * microBatch })),
  )
    .flat()
    .sort((one, other) => one.unit - other.unit);
}

/** The unit in which a pass can begin; without end while what it needs is not there. */
function arrival(
  ends: readonly (readonly (readonly number[])[])[],
  { way, microBatch }: Pass,
  rank: number,
): number {
  const isDown = way % 2 === 0;
  const before = isDown ? rank - 1 : rank + 1;
  const isTurn = before < 0 || before === ends.length;
  if (isTurn && way === 0) return 0;
  const row = isTurn ? itemAt(itemAt(ends, rank), way - 1) : itemAt(itemAt(ends, before), way);
  return row[microBatch] ?? Number.POSITIVE_INFINITY;
}

/** What a rank has done. */
class Rank {
  readonly actions: PipelineAction[] = [];
  /** Forwards and backwards of inputs. */
  done = 0;
  /** Forwards of a stage without gradients of its weights. */
  kept = 0;
  private readonly waiting: PipelineAction[] = [];
  private readonly stages: Int32Array;

  constructor(rank: number, ranks: number) {
    const [first, second] = [rank, 2 * ranks - 1 - rank];
    this.stages = Int32Array.of(first, second, second, first);
  }

  do({ way, microBatch }: Pass): void {
    const isForward = way < 2;
    const action = { stage: intAt(this.stages, way), microBatch };
    this.actions.push({ pass: isForward ? 'forward' : 'backward-input', ...action });
    this.done += 1;
    if (isForward) this.kept += 1;
    else this.waiting.push({ pass: 'backward-weight', ...action });
  }

  /** Those of the second stage first; false where none is waiting. */
  doWeights(): boolean {
    const second = intAt(this.stages, 1);
    const at = Math.max(
      0,
      this.waiting.findIndex(({ stage }) => stage === second),
    );
    const [action] = this.waiting.splice(at, 1);
    if (action === undefined) return false;
    this.actions.push(action);
    this.kept -= 1;
    return true;
  }
}
