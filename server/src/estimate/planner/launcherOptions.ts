/** A layout in the words of the frameworks that run it. */

import { findFramework } from '../../frameworks/registry.ts';
import { pytorchSchedules, stagesOfTorchtitan } from '../../model/pytorchSchedules.ts';
import type { Checkpoint, ContextExchange, FrameworkChoice } from '../../model/scenario.ts';
import type { LayoutCandidate } from './layoutCandidate.ts';
import { parallelText } from './parallelText.ts';

export interface LauncherOptions {
  readonly launcher: string;
  readonly text: string;
}

type PlannedLayout = Omit<LayoutCandidate, 'request' | 'cost' | 'step'>;

/**
 * Only launchers that have such models and run the layout as it is. What is printed is read back as the same layout (`readLayoutText`).
 * Sources: NVIDIA/Megatron-LM, megatron/training/arguments.py; pytorch/torchtitan, torchtitan/config/job_config.py;
 * deepspeedai/DeepSpeed, docs/_pages/config-json.md.
 */
export function launcherOptions(candidate: PlannedLayout): readonly LauncherOptions[] {
  const { tensor, pipeline, context, expert, chunks, schedule, replicas } = candidate;
  const { microBatch, passes, checkpoint, framework, isLanguageModel } = candidate;
  const batch = microBatch * passes * replicas;
  const { name, options } = framework;
  const shardsWeights = name === 'pytorch-fsdp' || name === 'torchtitan';
  const megatron = [
    `--tensor-model-parallel-size ${tensor}`,
    ...(tensor > 1 ? ['--sequence-parallel'] : []),
    `--pipeline-model-parallel-size ${pipeline}`,
    ...(context > 1
      ? [`--context-parallel-size ${context} --cp-comm-type ${megatronExchanges[exchangeOf(framework)]}`]
      : []),
    ...(expert > 1 ? megatronExperts(expert, options) : []),
    ...(chunks > 1 && schedule === 'interleaved-1f1b'
      ? [`--num-virtual-stages-per-pipeline-rank ${chunks}`]
      : []),
    `--micro-batch-size ${microBatch}`,
    `--global-batch-size ${batch}`,
    ...(name === 'deepspeed-zero' ? ['--use-distributed-optimizer'] : []),
    ...(name === 'megatron' ? megatronFlags(options) : []),
    ...(shardsWeights ? ['--use-torch-fsdp2'] : []),
    megatronCheckpoints[checkpoint] ?? '',
  ].filter((flag) => flag !== '');
  const torchtitan = [
    `--parallelism.tensor_parallel_degree ${tensor}`,
    `--parallelism.pipeline_parallel_degree ${pipeline}`,
    ...(context > 1 ? [`--parallelism.context_parallel_degree ${context}`] : []),
    ...(expert > 1 ? [`--parallelism.expert_parallel_degree ${expert}`] : []),
    ...(pipeline > 1 ? [`--parallelism.pipeline_parallel_schedule ${pytorchSchedules[schedule]}`] : []),
    ...(pipeline > 1 ? [`--parallelism.pipeline_parallel_microbatch_size ${microBatch}`] : []),
    shardsWeights
      ? `--parallelism.data_parallel_shard_degree ${replicas}`
      : `--parallelism.data_parallel_shard_degree 1 --parallelism.data_parallel_replicate_degree ${replicas}`,
    `--training.local_batch_size ${pipeline > 1 ? microBatch * passes : microBatch}`,
    `--training.global_batch_size ${batch}`,
    `--activation_checkpoint.mode ${torchtitanCheckpoints[checkpoint] ?? 'none'}`,
  ];
  const own = [
    `--gpus ${tensor * context * pipeline * replicas}`,
    `--global-batch ${batch}`,
    `--parallel ${parallelText(candidate)}`,
    `--checkpoint ${checkpoint}`,
    `--framework ${[framework.name, ...Object.entries(framework.options).map(([name, value]) => `${name}=${value}`)].join(',')}`,
  ];
  const stage = name === 'deepspeed-zero' ? options.stage : undefined;
  const deepspeed = JSON.stringify({
    train_batch_size: batch,
    train_micro_batch_size_per_gpu: microBatch,
    gradient_accumulation_steps: passes,
    ...(stage === undefined ? {} : { zero_optimization: { stage: Number(stage) } }),
  });
  return [
    { launcher: 'layercost report', text: own.join(' ') },
    ...(isLanguageModel &&
    findFramework('megatron')?.layout?.schedules?.includes(schedule) === true &&
    megatronCheckpoints[checkpoint] !== undefined &&
    name !== 'torchtitan'
      ? [{ launcher: 'Megatron-LM', text: megatron.join(' ') }]
      : []),
    // Without shards of weights it computes in fp32 beside tensor parallelism and pipelines. It has no sharded update alone.
    ...(isLanguageModel &&
    (shardsWeights || (name === 'pytorch-ddp' && tensor * pipeline * context * expert === 1)) &&
    pytorchSchedules[schedule] !== undefined &&
    torchtitanCheckpoints[checkpoint] !== undefined &&
    chunks === stagesOfTorchtitan(schedule)
      ? [{ launcher: 'torchtitan', text: torchtitan.join(' ') }]
      : []),
    ...(pipeline === 1 &&
    tensor === 1 &&
    context === 1 &&
    expert === 1 &&
    !shardsWeights &&
    name !== 'megatron'
      ? [{ launcher: 'DeepSpeed', text: deepspeed }]
      : []),
  ];
}

