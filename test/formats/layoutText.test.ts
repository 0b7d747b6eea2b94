/** Layouts in the words of others: NVIDIA's option table, command lines of Megatron-LM, keys of torchtitan. */

import { expect, test } from 'vitest';
import type { LayoutRequest } from '../../server/src/formats/layouts/degrees.ts';
import { readLayoutText } from '../../server/src/formats/layouts/readLayoutText.ts';

const gpt3: LayoutRequest = {
  parallel: { tensor: 4, pipeline: 8, context: 1, chunks: 5, expert: 1, microBatch: 1 },
  gpus: 64,
  globalBatch: 256,
};
const megatron = (options: Record<string, string> = {}) => ({ framework: { name: 'megatron', options } });
const torchtitan = (options: Record<string, string> = {}) => ({ framework: { name: 'torchtitan', options } });

test.each<readonly [string, LayoutRequest]>([
  ['tp=8,pp=2,sp', { parallel: { tensor: 8, pipeline: 2, sequence: true } }],
  // NVIDIA/dgxc-benchmarking writes them so; 4 · 8 · 2 GPUs.
  ['TP 4 PP 8 CP 1 VP 5 EP 1 DP 2 MBS 1 GBS 256', gpt3],
  ['TP=4, PP=8, CP=1, VP=5, EP=1, DP=2, MBS=1, GBS=256', gpt3],
  ['TP PP CP VP EP DP MBS GBS\n4 8 1 5 1 2 1 256', gpt3],
  [
    '| TP | PP | CP | VP | EP | DP | MBS | GBS |\n|---|---|---|---|---|---|---|---|\n| 4 | 8 | 1 | 5 | 1 | 2 | 1 | 256 |',
    gpt3,
  ],
  ['GPUs TP PP CP VP EP MBS GBS\n64 4 8 1 5 1 1 256', gpt3],
  [
    'TP 1 PP 1 CP 2 VP n/a MBS 1 GBS 128 GPUs 8',
    { parallel: { tensor: 1, pipeline: 1, context: 2, microBatch: 1 }, gpus: 8, globalBatch: 128 },
  ],
  // Chunks of one stage are that stage.
  ['TP 2 PP 1 VP 4 DP 4 MBS 1', { parallel: { tensor: 2, pipeline: 1, microBatch: 1 }, gpus: 8 }],
  [
    'pretrain_gpt.py --tensor-model-parallel-size 2 --micro-batch-size 1 --fp16',
    { parallel: { tensor: 2, microBatch: 1 }, precision: 'fp16', ...megatron() },
  ],
  [
    'TP 2 PP 1 DP 4 MBS 1 GA 16',
    { parallel: { tensor: 2, pipeline: 1, microBatch: 1 }, gpus: 8, globalBatch: 64 },
  ],
  [
    `torchrun --nproc_per_node 8 --nnodes=4 pretrain_gpt.py --num-layers 32 --tensor-model-parallel-size 4 \\
    --pipeline-model-parallel-size 4 --num-layers-per-virtual-pipeline-stage 4 --sequence-parallel --micro-batch-size 1 \\
    --global-batch-size 128 --use-distributed-optimizer --lr 1e-4 --bf16 --cp-comm-type a2a --recompute-granularity full`,
    {
      parallel: {
        tensor: 4,
        pipeline: 4,
        chunks: 2,
        microBatch: 1,
        sequence: true,
        contextExchange: 'all-to-all',
      },
      gpus: 32,
      globalBatch: 128,
      precision: 'bf16',
      checkpoint: 'block',
      ...megatron({ 'distributed-optimizer': 'true' }),
    },
  ],
  [
    '--pipeline-model-parallel-size 4 --num-layers 32 --decoder-first-pipeline-num-layers 7 --decoder-last-pipeline-num-layers 5',
    { parallel: { pipeline: 4, stages: [7, 10, 10, 5] }, ...megatron() },
  ],
  [
    '--pipeline-model-parallel-size 2 --num-layers 24 --num-virtual-stages-per-pipeline-rank 2 --decoder-last-pipeline-num-layers 10',
    { parallel: { pipeline: 2, chunks: 2, stages: [7, 5, 7, 5] }, ...megatron() },
  ],
  ['pp=4,stages=8+8+9+7', { parallel: { pipeline: 4, stages: [8, 8, 9, 7] } }],
  ['stages=[8, 8, 9, 7],pp=4', { parallel: { pipeline: 4, stages: [8, 8, 9, 7] } }],
  ['pp=4,stages=12+10+10+0', { parallel: { pipeline: 4, stages: [12, 10, 10, 0] } }],
  ['pp=3,stages=h.8+h.16', { parallel: { pipeline: 3, stages: ['h.8', 'h.16'] } }],
  [
    '--tensor-model-parallel-size=2 --micro-batch-size=4',
    { parallel: { tensor: 2, microBatch: 4 }, ...megatron() },
  ],
  [
    `[training]
local_batch_size = 8  # samples
[parallelism]
data_parallel_shard_degree = 2
data_parallel_replicate_degree = 2
tensor_parallel_degree = 2
pipeline_parallel_degree = 4
pipeline_parallel_schedule = "Interleaved1F1B"
[activation_checkpoint]
mode = "full"`,
    {
      parallel: { tensor: 2, pipeline: 4, microBatch: 1, schedule: 'interleaved-1f1b' },
      gpus: 32,
      globalBatch: 32,
      checkpoint: 'block',
      ...torchtitan({ sharding: 'hybrid' }),
    },
  ],
  ...(
    [
      ['--recompute-activations', 'attention'],
      ['--recompute-granularity selective', 'attention'],
      ['--recompute-granularity selective --recompute-modules core_attn', 'attention'],
    ] as const
  ).map(
    ([flags, checkpoint]) =>
      [`--micro-batch-size 4 ${flags}`, { parallel: { microBatch: 4 }, checkpoint, ...megatron() }] as const,
  ),
  ...(
    [
      ['', 'alternate-block'],
      ['\nselective_ac_option = "2"', 'alternate-block'],
      ["\nselective_ac_option = 'op'", 'alternate'],
      ['\nselective_ac_option = "1"', 'block'],
    ] as const
  ).map(
    ([option, checkpoint]) =>
      [
        `tensor_parallel_degree = 2\n[activation_checkpoint]\nmode = "selective"${option}`,
        { parallel: { tensor: 2 }, checkpoint, ...torchtitan() },
      ] as const,
  ),
  [
    '--parallelism.tensor_parallel_degree 2 --parallelism.data_parallel_shard_degree=-1 --training.local_batch_size 4 --training.global_batch_size 64 --parallelism.fsdp_reshard_after_forward never',
    {
      parallel: { tensor: 2, microBatch: 4 },
      globalBatch: 64,
      ...torchtitan({ 'reshard-after-forward': 'never' }),
    },
  ],
])('%s', (text, request) => {
  expect(readLayoutText(text)).toEqual({ value: request, problems: [] });
});

