/** Megatron-LM's published steps. */

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { openLayerSpec } from '../../../server/src/analysis/openModel.ts';
import { type MeasuredRow, numberIn, readMeasured } from '../../measured/readMeasured.ts';
import { machine } from '../scaling/clusters.ts';
import { gptSpec } from './layoutSpecs.ts';
import { frameworkOf, type ParallelRow, predictRow } from './parallelRow.ts';

/**
 * Megatron-LM's published steps, interleaved or not, on DGX A100. Its softmax is fused with scale and mask, and its attention
 * is not; a full recomputation is one of each layer, a selective one of the core of attention. `undefined` where the table is absent.
 */
export function megatronRows(
  shared: string,
  framework: string,
): { readonly rows: readonly ParallelRow[]; readonly all: number } | undefined {
  const folder = join(shared, 'measured/parallel');
  if (!existsSync(join(folder, 'megatron_papers.csv'))) return undefined;
  const all = readMeasured(folder, 'megatron_papers.csv').filter(({ table }) =>
    ['narayanan2021-table1', 'korthikanti2022-table5'].includes(table ?? ''),
  );
  return { rows: all.flatMap((row) => predictMegatron(row, framework)), all: all.length };
}

function predictMegatron(row: MeasuredRow, framework: string): readonly ParallelRow[] {
  const opened = openLayerSpec(
    gptSpec({
      layers: numberIn(row, 'layers'),
      hidden: numberIn(row, 'hidden'),
      heads: numberIn(row, 'heads'),
      seq: numberIn(row, 'seq'),
      vocabulary: 51200,
    }),
    'gpt.layers.yaml',
  );
  const microBatches = numberIn(row, 'global_batch') / (numberIn(row, 'dp') * numberIn(row, 'micro_batch'));
  return predictRow({ ...row, grad_accum: String(microBatches) }, opened, machine('dgx-a100'), {
    precision: 'fp16',
    optimizer: 'adam',
    checkpoint: row.recompute === 'full' ? 'block' : 'attention',
    ...frameworkOf(framework),
    parallel: {
      tensor: numberIn(row, 'tp'),
      pipeline: numberIn(row, 'pp'),
      ...(row.vp === '1' ? {} : { chunks: numberIn(row, 'vp') }),
      sequence: row.sequence_parallel === 'yes',
      stages: 'uniform',
    },
  });
}
