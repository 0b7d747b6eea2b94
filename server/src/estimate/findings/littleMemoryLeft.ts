/** `findings/little-memory-left`: tensors fit, but not with all that is taken beside them and between them. */

import { capitalized } from '../../model/capitalized.ts';
import { formatBytes } from '../../model/format.ts';
import type { Finding } from '../../model/stepCost.ts';
import { bytes } from '../../model/units.ts';
import { placeableBatch } from '../memory/placeableBatch.ts';
import { fitOf, mostRuntimeReserve, runtimeReserve, withRuntime } from '../memory/reservedMemory.ts';
import { tightestGpu } from '../memory/tightestGpu.ts';
import type { EstimatedStep } from './estimatedStep.ts';

export function littleMemoryLeft({ plan, memory, reserved }: EstimatedStep): readonly Finding[] {
  const least = memory.capacity - mostRuntimeReserve;
  if (fitOf(memory, reserved) !== 'may') return [];
  const { bounds, held } = reserved();
  const { peak } = held();
  const most = bytes(Math.max(bounds.high, held().reserved));
  const batch = placeableBatch(plan, Math.min(plan.training.batch - 1, memory.largestBatch(least)), {
    room: least,
    fits: (there) => there.surelyFitsIn(least),
    taken: (there) => Math.max(there.bounds.high, there.held().reserved),
  });
  const segments = 'set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to reduce fragmentation';
  return [
    {
      code: 'findings/little-memory-left',
      severity: 'information',
      layer: '',
      message: `The step needs ${formatBytes(withRuntime(bounds.high))} or more; ${tightestGpu(plan).title} has ${formatBytes(memory.capacity)}. Tensors need ${formatBytes(memory.peak)} at once${peak > longer * memory.peak ? `, ${formatBytes(peak)} while Python variables keep tensors alive until calls return` : ''}, for which the caching allocator reserves up to ${formatBytes(most)}. Driver, framework and what kernels work in take ${formatBytes(runtimeReserve)} to ${formatBytes(mostRuntimeReserve)}`,
      fix:
        batch > 0
          ? `Lower the batch per GPU to ${batch}, which certainly fits, or ${segments}`
          : capitalized(segments),
      ...(batch > 0 ? { change: { kind: 'batch', batch } } : {}),
    },
  ];
}

/** Less more than this is not worth telling. */
const longer = 1.01;
