/**
 * When the batch of each step is on the GPU: read, decoded and copied before the step, or while others compute.
 *
 * In steady state the cases of Shi, Wang, Chu (arXiv 1711.05979): t_io + t_h2d + t without anything ahead;
 * max(t_io, t_h2d + t) with reading ahead; max(t_io + t_h2d, t) with one thread that does both ahead;
 * max(t_io, t_h2d, t) where stages of different batches run at once.
 */

import type { TimedInput } from './stepWork.ts';

export interface InputSupply {
  /** When the step, which could start at `time`, has its batch. Asked for step by step. */
  readonly arrival: (step: number, time: number) => number;
  /** The state of earlier batches, relative to `time`, when the step begins then. Steps with equal states repeat. */
  readonly ahead: (step: number, time: number) => readonly number[];
  readonly batches: readonly SuppliedBatch[];
}

export interface SuppliedBatch {
  readonly readFrom: number;
  readonly readUntil: number;
  readonly copiedFrom: number;
  readonly copiedUntil: number;
}

/** Before the first one. */
const noBatch: SuppliedBatch = { readFrom: 0, readUntil: 0, copiedFrom: 0, copiedUntil: 0 };

/** Batches that are read, or on the GPU, and wait for their step. */
const depth = 2;

export function createInputSupply({ read, copy, ahead, pipelined }: TimedInput): InputSupply {
  const batches: SuppliedBatch[] = [];
  /** When each step took its batch. */
  const taken: number[] = [];
  const takenAt = (step: number): number => taken[step] ?? 0;
  return {
    batches,
    ahead: (step, time) => {
      const { readUntil, copiedUntil } = batches[step - 1] ?? noBatch;
      return [readUntil, copiedUntil, takenAt(step - depth), takenAt(step - 1)].map((at) => at - time);
    },
    arrival: (step, time) => {
      const before = batches[step - 1] ?? noBatch;
      const slot = takenAt(step - depth);
      const isReadAhead = ahead !== 'nothing';
      const isCopiedAhead = ahead === 'reading and copying';
      const reader = pipelined ? before.readUntil : before.copiedUntil;
      const readFrom = isReadAhead ? Math.max(isCopiedAhead ? reader : before.readUntil, slot) : time;
      const readUntil = readFrom + read;
      const copiedFrom = Math.max(readUntil, isCopiedAhead ? Math.max(before.copiedUntil, slot) : time);
      const copiedUntil = copiedFrom + copy;
      batches.push({ readFrom, readUntil, copiedFrom, copiedUntil });
      const start = Math.max(time, copiedUntil);
      taken.push(start);
      return start;
    },
  };
}
