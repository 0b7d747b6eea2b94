/** Steps of Megatron-LM and of what is built on it, by default settings of the framework `megatron`. */

import { halves, type MeasuredRow, numberIn } from '../../measured/readMeasured.ts';
import { machine } from '../scaling/clusters.ts';
import type { LayoutCase, LayoutSet } from './layoutSet.ts';
import { gptSpec, llamaSpec } from './layoutSpecs.ts';
import { frameworkOf } from './parallelRow.ts';

const degree = (row: MeasuredRow, column: string): number => Number(row[column] || 1);

/** `gpus`, `micro_batch`, `grad_accum` and `step_s` as `predictRow` reads them. */
const withPasses = (row: MeasuredRow, globalBatch: number): MeasuredRow => ({
  ...row,
  grad_accum: String(globalBatch / (degree(row, 'dp') * numberIn(row, 'micro_batch'))),
});

const parallelOf = (row: MeasuredRow, sequence = false) => ({
  tensor: degree(row, 'tp'),
  pipeline: degree(row, 'pp'),
  ...(degree(row, 'vp') > 1 ? { chunks: degree(row, 'vp') } : {}),
  ...(degree(row, 'cp') > 1 ? { context: degree(row, 'cp') } : {}),
  ...(sequence && degree(row, 'tp') > 1 ? { sequence: true } : {}),
});

/** The half of `measured/steps-vtrain.csv` that gave times of the host is left out. */
export const vTrainSet = (rows: readonly MeasuredRow[]): LayoutSet => {
  const { fitted } = halves(rows);
  const set = new Set(fitted);
  return {
    title: 'vTrain: GPT on 2 to 8 A100 of a node, fp16',
    cases: rows.map((row) => (set.has(row) ? { left: 'fitted: two times of the host' } : vTrainCase(row))),
  };
};

export const vTrainCase = (row: MeasuredRow, launch?: number): LayoutCase => ({
  row: {
    ...withPasses(row, numberIn(row, 'global_batch')),
    step_s: String(numberIn(row, 'milliseconds') / 1e3),
  },
  spec: gptSpec({
    layers: numberIn(row, 'layers'),
    hidden: numberIn(row, 'hidden'),
    heads: numberIn(row, 'heads'),
    seq: numberIn(row, 'seq'),
    vocabulary: 51200,
  }),
  cluster: machine('dgx-a100'),
  request: {
    precision: 'fp16',
    optimizer: 'adam',
    ...frameworkOf(
      `megatron,torch=1.12,attention=eager${launch === undefined ? '' : `,launch-us=${launch}`}`,
    ),
    parallel: parallelOf(row),
  },
});

/**
 * BLOOM's search for a layout: Megatron-DeepSpeed, ZeRO 1, every block computed again to its end (`--deepspeed-activation-checkpointing`),
 * with CUDA_LAUNCH_BLOCKING=1, without which runs on 320 GPUs and more hung (chronicles-prequel.md, tr11-176B-ml.slurm). From the
 * section on rebalancing on, gradients are added up in fp32 by its optimizer for bf16, and the first and the last stage have a block
 * less, for the embedding and the head; before, training was in fp16.
 */
export const bloomSet = (rows: readonly MeasuredRow[]): LayoutSet => ({
  title: 'BLOOM: layouts of 13B to 206B on 8 to 384 A100',
  cases: rows.map((row): LayoutCase => {
    if (!(row.gpu ?? '').startsWith('A100')) return { left: 'V100: without layers and width' };
    if (row.failed) return { left: 'failed' };
    if (!(Number(row.step_s) > 0) || !(Number(row.global_batch) > 0))
      return { left: 'without a time or a batch' };
    if (!row.hidden || !row.layers || !row.dp) return { left: 'without layers, width or copies' };
    const shape = withPasses(row, numberIn(row, 'global_batch'));
    return {
      row: { ...shape, grad_accum: String(Math.round(numberIn(shape, 'grad_accum'))) },
      spec: gptSpec(
        {
          layers: numberIn(row, 'layers'),
          hidden: numberIn(row, 'hidden'),
          heads: Number(row.heads || 64),
          seq: 2048,
          vocabulary: 250880,
        },
        { dropout: 0 },
      ),
      cluster: machine('a100-80gb-400g'),
      request: {
        optimizer: 'adam',
        checkpoint: 'block',
        ...(row.section === 'Rebalancing layers'
          ? {
              precision: 'bf16',
              ...frameworkOf(`${megatronDeepspeed},grad-accum-dtype=fp32`),
              parallel: { ...parallelOf(row), stages: withEnds(numberIn(row, 'layers'), degree(row, 'pp')) },
            }
          : {
              precision: 'fp16',
              ...frameworkOf(megatronDeepspeed),
              parallel: { ...parallelOf(row), stages: 'uniform' },
            }),
      },
    };
  }),
});

const megatronDeepspeed =
  'deepspeed-zero,stage=1,attention=eager,clip-norm=true,launch-us=60,reentrant=true,launch-blocking=true';

