/**
 * What PyTorch's caching allocator takes from the GPU for what tensors need at once, and what is taken before it.
 *
 * Sources, PyTorch 2.x c10/cuda/CUDACachingAllocator.cpp: a tensor takes a multiple of 512 B (`kMinBlockSize`); those of
 * up to 1 MiB lie in segments of 2 MiB (`kSmallBuffer`), those below 10 MiB in segments of 20 MiB (`kLargeBuffer`), larger
 * ones in segments of their own, rounded to 2 MiB (`kRoundLarge`). A segment that is free is taken for a tensor that fits
 * into it, and is given back only where memory runs out, so that what is reserved is more than what is allocated.
 */

import { type Bytes, bytes } from '../model/units.ts';

/**
 * Driver, libraries and the kernels they load, streams, NCCL: what the framework takes before the first tensor. An
 * assumption, the same for all GPUs; nothing published tells it apart by generation.
 */
export const runtimeReserve = bytes(512 * 2 ** 20);

const segment = 2 * 2 ** 20;

/**
 * What is reserved over what is allocated, at most: an assumption. Of the two published peaks that are of reserved
 * memory, it was 1.12 and 1.17 of what is predicted to be allocated (torchtitan, Llama 3.1 8B).
 */
export const mostFragmentation = 1.2;

/** Low and high bound of what is reserved where `allocated` is the most that tensors need at once. */
export function reservedMemory(allocated: number): readonly [Bytes, Bytes] {
  const low = Math.ceil(allocated / segment) * segment;
  return [bytes(low), bytes(Math.ceil((low * mostFragmentation) / segment) * segment)];
}