/** Its selective checkpointing computes attention again, and keeps all else. What it has not is left out. */
const megatronCheckpoints: Partial<Readonly<Record<Checkpoint, string>>> = {
  none: '',
  block: '--recompute-granularity full --recompute-method uniform --recompute-num-layers 1',
  attention: '--recompute-granularity selective --recompute-modules core_attn',
};

/** Its selective checkpointing keeps every second product, or computes every second block again. */
const torchtitanCheckpoints: Partial<Readonly<Record<Checkpoint, string>>> = {
  none: 'none',
  block: 'full',
  alternate: 'selective --activation_checkpoint.selective_ac_option op',
  'alternate-block': 'selective --activation_checkpoint.selective_ac_option 2',
};

/** Where nothing else is asked for. */
const exchangeOf = ({ name }: FrameworkChoice): ContextExchange =>
  findFramework(name)?.layout?.defaults.contextExchange ?? 'all-gather';

/** megatron/training/arguments.py, `--cp-comm-type`. */
const megatronExchanges: Readonly<Record<ContextExchange, string>> = {
  ring: 'p2p',
  'all-gather': 'all_gather',
  'all-to-all': 'a2a',
};

/** Left out, rows are gathered by all, and each expert has products of its own (megatron/training/arguments.py). */
const megatronExperts = (expert: number, options: FrameworkChoice['options']): readonly string[] => [
  `--expert-model-parallel-size ${expert} --expert-tensor-parallel-size 1`,
  ...(options['moe-token-dispatcher'] === 'flex' ? [] : ['--moe-token-dispatcher-type alltoall']),
  '--moe-grouped-gemm',
];

/** Of the framework's own options, those of the launcher that turn something on. */
const megatronFlags = (options: FrameworkChoice['options']): readonly string[] => [
  ...(options['distributed-optimizer'] === 'true' ? ['--use-distributed-optimizer'] : []),
  ...(options['overlap-grad-reduce'] === 'true' ? ['--overlap-grad-reduce'] : []),
  ...(options['overlap-param-gather'] === 'true' ? ['--overlap-param-gather'] : []),
  ...(options['tp-comm-overlap'] === 'true' ? ['--tp-comm-overlap'] : []),
  ...(options['moe-token-dispatcher'] === 'flex' ? ['--moe-token-dispatcher-type flex'] : []),
  ...(options['gradient-dtype'] === 'fp32' ? ['--accumulate-allreduce-grads-in-fp32'] : []),
  ...(options['gradient-dtype'] === 'half' ? ['--grad-reduce-in-bf16'] : []),
];
