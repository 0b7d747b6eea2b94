/** `findings/little-memory-left`: tensors fit, but what the allocator cannot use between them may not. */

import { formatBytes } from '../../model/format.ts';
import type { Finding } from '../../model/stepCost.ts';
import { mostFragmentation, reservedMemory, runtimeReserve } from '../reservedMemory.ts';
import type { EstimatedStep } from './findings.ts';

export function littleMemoryLeft({ plan, memory }: EstimatedStep): readonly Finding[] {
  const room = memory.capacity - runtimeReserve;
  const [, high] = reservedMemory(memory.peak);
  if (memory.peak > room || high <= room) return [];
  const batch = memory.largestBatch(room / mostFragmentation);
  const segments = 'set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, which fragments less';
  return [
    {
      code: 'findings/little-memory-left',
      severity: 'information',
      layer: '',
      message: `Tensors need ${formatBytes(memory.peak)} at once, for which the caching allocator may reserve up to ${formatBytes(high)}; ${plan.cluster.gpu.title} has ${formatBytes(memory.capacity)}, of which ${formatBytes(runtimeReserve)} go to driver and framework`,
      fix:
        batch > 0
          ? `Lower the batch per GPU to ${batch} to be sure that it fits, or ${segments}`
          : `${segments.charAt(0).toUpperCase()}${segments.slice(1)}`,
      ...(batch > 0 ? { change: { kind: 'batch', batch } } : {}),
    },
  ];
}
