/** Which GPUs share the experts of a mixture. */

import type { ParallelScenario } from '../model/scenario.ts';

type Degrees = Pick<ParallelScenario, 'tensor' | 'sequence' | 'expert'>;

/**
 * Whether they are neighbours over groups of tensor parallelism: with sequence parallelism each GPU of such a group has tokens of its
 * own, and experts are whole on a GPU. So they lie in Megatron-LM with `expert-tensor-parallel-size 1` (megatron/core/parallel_state.py,
 * `expert_decoder_rank_generator`) and in torchtitan with `expert_tensor_parallel_degree` 1. A group that does not hold whole ones of
 * tensor parallelism has one GPU of each.
 */
export const spansTensor = ({ tensor, sequence, expert }: Degrees): boolean =>
  sequence && tensor > 1 && expert % tensor === 0;

/** How many GPUs that add up gradients share the experts, each with a part of the batch. */
export const expertsOverCopies = (degrees: Degrees): number =>
  spansTensor(degrees) ? degrees.expert / degrees.tensor : degrees.expert;
