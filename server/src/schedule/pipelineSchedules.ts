/**
 * Schedules of a pipeline as data: what each rank does, in order.
 *
 * A rank has one chunk of the model or several; chunk c of rank r is stage c·p + r of the pipeline.
 */

import type { PipelineScheduleName } from '../model/scenario.ts';

export interface PipelineAction {
  readonly pass: 'forward' | 'backward';
  readonly chunk: number;
  readonly microBatch: number;
}

/** By rank. */
export type PipelineSchedule = readonly (readonly PipelineAction[])[];

export interface PipelineShape {
  readonly ranks: number;
  readonly microBatches: number;
  /** Chunks of the model on each rank. */
  readonly chunks: number;
}

export function pipelineSchedule(name: PipelineScheduleName, shape: PipelineShape): PipelineSchedule {
  const { ranks, microBatches } = shape;
  // 1F1B: a rank has begun as many forwards as there are ranks behind it before its first backward.
  const warmUp = (rank: number): number => (name === 'gpipe' ? microBatches : ranks - 1 - rank);
  return Array.from({ length: ranks }, (_, rank) => withWarmUp(shape, warmUp(rank)));
}

/**
 * Forwards to begin with, then a forward and a backward in turn, then the backwards that are left. Sources: Huang et al.,
 * arXiv:1811.06965 (GPipe: all forwards first); Narayanan et al., arXiv:2104.04473, section 2.2 (1F1B and interleaved);
 * NVIDIA/Megatron-LM, megatron/core/pipeline_parallel/schedules.py, `get_pp_rank_microbatches`;
 * PyTorch, torch/distributed/pipelining/schedules.py, `ScheduleInterleaved1F1B`.
 */
function withWarmUp(shape: PipelineShape, warmUp: number): readonly PipelineAction[] {
  const total = shape.microBatches * shape.chunks;
  const before = Math.min(total, warmUp);
  const forward = (index: number): PipelineAction => ({ pass: 'forward', ...placeOf(shape, index) });
  const backward = (index: number): PipelineAction => {
    const { chunk, microBatch } = placeOf(shape, index);
    return { pass: 'backward', chunk: shape.chunks - 1 - chunk, microBatch };
  };
  return [
    ...numbers(0, before).map(forward),
    ...numbers(0, total - before).flatMap((index) => [forward(before + index), backward(index)]),
    ...numbers(total - before, total).map(backward),
  ];
}

const numbers = (from: number, to: number): readonly number[] =>
  Array.from({ length: to - from }, (_, index) => from + index);

/** Micro-batches that go through a chunk before the next one: as many as ranks, where they divide. */
function roundOf({ ranks, microBatches }: PipelineShape): number {
  return Math.floor(microBatches / Math.max(1, Math.floor(microBatches / ranks)));
}

/** The chunk and micro-batch of the forward with this number. */
function placeOf(shape: PipelineShape, index: number): Pick<PipelineAction, 'chunk' | 'microBatch'> {
  const { chunks } = shape;
  if (chunks === 1) return { chunk: 0, microBatch: index };
  const round = roundOf(shape);
  const group = Math.floor(index / (round * chunks));
  const within = index % (round * chunks);
  return { chunk: Math.floor(within / round), microBatch: group * round + (within % round) };
}
