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
  const { buckets, add, close } = openBuckets(wireBytesPerElement);
  for (const gradient of gradients) {
    const size = add(gradient);
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
  const { buckets, sizeWith, add, close } = openBuckets(wireBytesPerElement);
  for (const gradient of gradients) {
    if (sizeWith(gradient) > limit) close();
    add(gradient);
  }
  close();
  return buckets;
}

/** Buckets that were closed, and the one that is filled; a gradient is sent as it is unless its bytes per element are given. */
function openBuckets(wireBytesPerElement: number | undefined) {
  const buckets: Bucket[] = [];
  let open: Gradient[] = [];
  let size = 0;
  const sizeWith = ({ bytes: own, elements }: Gradient): number =>
    size + (wireBytesPerElement === undefined ? own : elements * wireBytesPerElement);
  return {
    buckets,
    /** Bytes of the open bucket, were a gradient in it. */
    sizeWith,
    /** Puts a gradient in, and gives the bytes of the bucket. */
    add: (gradient: Gradient): number => {
      size = sizeWith(gradient);
      open.push(gradient);
      return size;
    },
    close: (): void => {
      if (open.length > 0) buckets.push(bucketOf(open, size));
      open = [];
      size = 0;
    },
  };
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