/** Blocks of stages that count the embedding and the head as one each. */
const withEnds = (layers: number, stages: number): readonly number[] => {
  const each = Math.ceil((layers + 2) / stages);
  return Array.from({ length: stages }, (_, stage) => each - (stage === 0 || stage === stages - 1 ? 1 : 0));
};

const llamas = {
  'llama3.1-8b': { layers: 32, hidden: 4096, heads: 32, groups: 8, width: 14336 },
  'llama3.1-70b': { layers: 80, hidden: 8192, heads: 64, groups: 8, width: 28672 },
  'llama3.1-405b': { layers: 126, hidden: 16384, heads: 128, groups: 8, width: 53248 },
} as const;

const recipe =
  'megatron,distributed-optimizer=true,overlap-grad-reduce=true,overlap-param-gather=true,tp-comm-overlap=true';

/** NVIDIA's recipes on H100. Layers of Llama 405B are those of its pipeline, the embedding and the head counted. */
export const recipeSet = (rows: readonly MeasuredRow[]): LayoutSet => ({
  title: "NVIDIA's recipes of Llama 3.1 and GPT-3 on 8 to 2,304 H100, BF16 and FP8",
  cases: rows.map((row): LayoutCase => {
    if (row.gpu !== 'H100') return { left: 'GB200' };
    const model = row.model ?? '';
    if (model.includes('maxtext') || model.includes('paxml')) return { left: 'MaxText and PAX' };
    if (model.startsWith('deepseek')) return { left: 'DeepSeek-V3' };
    if (!row.dp || !row.mbs) return { left: 'without copies' };
    const sizes = Object.entries(llamas).find(([name]) => name === model)?.[1];
    const layers = row.layers ? numberIn(row, 'layers') : undefined;
    const stages = degree(row, 'pp') * degree(row, 'vp');
    const padded = (count: number): number => Math.ceil(count / stages) * stages;
    const seq = numberIn(row, 'seq');
    const passes =
      row.grad_accum || String(numberIn(row, 'global_batch') / (degree(row, 'dp') * numberIn(row, 'mbs')));
    return {
      row: { ...row, micro_batch: row.mbs, grad_accum: passes, peak_memory_gb: '' },
      spec:
        sizes === undefined
          ? gptSpec(
              { layers: layers ?? 96, hidden: 12288, heads: 96, seq, vocabulary: 51200 },
              { core: 'fused', dropout: 0 },
            )
          : llamaSpec({ ...sizes, layers: padded(layers ?? sizes.layers), seq, vocabulary: 128256 }),
      cluster: machine('dgx-h100'),
      request: {
        precision: row.precision === 'FP8' ? 'fp8' : 'bf16',
        ...frameworkOf(recipe),
        parallel: parallelOf(row, true),
      },
    };
  }),
});

/** GPT-3 of MLPerf; chunks of its pipeline are not told, six as in NVIDIA's recipe. */
export const mlperfSet = (rows: readonly MeasuredRow[]): LayoutSet => ({
  title: 'MLPerf v3.1 (unofficial): GPT-3 175B on 512 to 10,752 H100, FP8',
  cases: rows.map((row): LayoutCase => {
    if (row.benchmark !== 'gpt3') return { left: 'LoRA' };
    return {
      row: { ...row, micro_batch: row.mbs ?? '' },
      spec: gptSpec(
        { layers: 96, hidden: 12288, heads: 96, seq: 2048, vocabulary: 51200 },
        { core: 'fused', dropout: 0 },
      ),
      cluster: machine('dgx-h100'),
      request: {
        precision: 'fp8',
        // Submitted in November 2023, with cuDNN's attention by Transformer Engine.
        ...frameworkOf(`${recipe},torch=2.1,attention-kernel=newest`),
        parallel: { ...parallelOf(row, true), chunks: 6 },
      },
    };
  }),
});

/** The GPU is not named: V100 at the nodes' usual links; times are over those of one GPU with the same model and checkpoints. */
export const libaiSet = (rows: readonly MeasuredRow[]): LayoutSet => ({
  title: "LiBai's Megatron-LM: BERT and GPT-2 on 4 to 32 GPUs over one GPU",
  overOneGpu: (row) => `${row.model} ${row.checkpointing}`,
  cases: rows.map((row): LayoutCase => {
    if (!(row.framework ?? '').startsWith('Megatron')) return { left: 'LiBai on OneFlow' };
    return {
      row,
      spec: gptSpec(
        {
          layers: numberIn(row, 'layers'),
          hidden: numberIn(row, 'hidden'),
          heads: numberIn(row, 'heads'),
          seq: numberIn(row, 'seq'),
          vocabulary: row.model === 'BERT' ? 30592 : 50304,
        },
        { causal: row.model !== 'BERT' },
      ),
      cluster: machine('dgx-1-v100'),
      request: {
        precision: 'fp16',
        optimizer: 'adam',
        ...(row.checkpointing === 'yes' ? { checkpoint: 'block' } : {}),
        ...frameworkOf('megatron,torch=1.12,attention=eager'),
        parallel: parallelOf(row),
      },
    };
  }),
});
