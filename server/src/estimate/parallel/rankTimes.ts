/** What a rank of a pipeline takes for its stages, and what is left to do when its last backward has ended. */

import { floatAt, itemAt } from '../../model/at.ts';
import type { PipelineTimeline } from '../../schedule/pipelineTimeline.ts';

/** The passes of one stage, in seconds. */
export interface StageTimes {
  readonly forward: number;
  readonly backward: number;
  /** Of backward, the gradients of weights. */
  readonly weight: number;
  /** What the last pass takes beyond: what is exchanged and not hidden, and the update. */
  readonly rest: number;
  /** Of it, the update. */
  readonly update: number;
  /** Of all messages of the last pass, hidden or not. */
  readonly exchange: number;
}

/** Of all stages of a rank. */
export type RankTimes = Omit<StageTimes, 'exchange' | 'weight'>;

export const rankTimes = (
  ranks: readonly (readonly number[])[],
  stages: readonly StageTimes[],
  timeline: PipelineTimeline,
): readonly RankTimes[] =>
  ranks.map((own, rank) => {
    const [first, ...others] = own.map((stage) => itemAt(stages, stage));
    const isSplit = itemAt(timeline.schedule, rank).some(({ pass }) => pass === 'backward-weight');
    if (first !== undefined && others.length === 0 && !isSplit) return first;
    const sum = (of: 'forward' | 'backward' | 'update'): number =>
      own.reduce((total, stage) => total + itemAt(stages, stage)[of], 0);
    const update = sum('update');
    const rest = Math.max(0, exchangeEnd(own, rank, stages, timeline) - floatAt(timeline.ends, rank));
    return { forward: sum('forward'), backward: sum('backward'), rest: rest + update, update };
  });

/**
 * When all gradients of a rank are exchanged. Those of a stage are sent during its last backward and after it, as Megatron-LM
 * wraps each chunk of a model by itself (megatron/training/training.py, `get_model`), and behind those of the stages before. What
 * these still send when that backward begins delays them by no more than that, nor by more than all messages need. Where
 * gradients of weights are computed by themselves, these alone hide what is sent.
 */
function exchangeEnd(
  own: readonly number[],
  rank: number,
  stages: readonly StageTimes[],
  { schedule, begun, ended }: PipelineTimeline,
): number {
  const actions = itemAt(schedule, rank);
  const lastBackwards = own
    .map((stage) => actions.findLastIndex((action) => action.stage === stage))
    .filter((at) => at >= 0)
    .map((at) => ({
      ...itemAt(actions, at),
      start: floatAt(itemAt(begun, rank), at),
      end: floatAt(itemAt(ended, rank), at),
    }))
    .sort((one, other) => one.end - other.end);
  let before = 0;
  for (const { stage, start, end, pass } of lastBackwards) {
    const { rest, update, exchange, weight } = itemAt(stages, stage);
    const hidden = pass === 'backward-weight' ? weight : Number.POSITIVE_INFINITY;
    const undelayed = end + Math.max(rest - update, exchange - hidden);
    const delay = Math.max(0, before - start);
    before = Math.max(before, undelayed, Math.min(before + exchange, undelayed + delay));
  }
  return before;
}
