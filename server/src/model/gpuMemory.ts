/** The memory that a step needs of a GPU, as one figure: it decides whether the step fits, is shown, and is marked. */

import { atLeast, formatBytes } from './format.ts';
import type { Fit, StepCost } from './stepCost.ts';
import { type Bytes, bytes } from './units.ts';

/** Of the GPU that needs the most. */
export interface GpuMemory {
  /**
   * What decides: tensors at their peak, driver and framework. Where that is less than the GPU has and the tensors still may
   * not be placed, what the caching allocator reserves takes the place of the tensors.
   */
  readonly needed: Bytes;
  /** Of one GPU; null where it is unknown. */
  readonly capacity: Bytes | null;
  /** null where the capacity is unknown. */
  readonly fits: Fit | null;
  /** False where `needed` is a lower bound. */
  readonly exact: boolean;
}

export function gpuMemory({ fits, totals }: Pick<StepCost, 'fits' | 'totals'>): GpuMemory {
  const { memory, exact } = totals;
  const { peak, context, capacity } = memory;
  const tensors = bytes(peak + context);
  if (capacity === null) return { needed: tensors, capacity, fits: null, exact };
  // What is unknown makes a step that may not fit of any other; its tensors are not placed for that.
  const isPlaced = tensors <= capacity && (fits === 'no' || (fits === 'may' && exact));
  return {
    // Places the whole step where it is read.
    needed: isPlaced ? bytes(memory.reserved.high + context) : tensors,
    capacity,
    fits,
    exact,
  };
}

/** `13.4 GiB`, `may not fit: 78.9 GiB`, `fit unknown: ≥ 70.1 GiB`, `out of memory: 325 GiB`. */
export function markedMemory(memory: Omit<GpuMemory, 'capacity'>): string {
  const mark = memoryMark(memory);
  return `${mark === '' ? '' : `${mark}: `}${atLeast(formatBytes(memory.needed), memory.exact)}`;
}

/** `out of memory: 325 GiB of 79.2 GiB`. */
export const memoryText = (memory: GpuMemory): string =>
  `${markedMemory(memory)} of ${memory.capacity === null ? 'unknown memory' : formatBytes(memory.capacity)}`;

/** A lower bound that is far below the capacity says nothing against the step: its fit is unknown. */
export function memoryMark({ fits, exact }: Pick<GpuMemory, 'fits' | 'exact'>): string {
  if (fits === null || fits === 'yes') return '';
  if (fits === 'no') return 'out of memory';
  return exact ? 'may not fit' : 'fit unknown';
}
