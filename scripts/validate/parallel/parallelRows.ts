/** Measured steps of language models in which several GPUs share a copy, and what is predicted for them. */

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { OpenedModel } from '../../../server/src/analysis/openedModel.ts';
import { openLayerSpec } from '../../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../../server/src/estimate/estimateModel.ts';
import { readFrameworkText } from '../../../server/src/formats/frameworkText.ts';
import type { ScenarioRequest } from '../../../server/src/model/scenario.ts';
import { type MeasuredRow, numberIn, readMeasured } from '../../measured/readMeasured.ts';
import type { OpenGraph } from '../graphs.ts';
import { machine } from '../scaling/clusters.ts';

export interface ParallelRow {
  readonly row: MeasuredRow;
  /** Seconds of a step; 0 where only memory was measured. */
  readonly measured: number;
  readonly predicted: number;
  /** Bytes of the GPU that needs the most; 0 where it was not measured. */
  readonly measuredPeak: number;
  readonly predictedPeak: number;
}

/** Every row of so many is predicted for the page: all of them take ten minutes. */
const everyNanotronRow = 8;

/**
 * The sweep of nanotron over layouts (`../shared/measured/parallel/SOURCE.md`), of which it is not told whether collectives were
 * all-reduces or those of sequence parallelism: the code's default is taken, the latter. `undefined` where the table is absent.
 */
export function nanotronRows(
  shared: string,
  open: OpenGraph,
  every = everyNanotronRow,
): { readonly rows: readonly ParallelRow[]; readonly all: number } | undefined {
  const folder = join(shared, 'measured/parallel');
  if (!existsSync(join(folder, 'nanotron_h100.csv'))) return undefined;
  const all = readMeasured(folder, 'nanotron_h100.csv');
  const chosen = all.filter((_, index) => index % every === 0);
  return { rows: chosen.flatMap((row) => predictNanotron(row, open)), all: all.length };
}

const nanotronOptions =
  'weights=half-with-copy,gradients=fp32-sums,optimizer-kernels=fused,clip-norm=true,attention-kernel=flash-attention-2';

function predictNanotron(row: MeasuredRow, open: OpenGraph): readonly ParallelRow[] {
  const opened = open(
    `measured/models/llama-training.layers.yaml#nanotron-${(row.model ?? '').toLowerCase()}`,
  );
  if (opened === undefined) return [];
  const name = row.zero_stage === '1' ? 'deepspeed-zero,stage=1' : 'pytorch-ddp,gradient-dtype=fp32';
  return predictRow(row, opened, 'p5-48xlarge', {
    precision: 'bf16',
    ...frameworkOf(`${name},${nanotronOptions}`),
    parallel: { tensor: numberIn(row, 'tp'), pipeline: numberIn(row, 'pp'), sequence: row.tp !== '1' },
  });
}

/**
 * Megatron-LM's published steps, interleaved or not, on DGX A100. Its softmax is fused with scale and mask, and its attention
 * is not; a full recomputation is one of each layer. `undefined` where the table is absent.
 */
export function megatronRows(
  shared: string,
): { readonly rows: readonly ParallelRow[]; readonly all: number } | undefined {
  const folder = join(shared, 'measured/parallel');
  if (!existsSync(join(folder, 'megatron_papers.csv'))) return undefined;
  const all = readMeasured(folder, 'megatron_papers.csv').filter(({ table }) =>
    ['narayanan2021-table1', 'korthikanti2022-table5'].includes(table ?? ''),
  );
  const full = all.filter(({ recompute }) => recompute === 'full');
  return { rows: full.flatMap(predictMegatron), all: all.length };
}

function predictMegatron(row: MeasuredRow): readonly ParallelRow[] {
  const opened = openLayerSpec(gptOf(row), 'gpt.layers.yaml');
  const microBatches = numberIn(row, 'global_batch') / (numberIn(row, 'dp') * numberIn(row, 'micro_batch'));
  return predictRow({ ...row, grad_accum: String(microBatches) }, opened, 'dgx-a100', {
    precision: 'fp16',
    optimizer: 'adam',
    checkpoint: 'block',
    ...frameworkOf(
      'pytorch-ddp,weights=half-with-copy,gradients=fp32-sums,optimizer-kernels=fused,gradient-dtype=fp32,clip-norm=true',
    ),
    parallel: {
      tensor: numberIn(row, 'tp'),
      pipeline: numberIn(row, 'pp'),
      ...(row.vp === '1' ? {} : { chunks: numberIn(row, 'vp') }),
      sequence: row.sequence_parallel === 'yes',
      stages: 'uniform',
    },
  });
}

/** GPT of Megatron-LM: dropout, a tied head, and a vocabulary that is padded to 51,200. */
const gptOf = (row: MeasuredRow): string => `name: gpt
dims: { batch: 1, seq: ${row.seq}, h: ${row.hidden}, a: ${row.heads} }
inputs:
  tokens: int64[batch, seq]
  labels: int64[batch*seq]
blocks:
  decoder:
    - ln_1: LayerNorm(h)
    - attn: MultiheadAttention(h, a, dropout=0.1, causal=True, fused=False)
    - drop_1: Dropout(0.1)
    - res_1: add(drop_1, input)
    - ln_2: LayerNorm(h)
    - fc: Linear(h, 4*h)
    - act: GELU()
    - proj: Linear(4*h, h)
    - drop_2: Dropout(0.1)
    - res_2: add(drop_2, res_1)
layers:
  - embed: Embedding(51200, h) from tokens
  - drop: Dropout(0.1)
  - h: decoder() * ${row.layers}
  - last: LayerNorm(h)
  - head: Linear(h, 51200, bias=False, weight=embed)
  - rows: reshape((batch*seq, 51200))
  - loss: CrossEntropyLoss() from rows, labels precision=fp32
`;

function predictRow(
  row: MeasuredRow,
  opened: OpenedModel,
  cluster: string,
  request: ScenarioRequest,
): readonly ParallelRow[] {
  const { cost } = estimateModel(
    opened,
    [
      {
        optimizer: 'adamw',
        ...request,
        gpus: numberIn(row, 'gpus'),
        batch: numberIn(row, 'micro_batch'),
        accumulate: numberIn(row, 'grad_accum'),
      },
    ],
    machine(cluster),
  );
  const step = cost?.totals.time.step;
  if (cost === undefined || step === undefined || step === null) return [];
  return [
    {
      row,
      measured: numberIn(row, 'step_s'),
      predicted: step,
      measuredPeak: row.peak_memory_gb ? numberIn(row, 'peak_memory_gb') * 1e9 : 0,
      predictedPeak: cost.totals.memory.peak,
    },
  ];
}

function frameworkOf(text: string): Pick<ScenarioRequest, 'framework'> {
  const { choice } = readFrameworkText(text);
  return choice === undefined ? {} : { framework: choice };
}
