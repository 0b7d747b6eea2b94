/** `findings/out-of-memory`: the peak is above what the GPU leaves for tensors. */

import { repeatedBlocks } from '../../analysis/repeatedBlocks.ts';
import { formatBytes } from '../../model/format.ts';
import type { Finding } from '../../model/stepCost.ts';
import { bytes } from '../../model/units.ts';
import type { StepMemory } from '../stepMemory.ts';
import type { EstimatedStep } from './findings.ts';

/** What the driver and the framework take before the first tensor: kernels, streams, NCCL. Assumption. */
export const runtimeReserve = bytes(512 * 2 ** 20);

export function outOfMemory({ plan, memory }: EstimatedStep): readonly Finding[] {
  const room = memory.capacity - runtimeReserve;
  if (memory.peak <= room) return [];
  const [kind, size] = largestKind(memory);
  const batch = largestBatch(memory);
  const title = plan.cluster.gpu.title;
  return [
    {
      code: 'findings/out-of-memory',
      severity: 'warning',
      layer: '',
      message: `The step needs ${formatBytes(memory.peak)}; ${title} has ${formatBytes(memory.capacity)}, of which ${formatBytes(runtimeReserve)} go to driver and framework. The largest part is ${kind}, ${formatBytes(size)}`,
      fix:
        batch > 0
          ? `Lower the batch per GPU to ${batch}, the largest that fits${checkpointAdvice(plan)}`
          : `No batch fits: ${formatBytes(bytes(memory.parameters + memory.optimizerState + memory.communicationBuffers))} of parameters, optimizer state and buffers stay, and a single sample comes on top. Choose a GPU with more memory, or shard the model`,
      ...(batch > 0 ? { change: { kind: 'batch', batch } } : {}),
    },
  ];
}

/** Where blocks repeat and keep all that backward needs. */
function checkpointAdvice({ scenario, training }: EstimatedStep['plan']): string {
  if (scenario.mode !== 'training' || scenario.checkpoint !== undefined) return '';
  const blocks = new Set(repeatedBlocks(training.analysis)?.flatMap((block) => block ?? [])).size;
  return blocks === 0 ? '' : `; or keep only what goes into its ${blocks} blocks (checkpoint: block)`;
}

/** The largest batch that fits at every moment of the step; what grows does so with the batch. 0 where none fits. */
export const largestBatch = (memory: StepMemory): number =>
  memory.largestBatch(memory.capacity - runtimeReserve);

function largestKind(memory: StepMemory): readonly [string, ReturnType<typeof bytes>] {
  const kinds = [
    ['saved activations', memory.activations],
    ['parameters', memory.parameters],
    ['gradients', memory.gradients],
    ['optimizer state', memory.optimizerState],
    ['workspace', memory.workspace],
    ['communication buffers', memory.communicationBuffers],
  ] as const;
  return kinds.reduce((largest, kind) => (kind[1] > largest[1] ? kind : largest));
}
