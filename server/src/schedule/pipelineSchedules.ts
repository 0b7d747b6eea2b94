/**
 * Schedules of a pipeline as data: what each rank does, in order.
 *
 * A rank has one stage of the model or several, which are then called its chunks.
 */

import { LruCache } from '../model/lruCache.ts';
import { isSameContent } from '../model/sameContent.ts';
import type { PipelineScheduleName } from '../model/scenario.ts';
import { halfMemoryV, leastMemoryV } from './memorySchedules.ts';
import type { PipelineAction, PipelineSchedule, PipelineShape } from './pipelineAction.ts';
import { dualPipeV, zeroBubbleV } from './vSchedules.ts';

/**
 * Sources: Huang et al., arXiv:1811.06965 (GPipe: all forwards first); Narayanan et al., arXiv:2104.04473, section 2.2 (1F1B and
 * interleaved); Lamy-Poirier, arXiv:2211.05953 (looped, breadth first); NVIDIA/Megatron-LM,
 * megatron/core/pipeline_parallel/schedules.py, `get_pp_rank_microbatches`; PyTorch 2.13,
 * torch/distributed/pipelining/schedules.py, `ScheduleGPipe`, `Schedule1F1B`, `ScheduleInterleaved1F1B`, `ScheduleLoopedBFS`,
 * `ScheduleInterleavedZeroBubble`; Qi et al., arXiv:2401.10241, section 2 (ZB-H1, ZB-H2). Those in a V: `vSchedules.ts` and
 * `memorySchedules.ts`.
 */
export function pipelineSchedule(name: PipelineScheduleName, shape: PipelineShape): PipelineSchedule {
  const asked = { name, shape };
  const schedule = known.find(asked) ?? schedules[name](shape);
  known.keep(asked, schedule);
  return schedule;
}

/** The bounds of a step are laid out by one schedule, and so are layouts that differ in their kernels alone. */
const known = new LruCache<AskedSchedule, PipelineSchedule>(isSameContent, 8);

interface AskedSchedule {
  readonly name: PipelineScheduleName;
  readonly shape: PipelineShape;
}

type ActionsOfRank = (shape: PipelineShape, rank: number) => readonly PipelineAction[];

const byRank =
  (actionsOf: ActionsOfRank) =>
  (shape: PipelineShape): PipelineSchedule =>
    numbers(0, shape.ranks).map((rank) => actionsOf(shape, rank));

const schedules: Readonly<Record<PipelineScheduleName, (shape: PipelineShape) => PipelineSchedule>> = {
  gpipe: byRank((shape, rank) => withWarmUp(shape, rank, shape.microBatches)),
  // A rank has begun as many forwards as there are ranks behind it before its first backward.
  '1f1b': byRank((shape, rank) => withWarmUp(shape, rank, shape.ranks - 1 - rank)),
  'interleaved-1f1b': byRank((shape, rank) =>
    withWarmUp(shape, rank, (shape.chunks - 1) * roundOf(shape) + 2 * (shape.ranks - 1 - rank)),
  ),
  'looped-bfs': byRank(breadthFirst),
  'zb-h1': byRank(withLateWeights),
  'zb-h2': byRank(withFullWarmUp),
  'zb-v': byRank(zeroBubbleV),
  'v-half': halfMemoryV,
  'v-min': leastMemoryV,
  'dualpipe-v': byRank(dualPipeV),
};

/** By rank: its stages in the order of the model, round after round, or one on the way down a V and one on the way up. */
export const stagesOfRanks = (
  name: PipelineScheduleName,
  { ranks, chunks }: Pick<PipelineShape, 'ranks' | 'chunks'>,
): readonly (readonly number[])[] =>
  numbers(0, ranks).map((rank) =>
    isInV(name) ? [rank, 2 * ranks - 1 - rank] : numbers(0, chunks).map((chunk) => chunk * ranks + rank),
  );

const inV: readonly PipelineScheduleName[] = ['zb-v', 'v-half', 'v-min', 'dualpipe-v'];
const isInV = (name: PipelineScheduleName): boolean => inV.includes(name);

interface ChunkCounts {
  readonly least: number;
  readonly most: number;
  /** Where nothing is said: that of torchtitan. */
  readonly usual: number;
}

const one: ChunkCounts = { least: 1, most: 1, usual: 1 };
const several: ChunkCounts = { least: 2, most: Number.POSITIVE_INFINITY, usual: 2 };
const two: ChunkCounts = { least: 2, most: 2, usual: 2 };

/** How many stages a rank has. */
export const chunksOfSchedule: Readonly<Record<PipelineScheduleName, ChunkCounts>> = {
  gpipe: one,
  '1f1b': one,
  'interleaved-1f1b': several,
  'looped-bfs': several,
  'zb-h1': { ...several, least: 1, usual: 1 },
  'zb-h2': one,
  'zb-v': two,
  'v-half': two,
  'v-min': two,
  'dualpipe-v': two,
};

/** Micro-batches that a schedule needs at least: DualPipeV refuses fewer than stages (PyTorch 2.13, `ScheduleDualPipeV`). */
export const leastMicroBatches = (
  name: PipelineScheduleName,
  { ranks, chunks }: Pick<PipelineShape, 'ranks' | 'chunks'>,
): number => (name === 'dualpipe-v' ? ranks * chunks : 1);

/**
 * Whether a rank computes while it sends: PyTorch's `_PipelineScheduleRuntime` waits for sends at the end of a step, and Megatron-LM
 * sets `overlap_p2p_comm` with interleaving. GPipe and 1F1B send and receive together, and wait for both.
 */
export const sendsBesideCompute = (name: PipelineScheduleName): boolean =>
  name !== 'gpipe' && name !== '1f1b';

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

/**
 * ZB-H1: 1F1B with half of its warm-up, and gradients of weights later: those of a backward come behind as many other backwards as
 * there are ranks before, and the rest at the end.
 */
function withLateWeights(shape: PipelineShape, rank: number): readonly PipelineAction[] {
  const warmUp = (shape.chunks - 1) * roundOf(shape) + (shape.ranks - 1 - rank);
  const actions = withWarmUp(shape, rank, warmUp);
  const weights = actions.flatMap((action): readonly PipelineAction[] =>
    action.pass === 'backward' ? [{ ...action, pass: 'backward-weight' }] : [],
  );
  let done = 0;
  const inTurn = actions.flatMap((action): readonly PipelineAction[] => {
    if (action.pass !== 'backward') return [action];
    const due = weights[done - rank];
    done += 1;
    return [{ ...action, pass: 'backward-input' }, ...(due === undefined ? [] : [due])];
  });
  return [...inTurn, ...weights.slice(Math.max(0, weights.length - rank))];
}

/**
 * ZB-H2: forwards fill the bubble in which a rank waits for its first backward: 2·(p − rank) − 1 of them. Gradients of weights come
 * behind as many other backwards as the ranks before have more forwards, so that each rank keeps 2p − 1 micro-batches.
 */
function withFullWarmUp({ ranks, microBatches }: PipelineShape, rank: number): readonly PipelineAction[] {
  const action = (pass: PipelineAction['pass'], microBatch: number): readonly PipelineAction[] =>
    microBatch >= 0 && microBatch < microBatches ? [{ pass, stage: rank, microBatch }] : [];
  const warmUp = 2 * (ranks - rank) - 1;
  const late = 2 * rank;
  return [
    ...numbers(0, warmUp).flatMap((index) => action('forward', index)),
    ...numbers(0, microBatches + late).flatMap((index) => [
      ...action('backward-input', index),
      ...action('backward-weight', index - late),
      ...action('forward', warmUp + index),
    ]),
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
