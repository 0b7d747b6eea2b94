/**
 * Training whose state lies in the memory of the host, as ZeRO-Offload and FSDP's CPU offload keep it: gradients go down
 * over the host link once they are reduced, the optimizer runs on the processors, and parameters come back.
 *
 * Sources: Ren et al., "ZeRO-Offload", USENIX ATC 2021, section 4; microsoft/DeepSpeed, deepspeed/runtime/zero/stage_1_and_2.py,
 * `async_inplace_copy_grad_to_fp32_buffer_from_gpu` and `step`; PyTorch 2.13, torch/distributed/fsdp/_fully_shard/_fsdp_param.py,
 * `all_gather_inputs`, and _fsdp_collectives.py, `foreach_reduce`.
 */

import { memoize } from '../model/memoize.ts';
import type { Optimizer, Precision } from '../model/scenario.ts';
import { type Bytes, bytes } from '../model/units.ts';
import type { Update, UpdateSizes } from './behaviour.ts';
import type { Channel, Exchange, Message, Stage, WorkerGroup } from './exchange.ts';
import type { Gradient } from './gradient.ts';
import { type HeldWeights, optimizerUpdate } from './pytorch/optimizerUpdate.ts';

export interface HostCopies {
  /** Bytes of a gradient that are copied to the host, for each that is reduced. */
  readonly perReduced: number;
  /** Bytes of a parameter that are copied to the GPU before it is gathered, for each that is gathered. */
  readonly perGathered: number;
  readonly onHost: NonNullable<Exchange['onHost']>;
  /** Memory of a GPU that copies need, beside what is sent from anyway. */
  readonly buffers: Bytes;
}

/** Whether options of a framework ask for it. */
export const updatesOnHost = (options: ReadonlyMap<string, string>): boolean =>
  options.get('offload-optimizer') === 'cpu' || options.get('cpu-offload') === 'true';

const copiesToHost: Channel = { name: 'copies to host', order: 'first come' };
const copiesToGpu: Channel = { name: 'copies to GPU', order: 'first come' };

/** The same exchange with copies beside its collectives; of one GPU by itself the copies alone. */
export function withHostCopies(exchange: Exchange, group: WorkerGroup, how: HostCopies): Exchange {
  const shards = exchange.shards.optimizerState;
  const stagesOf = memoize((stages: Message['stages']): readonly Stage[] => {
    const sent = group.gpus === 1 ? [] : stages;
    const gathered = bytesOf(stages, ['all-gather']);
    const reduced = bytesOf(stages.slice(0, 1), ['reduce-scatter', 'all-reduce']);
    return [
      ...(gathered * how.perGathered > 0
        ? [hostCopy('to GPU', bytes((gathered * how.perGathered) / shards))]
        : []),
      ...sent,
      ...(reduced * how.perReduced > 0
        ? [hostCopy('to host', bytes((reduced * how.perReduced) / shards))]
        : []),
    ];
  });
  return {
    ...exchange,
    messages: exchange.messages
      .map((message) => ({ ...message, stages: stagesOf(message.stages) }))
      .filter(({ stages }) => stages.length > 0),
    hostWaits: true,
    onHost: how.onHost,
    buffers: bytes(exchange.buffers + how.buffers),
  };
}

/** Pinned memory, over the link to the host that the cluster says GPUs have. */
export const hostCopy = (way: 'to host' | 'to GPU', size: Bytes): Stage => ({
  channel: way === 'to host' ? copiesToHost : copiesToGpu,
  operation: { kind: 'copy', way, bytes: size, sharing: 'as linked' },
});

function bytesOf(stages: Message['stages'], kinds: readonly string[]): number {
  return stages.reduce(
    (total, { operation }) =>
      operation.kind === 'collective' && kinds.includes(operation.collective)
        ? total + operation.bytes
        : total,
    0,
  );
}

export const largestOfGradients = (gradients: readonly Gradient[]): number =>
  gradients.reduce((most, { elements }) => Math.max(most, elements), 0);

/**
 * The passes of the update through the memory of the host; the GPU keeps no state. `beside`: bytes of each element that are read
 * and written there beside the optimizer's own.
 */
export function updateOnHost(
  optimizer: Optimizer,
  precision: Precision,
  sizes: UpdateSizes,
  {
    held,
    isFused,
    beside = 0,
    isOneThread = false,
  }: {
    readonly held: HeldWeights;
    readonly isFused: boolean;
    readonly beside?: number;
    readonly isOneThread?: boolean;
  },
): Update {
  // torch/optim/optimizer.py, `_default_to_fused_or_foreach`: lists are the default on accelerators alone.
  const kernels = isFused ? 'fused' : 'loop';
  const own = optimizerUpdate(optimizer, kernels, precision, sizes, held);
  const passes = own.kernels.reduce((total, kernel) => total + kernel.bytes, 0);
  return {
    kernels: [],
    hostWaits: true,
    hostBytes: bytes(optimizer === 'none' ? 0 : passes + beside * sizes.elements),
    ...(isOneThread ? { hostIsOneThread: true } : {}),
    stateBytes: bytes(0),
    stateBytesOf: () => 0,
    temporaryBytes: bytes(0),
  };
}
