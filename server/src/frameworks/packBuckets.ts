/** Gradients into buckets of limited size, or one for each tensor, or one for all; and buckets into all-reduces. */

import type { CollectiveOperation } from '../communication/operation.ts';
import { itemAt } from '../model/at.ts';
import { largestOf } from '../model/extremes.ts';
import { type Bytes, bytes, sum } from '../model/units.ts';
import { bySize } from './bySize.ts';
import { backwardAt, type Channel, type Message, type Stage, theUpdate } from './exchange.ts';
import type { Gradient } from './gradient.ts';

export interface Bucket {
  readonly gradients: readonly Gradient[];
  /** On the wire. */
  readonly bytes: Bytes;
  readonly readyAfter: number;
}

/**
 * Walks gradients in ready order and closes a bucket when its size reaches its limit; the last one holds the
 * rest. `limits` are bytes per bucket in order, the last one for all that follow.
 * Source: PyTorch 2.x torch/csrc/distributed/c10d/reducer.cpp, `compute_bucket_assignment_by_size`.
 */
export function packBuckets(
  gradients: readonly Gradient[],
  limits: readonly number[],
  wireBytesPerElement?: number,
): readonly Bucket[] {
  const buckets: Bucket[] = [];
  let open: Gradient[] = [];
  let size = 0;
  const close = (): void => {
    if (open.length > 0) buckets.push(bucketOf(open, size));
    open = [];
    size = 0;
  };
  for (const gradient of gradients) {
    open.push(gradient);
    size += wireBytesPerElement === undefined ? gradient.bytes : gradient.elements * wireBytesPerElement;
    const limit = limits[Math.min(buckets.length, limits.length - 1)] ?? Number.POSITIVE_INFINITY;
    if (size >= limit) close();
  }
  close();
  return buckets;
}

/**
 * Walks gradients in ready order and closes a bucket before it would pass `limit`; a larger gradient is one by itself.
 * Sources: horovod/common/controller.cc, `FuseResponses`; deepspeed/runtime/zero/stage_1_and_2.py,
 * `reduce_independent_p_g_buckets_and_remove_grads`.
 */
export function packWithin(
  gradients: readonly Gradient[],
  limit: number,
  wireBytesPerElement?: number,
): readonly Bucket[] {
  const buckets: Bucket[] = [];
  let open: Gradient[] = [];
  let size = 0;
  const close = (): void => {
    if (open.length > 0) buckets.push(bucketOf(open, size));
    open = [];
    size = 0;
  };
  for (const gradient of gradients) {
    const own = wireBytesPerElement === undefined ? gradient.bytes : gradient.elements * wireBytesPerElement;
    if (size + own > limit) close();
    open.push(gradient);
    size += own;
  }
  close();
  return buckets;
}

const bucketOf = (gradients: readonly Gradient[], size: number): Bucket => ({
  gradients,
  bytes: bytes(size),
  readyAfter: largestOf(gradients.map((gradient) => gradient.readyAfter)),
});

/** The gradients of one layer, those that become ready together, as one bucket. */
export function packLayers(gradients: readonly Gradient[]): readonly Bucket[] {
  const buckets: Bucket[] = [];
  for (let first = 0; first < gradients.length; ) {
    const readyAfter = itemAt(gradients, first).readyAfter;
    let end = first + 1;
    while (gradients[end]?.readyAfter === readyAfter) end += 1;
    const own = gradients.slice(first, end);
    buckets.push({ gradients: own, bytes: sum(own.map((gradient) => gradient.bytes)), readyAfter });
    first = end;
  }
  return buckets;
}

/** NCCL runs the collectives of one communicator on a stream of its own, one after another. */
export const ncclStream: Channel = { name: 'NCCL stream', order: 'first come', runsKernels: true };

/** One all-reduce over all workers for each bucket, sent when its last gradient is ready; the update waits for it. */
export function allReduceEach(
  buckets: readonly Bucket[],
  how: Pick<CollectiveOperation, 'library' | 'algorithm'> = {},
  channel: Channel = ncclStream,
): readonly Message[] {
  const stagesOf = bySize((size): readonly Stage[] => [
    {
      channel,
      operation: { kind: 'collective', collective: 'all-reduce', bytes: size, over: 'all', ...how },
    },
  ]);
  return buckets.map(({ gradients, bytes: size, readyAfter }) => ({
    gradients,
    bytes: size,
    after: backwardAt(readyAfter),
    before: theUpdate,
    stages: stagesOf(size),
  }));
}
