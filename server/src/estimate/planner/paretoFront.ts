/** Layouts that no other beats: none is as fast, with as few GPUs and as little memory, and better in one of these. */

import { gpuMemory } from '../../model/gpuMemory.ts';
import type { LayoutCandidate } from './layoutCandidate.ts';

export interface PlannedLayout {
  readonly gpus: number;
  readonly layout: LayoutCandidate;
}

/**
 * Fastest first. Money is GPUs times seconds: what is no worse in both is no dearer, so that it needs no comparison of its own.
 */
export function paretoFront(layouts: readonly PlannedLayout[]): readonly PlannedLayout[] {
  const front: PlannedLayout[] = [];
  // Whatever comes later is slower, or as fast with more GPUs or memory.
  for (const one of layouts.toSorted(byAll))
    if (!front.some((other) => other.gpus <= one.gpus && memoryOf(other) <= memoryOf(one))) front.push(one);
  return front;
}

/** Bytes of the GPU that needs the most. */
export const memoryOf = ({ layout }: PlannedLayout): number => gpuMemory(layout.cost).needed;

const byAll = (one: PlannedLayout, other: PlannedLayout): number =>
  one.layout.step - other.layout.step || one.gpus - other.gpus || memoryOf(one) - memoryOf(other);
