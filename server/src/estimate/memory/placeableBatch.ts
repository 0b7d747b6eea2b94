/** The largest batch that the allocator can place, found by placing a few. */

import type { StepPlan } from '../plan/stepPlan.ts';
import { recost } from '../recost.ts';
import { memoryOf } from './memoryOf.ts';
import { type ReservedMemory, reservedMemory } from './reservedMemory.ts';

/** What is asked of a batch. */
export interface Placing {
  /** What is left for tensors. */
  readonly room: number;
  readonly fits: (reserved: ReservedMemory) => boolean;
  /** What the allocator takes where it has all it asks for. */
  readonly taken: (reserved: ReservedMemory) => number;
}

/**
 * The largest batch found that fits, none larger than `most`; 0 where none was found. What the allocator takes over what
 * tensors need says where to look next; then what lies between is halved.
 */
export function placeableBatch(plan: StepPlan, most: number, { room, fits, taken }: Placing): number {
  const tries = isLong(plan) ? 3 : 9;
  let largest = 0;
  let fails = most + 1;
  let batch = most;
  for (let count = 0; count < tries && batch > largest; count += 1) {
    const there = recost(plan, { batchPerGpu: batch });
    // The model fixes its batch, and nothing else can be tried.
    if (there === undefined) return most;
    const memory = memoryOf(there);
    const reserved = reservedMemory(there, memory.peak);
    if (fits(reserved)) largest = batch;
    else fails = batch;
    const next = memory.largestBatch((room * memory.peak) / Math.max(memory.peak, taken(reserved)));
    batch = largest > 0 ? Math.floor((largest + fails) / 2) : Math.min(next, fails - 1);
  }
  return largest;
}

/** Whether placing the step takes too long to be done often between two keystrokes. */
export const isLong = ({ training }: StepPlan): boolean => training.costs.length > 2000;
