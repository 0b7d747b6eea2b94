/** A layout in the words of the frameworks that run it. */

import type { LayoutCandidate } from '../../estimate/planner/searchLayouts.ts';

export interface LauncherOptions {
  readonly launcher: string;
  readonly text: string;
}

/**
 * Sources: NVIDIA/Megatron-LM, megatron/training/arguments.py; pytorch/torchtitan, torchtitan/config/job_config.py;
 * deepspeedai/DeepSpeed, docs/_pages/config-json.md.
 */
export function launcherOptions(candidate: LayoutCandidate): readonly LauncherOptions[] {
  const { tensor, pipeline, replicas, microBatch, passes, checkpoint, framework } = candidate;
  const batch = microBatch * passes * replicas;
  const shardsWeights = framework.name === 'pytorch-fsdp';
  const megatron = [
    `--tensor-model-parallel-size ${tensor}`,
    ...(tensor > 1 ? ['--sequence-parallel'] : []),
    `--pipeline-model-parallel-size ${pipeline}`,
    `--micro-batch-size ${microBatch}`,
    `--global-batch-size ${batch}`,
    ...(framework.name === 'deepspeed-zero' ? ['--use-distributed-optimizer'] : []),
    ...(shardsWeights ? ['--use-torch-fsdp2'] : []),
    ...(checkpoint === 'block'
      ? ['--recompute-granularity full --recompute-method uniform --recompute-num-layers 1']
      : []),
    ...(checkpoint === 'selective' ? ['--recompute-granularity selective'] : []),
  ];
  const torchtitan = [
    `--parallelism.tensor_parallel_degree ${tensor}`,
    `--parallelism.pipeline_parallel_degree ${pipeline}`,
    ...(pipeline > 1 ? ['--parallelism.pipeline_parallel_schedule 1F1B'] : []),
    ...(pipeline > 1 ? [`--parallelism.pipeline_parallel_microbatch_size ${microBatch}`] : []),
    shardsWeights
      ? `--parallelism.data_parallel_shard_degree ${replicas}`
      : `--parallelism.data_parallel_shard_degree 1 --parallelism.data_parallel_replicate_degree ${replicas}`,
    `--training.local_batch_size ${pipeline > 1 ? microBatch * passes : microBatch}`,
    `--training.global_batch_size ${batch}`,
    `--activation_checkpoint.mode ${checkpoint === 'block' ? 'full' : checkpoint === 'selective' ? 'selective' : 'none'}`,
  ];
  const own = [
    `--gpus ${tensor * pipeline * replicas}`,
    `--global-batch ${batch}`,
    `--parallel ${[
      ...(tensor > 1 ? [`tp=${tensor}`, 'sp'] : []),
      ...(pipeline > 1 ? [`pp=${pipeline}`] : []),
      `micro-batch=${microBatch}`,
    ].join(',')}`,
    `--checkpoint ${checkpoint}`,
    `--framework ${[framework.name, ...Object.entries(framework.options).map(([name, value]) => `${name}=${value}`)].join(',')}`,
  ];
  const stage = framework.name === 'deepspeed-zero' ? framework.options.stage : undefined;
  const deepspeed = JSON.stringify({
    train_batch_size: batch,
    train_micro_batch_size_per_gpu: microBatch,
    gradient_accumulation_steps: passes,
    ...(stage === undefined ? {} : { zero_optimization: { stage: Number(stage) } }),
  });
  return [
    { launcher: 'layercost report', text: own.join(' ') },
    { launcher: 'Megatron-LM', text: megatron.join(' ') },
    // What torchtitan has: shards of weights, tensor parallelism, pipelines. It has no sharded update alone.
    ...(stage === undefined ? [{ launcher: 'torchtitan', text: torchtitan.join(' ') }] : []),
    ...(pipeline === 1 && tensor === 1 && !shardsWeights ? [{ launcher: 'DeepSpeed', text: deepspeed }] : []),
  ];
}
