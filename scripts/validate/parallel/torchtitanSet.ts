/** torchtitan's own measurements, on H100 with 96 GB of HBM2e and 500 W. Its memory is what the allocator reserved. */

import type { StepCost } from '../../../server/src/model/stepCost.ts';
import { type MeasuredRow, numberIn } from '../../measured/readMeasured.ts';
import { machine } from '../scaling/clusters.ts';
import type { LayoutCase, LayoutSet } from './layoutSet.ts';
import { llamaSpec } from './layoutSpecs.ts';
import { frameworkOf } from './parallelRow.ts';

const sizes = {
  'llama3.1-8b': { layers: 32, hidden: 4096, heads: 32, groups: 8, width: 14336 },
  'llama3.1-70b': { layers: 80, hidden: 8192, heads: 64, groups: 8, width: 28672 },
  'llama3.1-405b': { layers: 126, hidden: 16384, heads: 128, groups: 8, width: 53248 },
} as const;

/** Its files for Llama 3 select by operator: `selective_ac_option = "op"` (train_configs/llama3_8b.toml). */
const checkpoints = {
  none: 'none',
  selective: 'alternate',
  'per-op selective': 'alternate',
  full: 'block',
} as const;

export const torchtitanSet = (rows: readonly MeasuredRow[]): LayoutSet => ({
  title:
    'torchtitan: Llama 3.1 with FSDP, tensor, pipeline and context parallelism on 8 to 512 H100 and H200',
  cases: rows.map((row): LayoutCase => {
    const model = Object.entries(sizes).find(([name]) => name === row.model)?.[1];
    const checkpoint = Object.entries(checkpoints).find(
      ([name]) => name === row.activation_checkpointing,
    )?.[1];
    if (model === undefined) return { left: 'another model' };
    if (row.precision === 'fp8-rowwise') return { left: 'FP8 with scales of rows' };
    if (checkpoint === undefined) return { left: 'other checkpoints' };
    const [tensor, pipeline, context] = [numberIn(row, 'tp'), numberIn(row, 'pp'), numberIn(row, 'cp')];
    const replicas = numberIn(row, 'gpus') / (tensor * pipeline * context);
    const local = numberIn(row, 'global_batch') / replicas;
    const microBatch = pipeline === 1 ? local : 1;
    const seq = numberIn(row, 'seq');
    const tokens = numberIn(row, 'tokens_per_s_per_gpu') * numberIn(row, 'gpus');
    const options = [
      'torchtitan',
      `torch=${releaseOf(row)}`,
      `compile=${row.compile === 'yes'}`,
      ...(row.async_tp === 'yes' && pipeline === 1 ? ['async-tensor-parallel=true'] : []),
    ];
    return {
      row: {
        ...row,
        micro_batch: String(microBatch),
        grad_accum: String(local / microBatch),
        step_s: String((numberIn(row, 'global_batch') * seq) / tokens),
        peak_memory_gb: row.memory_gib ? String((numberIn(row, 'memory_gib') * 2 ** 30) / 1e9) : '',
      },
      peakOf: reservedAtMost,
      spec: llamaSpec({ ...model, seq, vocabulary: 128256 }),
      cluster: machine(row.gpu === 'H200' ? 'dgx-h200' : 'h100-96gb-node'),
      request: {
        precision: row.precision?.startsWith('fp8') ? 'fp8' : 'bf16',
        checkpoint,
        ...frameworkOf(options.join(',')),
        parallel: {
          tensor,
          pipeline,
          ...(context === 1 ? {} : { context }),
          ...(row.schedule === 'Interleaved1F1B' ? { schedule: 'interleaved-1f1b' } : {}),
        },
      },
    };
  }),
});

/** Where the allocator would take more than the GPU has, it gives back what it holds and takes what is there. */
const reservedAtMost = ({ totals: { memory } }: StepCost): number =>
  Math.min(memory.reserved.high, (memory.capacity ?? Infinity) - memory.context);

/** Of PyTorch, by the month in the name of the file: nightly builds before 2.6 in December 2024, before 2.8 in June 2025. */
const releaseOf = ({ file = '' }: MeasuredRow): string => (file.includes('202412') ? '2.6' : '2.8');
