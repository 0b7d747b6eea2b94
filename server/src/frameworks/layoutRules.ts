/** What a framework sets of a parallel layout where nobody says, and which layouts it refuses. */

import type { ParallelScenario, PipelineScheduleName } from '../model/scenario.ts';

export interface LayoutRules {
  /** Where a person says nothing. */
  readonly defaults: Partial<Pick<ParallelScenario, 'sequence' | 'gathered' | 'contextExchange' | 'stages'>>;
  /** Left out: all. */
  readonly schedules?: readonly PipelineScheduleName[];
  /** Why it does not run a layout, and what to do; `undefined` where it does. */
  readonly refuses?: (layout: AskedLayout) => string | undefined;
  /** What a person may not expect of a layout on so many GPUs, and what to do. */
  readonly warns?: (layout: AskedLayout, gpus: number) => string | undefined;
  /** `undefined` where these options let all collectives of tensor parallelism wait. */
  readonly overlap?: (options: ReadonlyMap<string, string>, group: TensorGroup) => TensorOverlap | undefined;
  /** The option that turns it on: true or false. */
  readonly overlapOption?: string;
  /** With this option a row goes once to each GPU and each node that has some of its experts; else once for each expert. */
  readonly rowsOnce?: { readonly option: string; readonly value: string };
  /** Where a group has more GPUs than heads of keys and values, several compute with the same; left out, attention stays whole. */
  readonly sharesHeads?: true;
  /** Micro-batches of a step with interleaved stages are a multiple of ranks. */
  readonly wholeRounds?: true;
}

/** Whether rows go to experts so with these options. */
export const sendsRowsOnce = (
  { rowsOnce }: Pick<LayoutRules, 'rowsOnce'>,
  options: ReadonlyMap<string, string>,
): boolean => rowsOnce !== undefined && options.get(rowsOnce.option) === rowsOnce.value;

/** The GPUs that share each layer. */
export interface TensorGroup {
  /** Whether tokens are split between the pairs of products. */
  readonly sequence: boolean;
  readonly crossesNodes: boolean;
}

/** How collectives of tensor parallelism run beside the products next to them. */
export interface TensorOverlap {
  /** What a product reads, or the gradient that its backward reads: gathered piece by piece ahead of it. Left out: it waits. */
  readonly gathered?: PieceByPiece;
  /** What a product gives: scattered piece by piece behind it. Left out: it waits. */
  readonly scattered?: PieceByPiece;
  /** In backward, whole collectives beside a product that does not need them; left out: they wait. */
  readonly bulk?: BesideBackward;
}

/** Multiprocessors that copies take from the products, or `nccl`: kernels slow those beside them, as those of gradients do. */
export type BesideBackward = number | 'nccl';

export interface PieceByPiece {
  /** Left out: as many as GPUs share a layer, of which each has one from the start, or keeps the last. */
  readonly pieces?: number;
  /** That copies take from the products. */
  readonly multiprocessors: number;
  /** Pieces of all GPUs are added up by a kernel behind the last. */
  readonly sums?: true;
}

export interface AskedLayout {
  readonly parallel: ParallelScenario;
  /** Blocks that the model can be cut between. */
  readonly blocks: number;
  /** Heads of each attention. */
  readonly heads: readonly number[];
  /** Heads of keys and values of attention in one operator. */
  readonly keyHeads: readonly number[];
  /** Whether attention has a sliding window. */
  readonly hasWindow: () => boolean;
  readonly options: ReadonlyMap<string, string>;
}

/** A program of one's own in PyTorch takes what the engine can cost. */
export const freeLayout: LayoutRules = { defaults: {} };
