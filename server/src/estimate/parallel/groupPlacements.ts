/**
 * Where the GPUs of each axis of a layout lie: tensor parallelism on neighbours, then data parallelism, stages farthest apart.
 *
 * It is the order of Megatron-LM (megatron/core/parallel_state.py, `order="tp-cp-ep-dp-pp"`). An axis has a size and a stride in
 * ranks; of its group, as many lie on one node as the stride leaves room for.
 */

import type { Placement } from '../../communication/placement.ts';
import type { ClusterProfile } from '../../hardware/clusterProfile.ts';
import type { ParallelScenario } from '../../model/scenario.ts';

export interface ParallelLayout {
  readonly tensor: number;
  readonly pipeline: number;
  /** Copies of the model, each with a part of the batch. */
  readonly replicas: number;
  readonly tensorGroup: Placement;
  readonly dataGroup: Placement;
  /** By stage but the last: whether the next one lies on another node. */
  readonly crossesNodes: readonly boolean[];
}

export function placeLayout(
  cluster: ClusterProfile,
  { tensor, pipeline }: Pick<ParallelScenario, 'tensor' | 'pipeline'>,
  gpus: number,
): ParallelLayout {
  const node = cluster.gpusPerNode.value;
  const replicas = gpus / (tensor * pipeline);
  const stage = tensor * replicas;
  return {
    tensor,
    pipeline,
    replicas,
    tensorGroup: placeGroup(tensor, 1, node),
    dataGroup: placeGroup(replicas, tensor, node),
    crossesNodes: Array.from({ length: pipeline - 1 }, (_, index) => {
      const last = (index + 1) * stage - 1;
      // Some rank of the stage has its partner on another node: the stage waits for it.
      return stage > node || Math.floor((last - stage + 1) / node) !== Math.floor((last + stage) / node);
    }),
  };
}

function placeGroup(size: number, stride: number, node: number): Placement {
  const onOneNode = Math.min(size, Math.max(1, Math.floor(node / stride)));
  return { nodes: Math.ceil(size / onOneNode), gpusPerNode: onOneNode };
}
