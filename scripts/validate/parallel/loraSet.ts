/** LoRA of Llama 2 70B in MLPerf v4.0, by default settings of the framework `megatron`. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type MeasuredRow, numberIn } from '../../measured/readMeasured.ts';
import { machine } from '../scaling/clusters.ts';
import type { LayoutCase, LayoutSet } from './layoutSet.ts';
import { frameworkOf } from './parallelRow.ts';

/**
 * The table tells GPUs, samples of a step and passes; GPUs of a copy follow from them. That up to four of these share tensors and others
 * the sequence is the configuration of NVIDIA's submission.
 */
export const loraSet = (root: string, rows: readonly MeasuredRow[]): LayoutSet => {
  const spec = readFileSync(join(root, 'measured/models/lora-70b.layers.yaml'), 'utf8');
  return {
    title: 'MLPerf v4.0: LoRA of Llama 2 70B on 4 to 1,024 H100 and H200, FP8',
    cases: rows
      .filter(({ benchmark }) => benchmark === 'llama2_70b_lora')
      .map((row): LayoutCase => {
        const accelerator = row.accelerator ?? '';
        const gpu = /H[12]00-SXM/.exec(accelerator)?.[0];
        if (gpu === undefined) return { left: 'another GPU' };
        if (!row.median_logged_throughput) return { left: 'without a rate' };
        const [nodes, perNode] = [numberIn(row, 'nodes'), numberIn(row, 'accel_per_node')];
        const [batch, passes] = [numberIn(row, 'global_batch_size'), numberIn(row, 'grad_accum')];
        const gpus = nodes * perNode;
        const ways = (gpus * passes) / batch;
        if (!Number.isInteger(ways)) return { left: 'GPUs and batch contradict each other' };
        const tensor = Math.min(4, ways);
        return {
          row: {
            ...row,
            gpus: String(gpus),
            micro_batch: '1',
            step_s: String(batch / numberIn(row, 'median_logged_throughput')),
            peak_memory_gb: '',
          },
          spec,
          cluster: machine(gpu.startsWith('H1') ? 'dgx-h100' : 'dgx-h200'),
          request: {
            precision: 'fp8',
            freeze: ['*', '!*_a*', '!*_b*'],
            ...frameworkOf(`megatron,distributed-optimizer=true${tensor > 1 ? ',tp-comm-overlap=true' : ''}`),
            parallel: {
              tensor,
              ...(tensor > 1 ? { sequence: true } : {}),
              ...(ways > tensor ? { context: ways / tensor } : {}),
            },
          },
        };
      }),
  };
};
