/** What of a step that is out of memory fits, as it is or otherwise. */

import { formatBytes } from '../../model/format.ts';
import type { FrameworkChoice } from '../../model/scenario.ts';
import { memoryOf } from '../memory/memoryOf.ts';
import { isLong, placeableBatch } from '../memory/placeableBatch.ts';
import { runtimeReserve, withRuntime } from '../memory/reservedMemory.ts';
import type { StepMemory } from '../memory/stepMemory.ts';
import type { StepPlan } from '../plan/stepPlan.ts';
import { fittingBatch, recost } from '../recost.ts';

/** The largest batch found that is not out of memory itself; of a long step the largest whose tensors fit. */
export function placeable(plan: StepPlan, memory: StepMemory, room: number): number {
  const most = fittingBatch(plan, memory, room);
  if (isLong(plan)) return most;
  return placeableBatch(plan, most, {
    room,
    fits: (reserved) => reserved.fitsIn(room),
    taken: (reserved) => reserved.bounds.high,
  });
}

/** What a changed step needs where it fits, else the batch with which it does, where that is more than what fits unchanged. */
export function needsText(after: StepPlan, memory: StepMemory, unchanged: number): string | undefined {
  const room = memory.capacity - runtimeReserve;
  if (memory.peak <= room) return `needs ${formatBytes(withRuntime(memory.peak))}`;
  const batch = placeable(after, memory, room);
  return batch <= unchanged ? undefined : `lets a batch of ${batch} fit`;
}

/**
 * The step with other options of its framework, and what it needs; `undefined` where that is not less memory. `batch`: the largest
 * found that fits as it is.
 */
export function lessWithOption(
  plan: StepPlan,
  { peak }: Pick<StepMemory, 'peak'>,
  batch: number,
  options: FrameworkChoice['options'],
): { readonly after: StepPlan; readonly needs: string } | undefined {
  const { framework } = plan.scenario;
  const after = recost(plan, { framework: { ...framework, options: { ...framework.options, ...options } } });
  const needs = after && needsOfLess(after, peak, batch);
  return after === undefined || needs === undefined ? undefined : { after, needs };
}

/** What a changed step needs; `undefined` where that is not less than `peak`, or lets no larger batch fit. */
export function needsOfLess(after: StepPlan, peak: StepMemory['peak'], batch: number): string | undefined {
  const less = memoryOf(after);
  return less.peak < peak ? needsText(after, less, batch) : undefined;
}
