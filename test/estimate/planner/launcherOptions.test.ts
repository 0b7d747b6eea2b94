/** What a plan prints for a launcher: flag by flag, and read back as the layout that was planned. */

import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { launcherOptions } from '../../../server/src/estimate/planner/launcherOptions.ts';
import { readLayoutText } from '../../../server/src/formats/layouts/readLayoutText.ts';
import { findFramework } from '../../../server/src/frameworks/registry.ts';
import {
  checkpoints,
  type FrameworkChoice,
  type ParallelScenario,
} from '../../../server/src/model/scenario.ts';
import { chunksOfSchedule } from '../../../server/src/schedule/pipelineSchedules.ts';

const frameworks: readonly FrameworkChoice[] = [
  { name: 'pytorch-ddp', options: {} },
  { name: 'pytorch-fsdp', options: {} },
  { name: 'deepspeed-zero', options: { stage: '1' } },
  { name: 'megatron', options: { 'distributed-optimizer': 'true', 'tp-comm-overlap': 'true' } },
  { name: 'megatron', options: { 'moe-token-dispatcher': 'flex' } },
  { name: 'megatron', options: {} },
  { name: 'torchtitan', options: {} },
];

const orders: readonly Pick<ParallelScenario, 'chunks' | 'schedule'>[] = [
  { chunks: 1, schedule: '1f1b' },
  { chunks: 2, schedule: 'interleaved-1f1b' },
  { chunks: 4, schedule: 'interleaved-1f1b' },
  { chunks: 1, schedule: 'zb-h1' },
  { chunks: 2, schedule: 'zb-v' },
];

const ways = fc.constantFrom(1, 2, 4);
const planned = fc
  .record({
    tensor: ways,
    pipeline: ways,
    context: ways,
    expert: ways,
    replicas: fc.constantFrom(4, 8),
    microBatch: ways,
    passes: fc.constantFrom(1, 4, 8),
    order: fc.constantFrom(...orders),
    checkpoint: fc.constantFrom(...checkpoints),
    framework: fc.constantFrom(...frameworks),
    isLanguageModel: fc.constant(true),
  })
  .map(({ order, ...layout }) => ({ ...layout, ...(layout.pipeline === 1 ? orders[0] : order) }))
  .map(({ chunks = 1, schedule = '1f1b', ...layout }) => ({ ...layout, chunks, schedule }));

it('texts for Megatron-LM, torchtitan and Layercost say the layout', () => {
  fc.assert(
    fc.property(planned, (layout) => {
      for (const { launcher, text } of launcherOptions(layout)) {
        // No layout is read from its JSON.
        if (launcher === 'DeepSpeed') continue;
        const own = launcher === 'layercost report';
        const { value, problems } = readLayoutText(own ? (/--parallel (\S+)/.exec(text)?.[1] ?? '') : text);
        expect(problems, text).toEqual([]);
        const { parallel = {}, framework = layout.framework } = value;
        const defaults = (name: string) => findFramework(name)?.layout?.defaults;
        const { schedule = (parallel.chunks ?? 1) > 1 ? 'interleaved-1f1b' : '1f1b' } = parallel;
        expect(
          {
            tensor: parallel.tensor ?? 1,
            pipeline: parallel.pipeline ?? 1,
            context: parallel.context ?? 1,
            expert: parallel.expert ?? 1,
            microBatch: parallel.microBatch,
            schedule,
            chunks: layout.pipeline === 1 ? 1 : (parallel.chunks ?? chunksOfSchedule[schedule].usual),
            sequence: layout.tensor > 1 && (parallel.sequence ?? defaults(framework.name)?.sequence),
            exchange: parallel.contextExchange ?? defaults(framework.name)?.contextExchange ?? 'all-gather',
            globalBatch: own ? undefined : value.globalBatch,
            checkpoint: own ? undefined : (value.checkpoint ?? 'none'),
          },
          text,
        ).toEqual({
          tensor: layout.tensor,
          pipeline: layout.pipeline,
          context: layout.context,
          expert: layout.expert,
          microBatch: layout.microBatch,
          schedule: layout.schedule,
          chunks: layout.chunks,
          sequence: layout.tensor > 1,
          exchange:
            layout.context === 1
              ? expect.anything()
              : (defaults(layout.framework.name)?.contextExchange ?? 'all-gather'),
          globalBatch: own ? undefined : layout.microBatch * layout.passes * layout.replicas,
          checkpoint: own ? undefined : layout.checkpoint,
        });
      }
    }),
    { numRuns: 500 },
  );
});

type Layout = Parameters<typeof launcherOptions>[0];

