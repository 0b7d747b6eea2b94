/**
 * Horovod over eager PyTorch: gradients fused into one buffer as they are enqueued, all-reduced during backward.
 *
 * A hook enqueues a gradient when the host has launched what computes it, which may be long before the GPU has. One thread
 * goes round, once in a cycle: the workers agree on what all of them have enqueued, and that is sent in buffers of at most the
 * fusion threshold, each when its last gradient is there (Horovod documentation, "Tensor Fusion"; horovod/common/operations.cc,
 * RunLoopOnce and PerformOperation). Up to 0.22 the thread itself waits for these (WAIT_FOR_DATA), so that all that was
 * enqueued meanwhile goes together; from 0.23 on a stream does (pull request 2963). An all-reduce by MPI holds the thread.
 * Defaults from Horovod 0.21 on: 128 MB and 1 ms, before 64 MB and 5 ms; a threshold of 0 sends every tensor by itself.
 * `optimizer.step()` first waits on the host until all gradients are back, and then launches the update (`synchronize` in
 * horovod/torch/optimizer.py; mpi_ops_v2.cc, WaitAndClear).
 * The workers agree by two all-reduces of a few bytes through MPI (response cache, from 0.16.2; controller.cc); without a
 * cache rank 0 takes the names from each of the others and answers.
 */

import type { Operation } from '../communication/operation.ts';
import { floatAt, itemAt } from '../model/at.ts';
import { type Bytes, bytes, bytesPerSecond, type Seconds, seconds } from '../model/units.ts';
import { bySize } from './bySize.ts';
import {
  denseGradients,
  embeddingHandling,
  embeddingsOption,
  gatheredRows,
  receivedRows,
} from './embeddingTables.ts';
import {
  backwardAt,
  type Channel,
  type Message,
  noExchange,
  type ProfiledStep,
  type Stage,
  theUpdate,
} from './exchange.ts';
import type { FrameworkEntry } from './frameworkEntry.ts';
import type { Gradient } from './gradient.ts';
import { fromZero, oneOf } from './options.ts';
import { ncclStream, packWithin } from './packBuckets.ts';
import { eagerOptions, eagerPytorch } from './pytorchDdp.ts';
import { wireBytes, wireOption } from './wireType.ts';

export const horovod: FrameworkEntry = {
  name: 'horovod',
  documentation: 'Horovod over PyTorch: gradients fused into one buffer, all-reduced during backward',
  trainsIn: 'half',
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
      documentation: 'library of all-reduce: nccl, or mpi through host memory (HOROVOD_GPU_OPERATIONS)',
      expects: oneOf('nccl', 'mpi'),
    },
    {
      name: 'waits-for-data',
      default: 'false',
      documentation: 'true: the background thread waits for the gradients, as up to Horovod 0.22',
      expects: oneOf('true', 'false'),
    },
    {
      name: 'cache',
      default: 'true',
      documentation: 'false: no response cache, as before 0.16.2 or with HOROVOD_CACHE_CAPACITY=0',
      expects: oneOf('true', 'false'),
    },
    wireOption,
    embeddingsOption('as-written', 'dense', 'sparse'),
    ...eagerOptions,
  ],
  create: (options) => {
    return {
      ...eagerPytorch(options),
      name: 'horovod',
      embeddings: embeddingHandling(options),
      exchange: (all, group, profiled) => {
        if (group.gpus === 1) return noExchange;
        const gradients = denseGradients(all);
        const isMpi = options.get('operations') === 'mpi';
        const messages = [
          ...fusedMessages(gradients, profiled, options),
          ...(isMpi ? gatheredRows(all, group, throughHost, 'open-mpi') : gatheredRows(all, group)),
        ];
        // Allocated whole, at its first use (horovod/common/fusion_buffer_manager.cc, InitializeBuffer).
        return {
          ...noExchange,
          hostWaits: true,
          messages,
          buffers: bytes((gradients.length > 1 ? thresholdOf(options) : 0) + receivedRows(all, group)),
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

/** Of the name and the shape of a gradient, which rank 0 takes from each worker where there is no cache. */
const nameBytes = 64;

function fusedMessages(
  gradients: readonly Gradient[],
  { backwardEnds, backwardLaunches, timeOf }: ProfiledStep,
  options: ReadonlyMap<string, string>,
): readonly Message[] {
  const threshold = thresholdOf(options);
  const cycle = Number(options.get('cycle-ms')) * 1e-3;
  const isMpi = options.get('operations') === 'mpi';
  const waits = isMpi || options.get('waits-for-data') === 'true';
  const ends = backwardEnds();
  const launches = backwardLaunches();
  // What MPI sends is copied to the host before it is enqueued.
  const enqueued = (index: number): number =>
    floatAt(isMpi ? ends : launches, itemAt(gradients, index).readyAfter);
  const cached = options.get('cache') === 'true' ? 2 * timeOf(agreement) : undefined;
  const gathering = bySize((size) => timeOf({ kind: 'gather at rank 0', bytes: size }));
  const agreeing = (count: number): number => cached ?? gathering(bytes(nameBytes * count));
  const sending = bySize((size) => sendingStages(size, isMpi));
  const holding = bySize((size) =>
    isMpi ? sending(size).reduce((time, { operation }) => time + timeOf(operation), 0) : 0,
  );
  const messages: Message[] = [];
  /** When the thread is free, when it last began to go round, and when the last message left. */
  let [free, round, left] = [Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (let first = 0; first < gradients.length; ) {
    // A thread that has gone round for nothing finds a gradient half a cycle late on average.
    const next = round + cycle;
    round = Math.max(free, enqueued(first) <= next ? next : enqueued(first) + cycle / 2);
    let end = first + 1;
    while (end < gradients.length && enqueued(end) <= round) end += 1;
    free = round + agreeing(end - first);
    for (const bucket of packWithin(gradients.slice(first, end), threshold, wireBytes(options))) {
      const ready = floatAt(ends, bucket.readyAfter);
      const leaves = Math.max(free, ready);
      const coordinating = seconds(Math.max(0, leaves - Math.max(ready, left)));
      messages.push({
        gradients: bucket.gradients,
        bytes: bucket.bytes,
        after: backwardAt(bucket.readyAfter),
        before: theUpdate,
        stages: [coordination(coordinating), ...sending(bucket.bytes)],
      });
      if (waits) free = leaves + holding(bucket.bytes);
      left = isMpi ? free : leaves;
    }
    first = end;
  }
  return messages;
}

function sendingStages(size: Bytes, isMpi: boolean): readonly Stage[] {
  const allReduce = { kind: 'collective', collective: 'all-reduce', bytes: size, over: 'all' } as const;
  return isMpi
    ? [throughFusionBuffer(size), { channel: throughHost, operation: { ...allReduce, library: 'open-mpi' } }]
    : [{ channel: ncclStream, operation: allReduce }];
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
