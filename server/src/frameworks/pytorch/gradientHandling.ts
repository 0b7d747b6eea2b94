/**
 * What PyTorch does with the gradients of a pass beside computing them: kernels that read and write each element.
 *
 * A later pass of a step adds its gradients to those before (torch/csrc/autograd/functions/accumulate_grad.h). Whoever sends
 * gradients copies them first: into a bucket, a flat parameter or a buffer. These kernels run on other streams in part, but
 * they take the memory bandwidth of the same GPU, so their time is added to that of backward.
 */

import type { GradientHandling, GradientPass } from '../behaviour.ts';
import type { WorkerGroup } from '../exchange.ts';

const nothing: GradientHandling = { bytesPerElement: 0, launches: 0 };

/** Both are read, the sum is written. `fp32Sums`: gradients in half precision are added to fp32 sums, in every pass. */
export function addGradients(
  { adds }: GradientPass,
  bytesPerElement: number,
  fp32Sums: boolean,
): GradientHandling {
  if (fp32Sums) return { bytesPerElement: bytesPerElement + 8, launches: 1 };
  return adds ? { bytesPerElement: 3 * bytesPerElement, launches: 1 } : nothing;
}

/**
 * DistributedDataParallel divides each gradient into its bucket, and copies the sum back unless gradients are views of
 * buckets (torch/csrc/distributed/c10d/reducer.cpp, `mark_variable_ready_dense`, `finalize_bucket_dense`). A hook that narrows
 * a bucket casts it, divides it, and casts it back (algorithms/ddp_comm_hooks/default_hooks.py).
 */
export function copyIntoBuckets(
  { sends }: GradientPass,
  { gpus }: WorkerGroup,
  how: { readonly bytesPerElement: number; readonly views: boolean; readonly wire: number | undefined },
): GradientHandling {
  if (!sends || gpus === 1) return nothing;
  const { bytesPerElement, views, wire } = how;
  const hook = wire === undefined ? 0 : 2 * bytesPerElement + 4 * wire;
  return { bytesPerElement: (views ? 2 : 4) * bytesPerElement + hook, launches: views ? 1 : 2 };
}

/**
 * FullyShardedDataParallel: parameters are slices of a flat one, so backward puts their gradients together. They are cast
 * where they are added in another type, and divided before they are scattered (torch/distributed/fsdp/_runtime_utils.py,
 * `_post_backward_hook`, `_reduce_grad`; algorithms/_comm_hooks/default_hooks.py, `reduce_scatter_hook`). A later pass adds to
 * a shard in fp32; where nothing is sharded, passes add up what backward gives before it is sent.
 */
export function flattenGradients(
  pass: GradientPass,
  { gpus }: WorkerGroup,
  { computed, reduced, shards }: FlatGradients,
): GradientHandling {
  const put = 2 * computed;
  const added = pass.adds ? 3 * (shards === 1 ? computed : 4 / shards) : 0;
  if (!pass.sends || gpus === 1) return { bytesPerElement: put + added, launches: 0 };
  const cast = computed === reduced ? 0 : computed + reduced;
  const divided = 2 * reduced;
  return { bytesPerElement: put + cast + divided + added, launches: 0 };
}

/** Bytes per element as backward gives gradients and as they are added, and over how many GPUs the sum is split. */
export interface FlatGradients {
  readonly computed: number;
  readonly reduced: number;
  readonly shards: number;
}

/** DeepSpeed copies each gradient into a buffer and divides it there (deepspeed/runtime/zero/stage_1_and_2.py, stage3.py). */
export const copyIntoBuffer = (
  { sends }: GradientPass,
  { gpus }: WorkerGroup,
  bytesPerElement: number,
): GradientHandling => (sends && gpus > 1 ? { bytesPerElement: 4 * bytesPerElement, launches: 2 } : nothing);

/** One after the other. */
export const both = (left: GradientHandling, right: GradientHandling): GradientHandling => ({
  bytesPerElement: left.bytesPerElement + right.bytesPerElement,
  launches: left.launches + right.launches,
});
