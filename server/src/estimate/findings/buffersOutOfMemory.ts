/** `findings/buffers-out-of-memory`: the step would fit without the copies that messages are sent from. */

import { formatBytes } from '../../model/format.ts';
import type { Finding } from '../../model/stepCost.ts';
import { runtimeReserve } from '../memory/reservedMemory.ts';
import type { EstimatedStep } from './estimatedStep.ts';

export function buffersOutOfMemory({ plan, memory }: EstimatedStep): readonly Finding[] {
  const room = memory.capacity - runtimeReserve;
  if (memory.peak <= room || memory.peak - memory.communicationBuffers > room) return [];
  const { name } = plan.behaviour;
  const views = name === 'pytorch-ddp';
  return [
    {
      code: 'findings/buffers-out-of-memory',
      severity: 'warning',
      layer: '',
      message: `The step would fit without its ${formatBytes(memory.communicationBuffers)} of communication buffers`,
      fix: views
        ? 'Make gradients views of the buckets: gradient-as-bucket-view=true'
        : 'Use smaller message buffers, or a framework that sends gradients without a copy',
      ...(views
        ? { change: { kind: 'framework-option', name: 'gradient-as-bucket-view', value: 'true' } }
        : {}),
    },
  ];
}