test.each([
  ['TP 4 PB 8', '`PB` is not a column of an option table; did you mean `PP`?'],
  ['TP PP DP\n4 8', 'the table has 3 columns (TP PP DP) and 2 values; give each column one'],
  ['TP 4 TP 8', '`TP` is given twice; keep one of them'],
  ['TP 0.5', '`TP` takes a whole number from 1, not "0.5"'],
  ['TP 4 DP 2 GPUs 16', '16 GPUs are not 4 (a copy of the model) × 2 copies = 8; correct one of them'],
  [
    'TP 4 DP 2 MBS 1 GA 4 GBS 16',
    'a global batch of 16 is not 1 (micro-batch) × 4 passes × 2 copies = 8; correct one of them',
  ],
  [
    'TP 4 DP 2 MBS 3 GBS 16',
    'a global batch of 16 does not divide into micro-batches of 3 on 2 copies; use a multiple of 6',
  ],
  [
    '--pipeline-model-parallel-size 4 --num-layers 32 --decoder-first-pipeline-num-layers 6',
    '32 layers with 6 on the first of 4 pipeline ranks and as many on the last do not divide over the others; use other numbers',
  ],
  [
    'pp=4,stages=even',
    '`stages` is balanced, uniform, torchtitan, blocks of each stage such as 8+8+9+7, or the blocks that later stages begin with such as h.8+h.16; not "even"',
  ],
  [
    'pp=3,stages=16+0+16',
    '`stages` is balanced, uniform, torchtitan, blocks of each stage such as 8+8+9+7, or the blocks that later stages begin with such as h.8+h.16; not "16+0+16"',
  ],
  ['EP 8 ETP 2', 'experts that are split over 2 GPUs beside expert parallelism are not costed; use 1'],
  [
    '--tensor-model-parallel-size eight',
    '`tensor-model-parallel-size` takes a whole number from 1, not "eight"',
  ],
  [
    '--micro-batch-size 1 --tensor-model-paralel-size 8 --tensor-parallel-size 8',
    '`tensor-parallel-size` is not costed; did you mean `tensor-model-parallel-size`?',
  ],
  [
    '--pipeline-model-parallel-size 4 --num-layers-per-virtual-pipeline-stage 4',
    '`num-layers-per-virtual-pipeline-stage` needs `num-layers`; give it, or `num-virtual-stages-per-pipeline-rank`',
  ],
  [
    '--micro-batch-size 1 --recompute-granularity some',
    '`recompute-granularity` is full or selective, not "some"',
  ],
  [
    '--micro-batch-size 1 --recompute-granularity selective --recompute-modules mlp',
    '`recompute-modules mlp` is not costed; use core_attn, or recompute-granularity full',
  ],
  [
    '--parallelism.tensor_parallel_degree 2 --activation_checkpoint.mode selective --activation_checkpoint.selective_ac_option 3',
    '`selective_ac_option` "3" is not costed; use op or 2',
  ],
  [
    '--parallelism.tensor_parallel_degree 2 --activation_checkpoint.mode half',
    '`activation_checkpoint.mode` is none or full or selective, not "half"',
  ],
  [
    '--micro-batch-size 1 --cp-comm-type ring',
    '`cp-comm-type` is p2p or all_gather or allgather or a2a, not "ring"',
  ],
  // Its default, `allgather`, of megatron/training/arguments.py.
  [
    '--expert-model-parallel-size 8 --micro-batch-size 1',
    'Without `moe-token-dispatcher-type` Megatron-LM gathers the rows of all GPUs, which is not costed; use alltoall, or flex',
  ],
  [
    '--expert-model-parallel-size 8 --moe-token-dispatcher-type allgather',
    '`moe-token-dispatcher-type allgather` is not costed; use alltoall, or flex',
  ],
  [
    '--expert-model-parallel-size 8 --moe-token-dispatcher-type ring',
    '`moe-token-dispatcher-type` is allgather or alltoall or flex, not "ring"',
  ],
  ['tensor_parallel_degree = two', '`tensor_parallel_degree` takes a whole number from 1, not "two"'],
  [
    'tensor_parallel_degree = 2\npipeline_parallel_schedule = "ZBH2"',
    '`pipeline_parallel_schedule` "ZBH2" is not costed; use GPipe or 1F1B or Interleaved1F1B or LoopedBFS or InterleavedZeroBubble or ZBVZeroBubble or DualPipeV',
  ],
])('%s: %s', (text, problem) => {
  expect(readLayoutText(text).problems).toContain(problem);
});

test.each([
  '--expert-model-parallel-size 8 --moe-token-dispatcher-type alltoall',
  '--expert-model-parallel-size 8 --moe-token-dispatcher-type flex',
  '--expert-model-parallel-size 1 --micro-batch-size 1',
])('%s is costed', (text) => {
  expect(readLayoutText(text).problems).toEqual([]);
});
