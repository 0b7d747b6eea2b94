/**
 * Schedules with two stages on each rank that lie in a V: a rank has one of the first half of the model, going down, and one of
 * the second half, going up, so that the first rank also has the last stage and the loss.
 *
 * Backward is done in two parts. What a stage before waits for, the gradients of inputs, comes first; gradients of weights fill
 * the bubbles.
 */

import type { PipelineAction, PipelineShape } from './pipelineAction.ts';

type Chunk = 0 | 1;

/** Actions of one rank, micro-batches counted by chunk and pass. */
class RankActions {
  readonly actions: PipelineAction[] = [];
  /** Micro-batches by chunk; the first part of a backward counts as one. */
  private readonly counts: Readonly<Record<'forward' | 'backward', [number, number]>> = {
    forward: [0, 0],
    backward: [0, 0],
  };
  /** Gradients of weights that are still to be done, in the order of those of inputs. */
  private readonly waiting: PipelineAction[] = [];

  constructor(private readonly stages: readonly [number, number]) {}

  forwards(chunk: Chunk): number {
    return this.counts.forward[chunk];
  }

  do(pass: 'forward' | 'backward' | 'backward-input', chunk: Chunk): void {
    const counts = this.counts[pass === 'forward' ? 'forward' : 'backward'];
    const action = { pass, stage: this.stages[chunk], microBatch: counts[chunk] };
    counts[chunk] += 1;
    this.actions.push(action);
    if (pass === 'backward-input') this.waiting.push({ ...action, pass: 'backward-weight' });
  }

  /** Gradients of weights of the oldest backward that has none yet, of one chunk or of any. */
  doWeights(chunk?: Chunk): void {
    const at = this.waiting.findIndex(({ stage }) => chunk === undefined || stage === this.stages[chunk]);
    if (at >= 0) this.actions.push(...this.waiting.splice(at, 1));
  }

  isWaiting(chunk: Chunk): boolean {
    return this.waiting.some(({ stage }) => stage === this.stages[chunk]);
  }
}

const times = (count: number, action: () => void): void => {
  for (let index = 0; index < count; index += 1) action();
};

const stagesInV = ({ ranks }: PipelineShape, rank: number): readonly [number, number] => [
  rank,
  2 * ranks - 1 - rank,
];

/**
 * ZB-V. Sources: Qi et al., arXiv:2401.10241, section 6; PyTorch 2.13, torch/distributed/pipelining/schedules.py,
 * `ScheduleZBVZeroBubble`. With few micro-batches it is the order of 2p − 1 of them, of which those that are not are left out.
 */
export function zeroBubbleV(shape: PipelineShape, rank: number): readonly PipelineAction[] {
  const { ranks, microBatches } = shape;
  const all = Math.max(2 * ranks - 1, microBatches);
  const own = new RankActions(stagesInV(shape, rank));
  const backward = (chunk: Chunk): void => {
    own.do('backward-input', chunk);
    own.doWeights(chunk);
  };
  times(2 * (ranks - rank) - 1, () => {
    own.do('forward', 0);
  });
  times(rank, () => {
    own.do('forward', 1);
    own.do('forward', 0);
  });
  times(ranks - rank, () => {
    own.do('forward', 1);
    backward(1);
  });
  while (own.forwards(1) < all) {
    if (own.forwards(0) < all) own.do('forward', 0);
    backward(0);
    own.do('forward', 1);
    backward(1);
  }
  times(rank, () => {
    own.do('backward-input', 0);
    own.do('backward-input', 1);
  });
  times(ranks - rank, () => {
    own.do('backward-input', 0);
    own.doWeights(0);
  });
  while (own.isWaiting(1)) own.doWeights(1);
  while (own.isWaiting(0)) own.doWeights(0);
  return own.actions.filter(({ microBatch }) => microBatch < microBatches);
}

/**
 * DualPipeV: a forward of one chunk beside a backward of the other, which are listed one after the other here. It needs as many
 * micro-batches as stages. Sources: deepseek-ai/DualPipe, dualpipe/dualpipev.py; PyTorch 2.13,
 * torch/distributed/pipelining/schedules.py, `ScheduleDualPipeV`.
 */
export function dualPipeV(shape: PipelineShape, rank: number): readonly PipelineAction[] {
  const { ranks, microBatches } = shape;
  const own = new RankActions(stagesInV(shape, rank));
  const behind = ranks - rank - 1;
  times(2 * behind, () => {
    own.do('forward', 0);
  });
  times(rank + 1, () => {
    own.do('forward', 0);
    own.do('forward', 1);
  });
  times(behind, () => {
    own.do('backward-input', 1);
    own.doWeights();
    own.do('forward', 1);
  });
  times(microBatches - 2 * ranks + rank + 1, () => {
    own.do('forward', 0);
    own.do('backward', 1);
    own.do('forward', 1);
    own.do('backward', 0);
  });
  times(behind, () => {
    own.do('backward', 1);
    own.do('forward', 1);
    own.do('backward', 0);
  });
  // From the middle of the last backwards on, their second part waits.
  const whole = rank + 1;
  for (let index = 0; index < whole; index += 1) {
    const isPast = (chunk: Chunk): boolean =>
      index > Math.floor(whole / 2) || (index === Math.floor(whole / 2) && (rank % 2 === 1 || chunk === 0));
    for (const chunk of [1, 0] as const) own.do(isPast(chunk) ? 'backward-input' : 'backward', chunk);
  }
  times(behind, () => {
    own.doWeights();
    own.do('backward-input', 0);
  });
  times(rank + 1, () => {
    own.doWeights();
  });
  return own.actions;
}
