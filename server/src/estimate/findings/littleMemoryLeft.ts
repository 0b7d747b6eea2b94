/** `findings/little-memory-left`: tensors fit, but not with all that is taken beside them and between them. */

import { formatBytes } from '../../model/format.ts';
import type { Finding } from '../../model/stepCost.ts';
import { bytes } from '../../model/units.ts';
import { memoryOf } from '../memoryOf.ts';
import { recost } from '../recost.ts';
import { mostRuntimeReserve, reservedMemory, runtimeReserve } from '../reservedMemory.ts';
import type { StepPlan } from '../stepPlan.ts';
import { tightestGpu } from '../tightestGpu.ts';
import type { EstimatedStep } from './findings.ts';

/** Where tensors need less of what is left than this, no order of them takes all of it; the step is not placed then. */
const surelyFits = 0.75;

export function littleMemoryLeft({ plan, memory, reserved }: EstimatedStep): readonly Finding[] {
  const least = memory.capacity - mostRuntimeReserve;
  if (memory.peak > memory.capacity - runtimeReserve || memory.peak <= surelyFits * least) return [];
  const { bounds, surelyFitsIn, held } = reserved();
  if (surelyFitsIn(least)) return [];
  const [low, high] = bounds;
  const { peak } = held();
  const most = bytes(Math.max(high, held().reserved));
  const batch = placeableBatch(plan, memory.largestBatch((least * low) / most), least);
  const segments = 'set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, which fragments less';
  return [
    {
      code: 'findings/little-memory-left',
      severity: 'information',
      layer: '',
      message: `Tensors need ${formatBytes(memory.peak)} at once${peak > longer * memory.peak ? `, ${formatBytes(peak)} where variables hold what they name until calls return` : ''}, for which the caching allocator reserves up to ${formatBytes(most)}; ${tightestGpu(plan).title} has ${formatBytes(memory.capacity)}, of which ${formatBytes(runtimeReserve)} to ${formatBytes(mostRuntimeReserve)} go to driver, framework and what kernels work in`,
      fix:
        batch > 0
          ? `Lower the batch per GPU to ${batch} to be sure that it fits, or ${segments}`
          : `${segments.charAt(0).toUpperCase()}${segments.slice(1)}`,
      ...(batch > 0 ? { change: { kind: 'batch', batch } } : {}),
    },
  ];
}

/** Less more than this is not worth telling. */
const longer = 1.01;

/** A batch that surely fits, near the largest: `sure` and those between it and the present one are placed, a few of them. */
function placeableBatch(plan: StepPlan, sure: number, room: number): number {
  let fits = sure;
  let fails = plan.training.batch;
  for (let tries = 0; tries < mostTries && fails - fits > 1; tries += 1) {
    const batch = Math.floor((fits + fails) / 2);
    const there = recost(plan, { batchPerGpu: batch });
    if (there === undefined) break;
    if (reservedMemory(there, memoryOf(there).peak).surelyFitsIn(room)) fits = batch;
    else fails = batch;
  }
  return fits;
}

const mostTries = 4;
