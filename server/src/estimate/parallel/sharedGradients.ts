/** What several GPUs of a copy add up once in a step: gradients of weights that each of them holds whole. */

import { collectiveTime } from '../../communication/collectiveTime.ts';
import type { Placement } from '../../communication/placement.ts';
import type { ClusterProfile } from '../../hardware/clusterProfile.ts';
import type { Estimate } from '../../model/estimate.ts';
import { type Bytes, bytes, type Seconds, seconds } from '../../model/units.ts';
import type { ShardedTraining } from '../../parallel/shardedTraining.ts';
import { parameterBytes } from '../plan/gradients.ts';
import type { ParallelLayout } from './groupPlacements.ts';
import type { PlannedStage } from './plannedStage.ts';

/** A stage, and the rank of the pipeline that computes it. */
interface RankStage extends Pick<PlannedStage, 'plan'> {
  readonly rank: number;
}

/**
 * By stage. Weights between the pairs of tensor parallelism have a part of their gradient on each GPU of a group where tokens are split; a
 * table of words with a tied head is on two stages. Source: NVIDIA/Megatron-LM, megatron/core/distributed/finalize_model_grads.py,
 * `_allreduce_non_tensor_model_parallel_grads` and `_allreduce_word_embedding_grads`.
 */
export function sharedGradients(
  stages: readonly RankStage[],
  { partialGradients }: ShardedTraining,
  layout: ParallelLayout,
  cluster: ClusterProfile,
): readonly Estimate<Seconds>[] {
  const holders = new Map<string, Set<number>>();
  for (const { plan, rank } of stages)
    for (const { name } of plan.training.analysis.parameters)
      holders.set(name, (holders.get(name) ?? new Set()).add(rank));
  const crosses = layout.crossesNodes.some((each) => each);
  const twoStages: Placement = crosses ? { nodes: 2, gpusPerNode: 1 } : { nodes: 1, gpusPerNode: 2 };
  return stages.map(({ plan: { training, weightBytesPerElement } }) => {
    const bytesOf = (isShared: (name: string) => boolean): Bytes =>
      bytes(
        training.analysis.parameters.reduce(
          (total, parameter) =>
            isShared(parameter.name) ? total + parameterBytes(parameter, weightBytesPerElement) : total,
          0,
        ),
      );
    const all: readonly (readonly [Bytes, Placement])[] = [
      [bytesOf((name) => partialGradients.has(name)), layout.tensorGroup],
      [bytesOf((name) => (holders.get(name)?.size ?? 0) > 1), twoStages],
    ];
    const sent = all.flatMap(([size, group]) =>
      size === 0 ? [] : [collectiveTime(cluster, group, { kind: 'all-reduce', bytes: size })],
    );
    const of = (key: 'time' | 'low' | 'high'): Seconds =>
      seconds(sent.reduce((total, each) => total + each[key], 0));
    return { middle: of('time'), low: of('low'), high: of('high') };
  });
}
