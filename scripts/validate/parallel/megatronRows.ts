/** Megatron-LM's published steps. */

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { openLayerSpec } from '../../../server/src/analysis/openModel.ts';
import { type MeasuredRow, numberIn, readMeasured } from '../../measured/readMeasured.ts';
import { machine } from '../scaling/clusters.ts';
import { frameworkOf, type ParallelRow, predictRow } from './parallelRow.ts';

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
  return predictRow({ ...row, grad_accum: String(microBatches) }, opened, machine('dgx-a100'), {
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
