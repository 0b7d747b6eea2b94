/**
 * Schedules of a pipeline as data: what each rank does, in order.
 *
 * A rank has one stage of the model or several, which are then called its chunks.
 */

import type { PipelineScheduleName } from '../model/scenario.ts';

export interface PipelineAction {
  readonly pass: 'forward' | 'backward';
  readonly stage: number;
  readonly microBatch: number;
}

/** By rank. */
export type PipelineSchedule = readonly (readonly PipelineAction[])[];

export interface PipelineShape {
  readonly ranks: number;
  readonly microBatches: number;
  /** Stages of each rank. */
  readonly chunks: number;
}

/**
 * Sources: Huang et al., arXiv:1811.06965 (GPipe: all forwards first); Narayanan et al., arXiv:2104.04473, section 2.2 (1F1B and
 * interleaved); Lamy-Poirier, arXiv:2211.05953 (looped, breadth first); NVIDIA/Megatron-LM,
 * megatron/core/pipeline_parallel/schedules.py, `get_pp_rank_microbatches`; PyTorch 2.13,
 * torch/distributed/pipelining/schedules.py, `ScheduleGPipe`, `Schedule1F1B`, `ScheduleInterleaved1F1B`, `ScheduleLoopedBFS`.
 */
export function pipelineSchedule(name: PipelineScheduleName, shape: PipelineShape): PipelineSchedule {
  return numbers(0, shape.ranks).map((rank) => actionsOfRank[name](shape, rank));
}

type ActionsOfRank = (shape: PipelineShape, rank: number) => readonly PipelineAction[];

const actionsOfRank: Readonly<Record<PipelineScheduleName, ActionsOfRank>> = {
  gpipe: (shape, rank) => withWarmUp(shape, rank, shape.microBatches),
  // A rank has begun as many forwards as there are ranks behind it before its first backward.
  '1f1b': (shape, rank) => withWarmUp(shape, rank, shape.ranks - 1 - rank),
  'interleaved-1f1b': (shape, rank) =>
    withWarmUp(shape, rank, (shape.chunks - 1) * roundOf(shape) + 2 * (shape.ranks - 1 - rank)),
  'looped-bfs': (shape, rank) => breadthFirst(shape, rank),
};

/** By rank: its stages in the order of the model. */
export const stagesOfRanks = ({ ranks, chunks }: Pick<PipelineShape, 'ranks' | 'chunks'>) =>
  numbers(0, ranks).map((rank) => numbers(0, chunks).map((chunk) => chunk * ranks + rank));

/** How many stages a rank has. */
export const chunksOfSchedule: Readonly<Record<PipelineScheduleName, 'one' | 'several'>> = {
  gpipe: 'one',
  '1f1b': 'one',
  'interleaved-1f1b': 'several',
  'looped-bfs': 'several',
};

/**
 * Whether a rank computes while it sends: PyTorch's `_PipelineScheduleRuntime` waits for sends at the end of a step, and Megatron-LM
 * sets `overlap_p2p_comm` with interleaving. Their other schedules send and receive together, and wait for both.
 */
export const sendsBesideCompute = (name: PipelineScheduleName): boolean =>
  chunksOfSchedule[name] === 'several';

/** Forwards to begin with, then a forward and a backward in turn, then the backwards that are left. */
function withWarmUp(shape: PipelineShape, rank: number, warmUp: number): readonly PipelineAction[] {
  const total = shape.microBatches * shape.chunks;
  const before = Math.min(total, warmUp);
  const forward = (index: number): PipelineAction => {
    const { chunk, microBatch } = placeOf(shape, index);
    return { pass: 'forward', stage: chunk * shape.ranks + rank, microBatch };
  };
  const backward = (index: number): PipelineAction => {
    const { chunk, microBatch } = placeOf(shape, index);
    return { pass: 'backward', stage: (shape.chunks - 1 - chunk) * shape.ranks + rank, microBatch };
  };
  return [
    ...numbers(0, before).map(forward),
    ...numbers(0, total - before).flatMap((index) => [forward(before + index), backward(index)]),
    ...numbers(total - before, total).map(backward),
  ];
}

/** All micro-batches through a chunk before the next one, and back in the opposite order. */
function breadthFirst(
  { ranks, chunks, microBatches }: PipelineShape,
  rank: number,
): readonly PipelineAction[] {
  const forwards = numbers(0, chunks).flatMap((chunk) =>
    numbers(0, microBatches).map(
      (microBatch): PipelineAction => ({ pass: 'forward', stage: chunk * ranks + rank, microBatch }),
    ),
  );
  return [...forwards, ...forwards.toReversed().map((action) => ({ ...action, pass: 'backward' as const }))];
}

const numbers = (from: number, to: number): readonly number[] =>
  Array.from({ length: to - from }, (_, index) => from + index);

/**
 * Micro-batches that go through a chunk before the next one: as many as ranks, where they divide. PyTorch refuses what does not
 * divide into rounds of so many.
 */
export function roundOf({ ranks, microBatches }: Pick<PipelineShape, 'ranks' | 'microBatches'>): number {
  return Math.floor(microBatches / Math.max(1, Math.floor(microBatches / ranks)));
}

/** The chunk and micro-batch of the forward with this number. */
function placeOf(
  shape: PipelineShape,
  index: number,
): { readonly chunk: number; readonly microBatch: number } {
  const { chunks } = shape;
  if (chunks === 1) return { chunk: 0, microBatch: index };
  const round = roundOf(shape);
  const group = Math.floor(index / (round * chunks));
  const within = index % (round * chunks);
  return { chunk: Math.floor(within / round), microBatch: group * round + (within % round) };
}