/** Four replicas with three passes of two samples. */
const replicated: Layout = {
  ...{ tensor: 1, pipeline: 1, context: 1, expert: 1, chunks: 1, schedule: '1f1b' },
  ...{ replicas: 4, microBatch: 2, passes: 3, checkpoint: 'none' },
  framework: { name: 'pytorch-ddp', options: {} },
  isLanguageModel: true,
};
const by = (name: string, options: FrameworkChoice['options'] = {}): Partial<Layout> => ({
  framework: { name, options },
});
const textsOf = (change: Partial<Layout>): Readonly<Record<string, string>> =>
  Object.fromEntries(
    launcherOptions({ ...replicated, ...change }).map(({ launcher, text }) => [launcher, text]),
  );

test('Megatron-LM and torchtitan have no other models', () => {
  expect(Object.keys(textsOf({ isLanguageModel: false }))).toEqual(['layercost report', 'DeepSpeed']);
});

test('replicas alone, in the words of each launcher', () => {
  expect(textsOf({})).toEqual({
    'layercost report':
      '--gpus 4 --global-batch 24 --parallel micro-batch=2 --checkpoint none --framework pytorch-ddp',
    'Megatron-LM':
      '--tensor-model-parallel-size 1 --pipeline-model-parallel-size 1 --micro-batch-size 2 --global-batch-size 24',
    torchtitan:
      '--parallelism.tensor_parallel_degree 1 --parallelism.pipeline_parallel_degree 1 --parallelism.data_parallel_shard_degree 1 --parallelism.data_parallel_replicate_degree 4 --training.local_batch_size 2 --training.global_batch_size 24 --activation_checkpoint.mode none',
    DeepSpeed: '{"train_batch_size":24,"train_micro_batch_size_per_gpu":2,"gradient_accumulation_steps":3}',
  });
});

/** Only those that run the layout as it is. */
test.each<[string, Partial<Layout>, readonly string[]]>([
  ['replicas', {}, ['Megatron-LM', 'torchtitan', 'DeepSpeed']],
  ['tensors, whose weights torchtitan shards', { tensor: 2 }, ['Megatron-LM']],
  ['stages', { pipeline: 2 }, ['Megatron-LM']],
  ['sequences', { context: 2 }, ['Megatron-LM']],
  ['experts', { expert: 2 }, ['Megatron-LM']],
  ['sharded weights', by('pytorch-fsdp'), ['Megatron-LM', 'torchtitan']],
  ['sharded weights and tensors', { tensor: 2, ...by('pytorch-fsdp') }, ['Megatron-LM', 'torchtitan']],
  ['torchtitan', { tensor: 2, ...by('torchtitan') }, ['torchtitan']],
  ['Megatron-LM', by('megatron'), ['Megatron-LM']],
  ['a sharded update', by('deepspeed-zero', { stage: '1' }), ['Megatron-LM', 'DeepSpeed']],
  ['every second product kept', { checkpoint: 'alternate' }, ['torchtitan', 'DeepSpeed']],
  ['attention computed again', { checkpoint: 'attention' }, ['Megatron-LM', 'DeepSpeed']],
  ['products kept', { checkpoint: 'selective' }, ['DeepSpeed']],
  [
    'a schedule that Megatron-LM has not',
    { pipeline: 2, schedule: 'zb-h1', chunks: 2, ...by('pytorch-fsdp') },
    ['torchtitan'],
  ],
  [
    'two stages a rank',
    { pipeline: 2, schedule: 'interleaved-1f1b', chunks: 2, ...by('pytorch-fsdp') },
    ['Megatron-LM', 'torchtitan'],
  ],
  [
    'more stages a rank than torchtitan makes',
    { pipeline: 2, schedule: 'interleaved-1f1b', chunks: 4, ...by('pytorch-fsdp') },
    ['Megatron-LM'],
  ],
])('%s', (_, change, launchers) => {
  expect(Object.keys(textsOf(change))).toEqual(['layercost report', ...launchers]);
});

