/**
 * Where the GPUs of each axis of a layout lie: tensor parallelism on neighbours, then context parallelism, then copies of the
 * model, stages farthest apart. Experts are shared by neighbours among the GPUs of a stage.
 *
 * It is the order of Megatron-LM (megatron/core/parallel_state.py, `order="tp-cp-ep-dp-pp"`). An axis has a size and a stride in
 * ranks; of its group, as many lie on one node as the stride leaves room for.
 */

import type { Placement } from '../../communication/placement.ts';
import type { ClusterProfile } from '../../hardware/clusterProfile.ts';
import type { ParallelScenario } from '../../model/scenario.ts';
import { spansTensor } from '../../parallel/expertGroups.ts';

export interface ParallelLayout {
  readonly tensor: number;
  readonly pipeline: number;
  /** Copies of the model, each with a part of the batch. */
  readonly replicas: number;
  readonly context: number;
  readonly tensorGroup: Placement;
  readonly contextGroup: Placement;
  /** GPUs that share the experts (`parallel/expertGroups.ts`). */
  readonly expertGroup: Placement;
  /** GPUs that add up gradients: those of all copies, and those that share a sequence. */
  readonly dataGroup: Placement;
  /** By rank of the pipeline: whether the next one, of the last the first, lies on another node. */
  readonly crossesNodes: readonly boolean[];
}

export function placeLayout(
  cluster: ClusterProfile,
  degrees: Pick<ParallelScenario, 'tensor' | 'sequence' | 'context' | 'pipeline' | 'expert'>,
  gpus: number,
): ParallelLayout {
  const { tensor, context, pipeline, expert } = degrees;
  const node = cluster.gpusPerNode.value;
  const replicas = gpus / (tensor * context * pipeline);
  const stage = tensor * context * replicas;
  return {
    tensor,
    pipeline,
    replicas,
    context,
    tensorGroup: placeGroup(tensor, 1, node),
    contextGroup: placeGroup(context, tensor, node),
    expertGroup: placeGroup(expert, spansTensor(degrees) ? 1 : tensor, node),
    dataGroup: placeGroup(context * replicas, tensor, node),
    crossesNodes: Array.from({ length: pipeline === 1 ? 0 : pipeline }, (_, index) => {
      const [own, next] = [index * stage, ((index + 1) % pipeline) * stage];
      const [first, last] = [Math.min(own, next), Math.max(own, next) + stage - 1];
      // Some GPU of the rank has its partner on another node: the rank waits for it.
      return stage > node || Math.floor(first / node) !== Math.floor(last / node);
    }),
  };
}

function placeGroup(size: number, stride: number, node: number): Placement {
  const onOneNode = Math.min(size, Math.max(1, Math.floor(node / stride)));
  return { nodes: Math.ceil(size / onOneNode), gpusPerNode: onOneNode };
}
