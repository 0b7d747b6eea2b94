/**
 * Horovod over eager PyTorch: gradients fused into one buffer as they become ready, all-reduced during backward.
 *
 * Once in a cycle, rank 0 learns which gradients are ready on all workers, and what is ready is sent in buffers of at
 * most the fusion threshold (Horovod documentation, "Tensor Fusion"; horovod/common/operations.cc, RunLoopOnce).
 * Defaults from Horovod 0.21 on: 128 MB and 1 ms, before 64 MB and 5 ms; a threshold of 0 sends every tensor by itself.
 * `optimizer.step()` first waits on the host until all gradients are back, and then launches the update (`synchronize` in
 * horovod/torch/optimizer.py; mpi_ops_v2.cc, WaitAndClear).
 * The workers agree by two all-reduces of a few bytes through MPI (response cache, from 0.16.2; controller.cc).
 */

import type { Operation } from '../communication/operation.ts';
import { type Bytes, bytes, bytesPerSecond, type Seconds, seconds } from '../model/units.ts';
import {
  backwardAt,
  type Channel,
  type Message,
  noExchange,
  type ProfiledStep,
  type Stage,
} from './exchange.ts';
import type { FrameworkEntry } from './frameworkEntry.ts';
import type { Gradient } from './gradient.ts';
import { fromZero, oneOf } from './options.ts';
import { allReduceEach, ncclStream, packBuckets } from './packBuckets.ts';
import { eagerOptions, eagerPytorch } from './pytorchDdp.ts';
import { wireBytes, wireOption } from './wireType.ts';

export const horovod: FrameworkEntry = {
  name: 'horovod',
  documentation: 'Horovod over PyTorch: gradients fused into one buffer, all-reduced during backward',
  overlaps: 'input: read, decoded and copied ahead; gradients: fused, during backward; update: after all',
  sources: [
    'Horovod documentation, "Tensor Fusion"',
    'horovod/common/operations.cc and controller.cc, Horovod 0.28',
  ],
  options: [
    {
      name: 'fusion-mb',
      default: '128',
      documentation:
        'size of the fusion buffer in MiB (HOROVOD_FUSION_THRESHOLD), 0 for one message per tensor',
      expects: fromZero,
    },
    {
      name: 'cycle-ms',
      default: '1',
      documentation: 'how often ready gradients are collected, in milliseconds (HOROVOD_CYCLE_TIME)',
      expects: fromZero,
    },
    {
      name: 'operations',
      default: 'nccl',
      documentation: 'who runs all-reduces: nccl, or mpi through host memory (HOROVOD_GPU_OPERATIONS)',
      expects: oneOf('nccl', 'mpi'),
    },
    wireOption,
    ...eagerOptions,
  ],
  create: (options) => {
    return {
      ...eagerPytorch(options),
      name: 'horovod',
      exchange: (gradients, { gpus }, profiled) => {
        if (gpus === 1) return noExchange;
        const messages = fusedMessages(gradients, profiled, options);
        // Allocated whole, at its first use (horovod/common/fusion_buffer_manager.cc, InitializeBuffer).
        return {
          ...noExchange,
          hostWaits: true,
          messages,
          buffers: bytes(gradients.length > 1 ? thresholdOf(options) : 0),
        };
      },
      notes: [
        `Horovod, fusion buffer of ${options.get('fusion-mb')} MiB, cycle of ${options.get('cycle-ms')} ms`,
      ],
    };
  },
};

const thresholdOf = (options: ReadonlyMap<string, string>): number =>
  Number(options.get('fusion-mb')) * 2 ** 20;

const coordinator: Channel = { name: 'Horovod coordinator', order: 'first come' };
const throughHost: Channel = { name: 'MPI', order: 'first come' };

/** Two bit vectors: of tensors that are ready, and of those that a worker has no longer in its cache. */
const agreement: Operation = {
  kind: 'collective',
  collective: 'all-reduce',
  bytes: bytes(256),
  over: 'first of each node',
  library: 'open-mpi',
  inHostMemory: true,
};

function fusedMessages(
  gradients: readonly Gradient[],
  { backwardEnds, timeOf }: ProfiledStep,
  options: ReadonlyMap<string, string>,
): readonly Message[] {
  const threshold = thresholdOf(options);
  const cycle = Number(options.get('cycle-ms')) * 1e-3;
  const isMpi = options.get('operations') === 'mpi';
  const how = isMpi ? ({ library: 'open-mpi' } as const) : {};
  const ends = backwardEnds();
  const agreeing = 2 * timeOf(agreement);
  const period = Math.max(cycle, agreeing, 1e-6);
  const messages: Message[] = [];
  let position = 0;
  for (let first = 0; first < gradients.length; ) {
    const ready = ends[gradients[first]?.readyAfter ?? 0] ?? 0;
    const tick = Math.ceil(ready / period) * period;
    // The cycle ends while the work at this position runs: what is sent leaves when it has ended.
    while (position < ends.length - 1 && (ends[position] ?? 0) < tick) position += 1;
    let end = first + 1;
    while ((gradients[end]?.readyAfter ?? Number.POSITIVE_INFINITY) <= position) end += 1;
    const late = Math.max(0, tick - (ends[position] ?? 0));
    const buckets = packBuckets(gradients.slice(first, end), [threshold], wireBytes(options));
    for (const [index, message] of allReduceEach(buckets, how, isMpi ? throughHost : ncclStream).entries()) {
      const copying = isMpi ? [throughFusionBuffer(message.bytes)] : [];
      messages.push({
        ...message,
        after: backwardAt(position),
        stages: [
          coordination(index === 0 ? seconds(late + agreeing) : seconds(0)),
          ...copying,
          ...message.stages,
        ],
      });
    }
    first = end;
  }
  return messages;
}

/**
 * In host memory its one thread copies what is fused into the buffer and out of it (operations.cc, MEMCPY_IN_FUSION_BUFFER),
 * and MPI a single tensor into its output: twice the bytes, at what a core moves (`hostSum.ts`).
 */
const throughFusionBuffer = (size: Bytes): Stage => ({
  channel: throughHost,
  operation: {
    kind: 'host pass',
    bytes: bytes(2 * size),
    rate: bytesPerSecond(10e9),
    what: 'copies into the fusion buffer and out of it',
  },
});

const coordination = (time: Seconds): Stage => ({
  channel: coordinator,
  operation: { kind: 'fixed', time, what: 'agreement on what is ready' },
});