/** NVIDIA/Megatron-LM, megatron/training/arguments.py. */
describe('flags of Megatron-LM', () => {
  const start = '--tensor-model-parallel-size 1 --pipeline-model-parallel-size 1';
  const batch = '--micro-batch-size 2 --global-batch-size 24';
  test.each<[string, Partial<Layout>, string]>([
    [
      'tensors',
      { tensor: 2 },
      `--tensor-model-parallel-size 2 --sequence-parallel --pipeline-model-parallel-size 1 ${batch}`,
    ],
    // Its own exchange is a ring, and PyTorch's gathers keys and values.
    [
      'a ring',
      { context: 2, ...by('megatron') },
      `${start} --context-parallel-size 2 --cp-comm-type p2p ${batch}`,
    ],
    [
      'keys and values gathered',
      { context: 2, ...by('pytorch-fsdp') },
      `${start} --context-parallel-size 2 --cp-comm-type all_gather ${batch} --use-torch-fsdp2`,
    ],
    [
      'experts',
      { expert: 2 },
      `${start} --expert-model-parallel-size 2 --expert-tensor-parallel-size 1 --moe-token-dispatcher-type alltoall --moe-grouped-gemm ${batch}`,
    ],
    [
      'experts, and rows sent once to a node',
      { expert: 2, ...by('megatron', { 'moe-token-dispatcher': 'flex' }) },
      `${start} --expert-model-parallel-size 2 --expert-tensor-parallel-size 1 --moe-grouped-gemm ${batch} --moe-token-dispatcher-type flex`,
    ],
    [
      'stages',
      { pipeline: 2, chunks: 3, schedule: 'interleaved-1f1b' },
      `--tensor-model-parallel-size 1 --pipeline-model-parallel-size 2 --num-virtual-stages-per-pipeline-rank 3 ${batch}`,
    ],
    [
      'an update that is sharded',
      by('deepspeed-zero', { stage: '1' }),
      `${start} ${batch} --use-distributed-optimizer`,
    ],
    [
      'its own options',
      by('megatron', {
        'distributed-optimizer': 'true',
        'overlap-grad-reduce': 'true',
        'overlap-param-gather': 'true',
        'tp-comm-overlap': 'true',
        'moe-token-dispatcher': 'flex',
        'gradient-dtype': 'fp32',
      }),
      `${start} ${batch} --use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather --tp-comm-overlap --moe-token-dispatcher-type flex --accumulate-allreduce-grads-in-fp32`,
    ],
    [
      'options that are off',
      by('megatron', {
        'distributed-optimizer': 'false',
        'overlap-grad-reduce': 'false',
        'overlap-param-gather': 'false',
        'tp-comm-overlap': 'false',
        'moe-token-dispatcher': 'alltoall',
        'gradient-dtype': 'half',
      }),
      `${start} ${batch} --grad-reduce-in-bf16`,
    ],
    [
      'blocks computed again',
      { checkpoint: 'block' },
      `${start} ${batch} --recompute-granularity full --recompute-method uniform --recompute-num-layers 1`,
    ],
    [
      'attention computed again',
      { checkpoint: 'attention' },
      `${start} ${batch} --recompute-granularity selective --recompute-modules core_attn`,
    ],
  ])('%s', (_, change, text) => {
    expect(textsOf(change)['Megatron-LM']).toBe(text);
  });
});

/** pytorch/torchtitan, torchtitan/config/job_config.py. A local batch is that of all micro-batches where stages share it. */
test.each<[string, Partial<Layout>, string]>([
  [
    'shards',
    by('pytorch-fsdp'),
    '--parallelism.tensor_parallel_degree 1 --parallelism.pipeline_parallel_degree 1 --parallelism.data_parallel_shard_degree 4 --training.local_batch_size 2 --training.global_batch_size 24 --activation_checkpoint.mode none',
  ],
  [
    'sequences and experts',
    { tensor: 2, context: 4, expert: 8, ...by('torchtitan') },
    '--parallelism.tensor_parallel_degree 2 --parallelism.pipeline_parallel_degree 1 --parallelism.context_parallel_degree 4 --parallelism.expert_parallel_degree 8 --parallelism.data_parallel_shard_degree 4 --training.local_batch_size 2 --training.global_batch_size 24 --activation_checkpoint.mode none',
  ],
  [
    'stages',
    { pipeline: 2, checkpoint: 'block', ...by('torchtitan') },
    '--parallelism.tensor_parallel_degree 1 --parallelism.pipeline_parallel_degree 2 --parallelism.pipeline_parallel_schedule 1F1B --parallelism.pipeline_parallel_microbatch_size 2 --parallelism.data_parallel_shard_degree 4 --training.local_batch_size 6 --training.global_batch_size 24 --activation_checkpoint.mode full',
  ],
])('flags of torchtitan: %s', (_, change, text) => {
  expect(textsOf(change).torchtitan).toBe(text);
});

test('all GPUs are counted, and a stage of DeepSpeed is said', () => {
  const layout = {
    tensor: 2,
    pipeline: 3,
    context: 5,
    expert: 2,
    chunks: 2,
    schedule: 'interleaved-1f1b',
  } as const;
  expect(
    textsOf({ ...layout, ...by('megatron', { 'distributed-optimizer': 'true' }) })['layercost report'],
  ).toBe(
    '--gpus 120 --global-batch 24 --parallel tp=2,sp,cp=5,ep=2,pp=3,vp=2,schedule=interleaved-1f1b,micro-batch=2 --checkpoint none --framework megatron,distributed-optimizer=true',
  );
  expect(JSON.parse(textsOf(by('deepspeed-zero', { stage: '2' })).DeepSpeed ?? '')).toMatchObject({
    zero_optimization: { stage: 2 },
  });
});
