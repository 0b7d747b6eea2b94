/** A scenario in one line: each of its parts, word for word. */

import { expect, test } from 'vitest';
import { describeJob, describeScenario } from '../../../server/src/estimate/report/describeScenario.ts';
import type { Report } from '../../../server/src/estimate/report/report.ts';
import { oneWorker } from '../../support/oneWorker.ts';
import { smallReport } from '../../support/smallReport.ts';

type Change = Partial<Report['scenario']>;
const textOf = (change: Change, more: Partial<Report> = {}) =>
  describeScenario({ ...smallReport, ...more, scenario: { ...smallReport.scenario, ...change } });
const start = 'dgx-a100: 1 node, 8 × A100 SXM 40 GB, ';
const end = 'seq = 128, bf16, adamw, pytorch-ddp, training';

test.each<readonly [Change, string]>([
  [{}, `${start}batch 4 per GPU, ${end}`],
  [{ nodes: 2 }, `dgx-a100: 2 nodes, 8 × A100 SXM 40 GB, batch 4 per GPU, ${end}`],
  [{ gpus: 1 }, `dgx-a100: 1 node, 1 × A100 SXM 40 GB, batch 4 per GPU, ${end}`],
  [{ batchPerGpu: 4096 }, `${start}batch 4,096 per GPU, ${end}`],
  [{ accumulate: 2 }, `${start}batch 2 × 4 per GPU, ${end}`],
  [{ globalBatch: 1000 }, `${start}batch 1,000, at most 4 per GPU, ${end}`],
  [{ globalBatch: 1000, accumulate: 2 }, `${start}batch 1,000, at most 2 × 4 per GPU, ${end}`],
  [{ device: 'CPU node' }, `${start}batch 4 per CPU node, ${end}`],
  [{ dimensions: { batch: 4 } }, `${start}batch 4 per GPU, bf16, adamw, pytorch-ddp, training`],
  [{ dimensions: {} }, `${start}batch 4 per GPU, bf16, adamw, pytorch-ddp, training`],
  [
    { dimensions: { a: 1, b: 2 } },
    `${start}batch 4 per GPU, a = 1, b = 2, bf16, adamw, pytorch-ddp, training`,
  ],
  // Without an update, a framework matters by its options only.
  [{ mode: 'inference' }, `${start}batch 4 per GPU, seq = 128, bf16, inference`],
  [
    { mode: 'inference', frameworkOptions: { compile: 'default' } },
    `${start}batch 4 per GPU, seq = 128, bf16, pytorch-ddp (compile=default), inference`,
  ],
  [
    { mode: 'inference', past: 1024 },
    `${start}batch 4 per GPU, seq = 128, bf16, inference, decode after 1,024 tokens`,
  ],
  [
    { frameworkOptions: { compile: 'default', attention: 'eager' } },
    `${start}batch 4 per GPU, seq = 128, bf16, adamw, pytorch-ddp (compile=default, attention=eager), training`,
  ],
  [{ frameworkOptions: {} }, `${start}batch 4 per GPU, ${end}`],
  [{ checkpoint: 'block' }, `${start}batch 4 per GPU, ${end}, checkpoint block`],
  [{ loss: 'none' }, `${start}batch 4 per GPU, ${end}, loss none`],
  [{ freeze: ['*', '!head*'] }, `${start}batch 4 per GPU, ${end}, frozen * !head*`],
  [{ lora: { rank: 16 } }, `${start}batch 4 per GPU, ${end}, LoRA of rank 16`],
  [
    { lora: { rank: 16, layers: ['q_proj', 'v_proj'], dropout: 0.05 } },
    `${start}batch 4 per GPU, ${end}, LoRA of rank 16 (q_proj v_proj) with dropout 0.05`,
  ],
  [{ measuredStep: 0.3 }, `${start}batch 4 per GPU, ${end}, measured step 300 ms`],
])('%j', (change, text) => {
  expect(textOf(change)).toBe(text);
});

test.each<readonly [Partial<NonNullable<Report['scenario']['parallel']>>, string]>([
  [{ tensor: 8 }, 'tensor parallel 8'],
  [{ tensor: 8, sequence: true }, 'tensor parallel 8 with sequence parallelism'],
  [{ context: 2 }, 'context parallel 2 (ring)'],
  [{ expert: 4 }, 'expert parallel 4'],
  [{ expert: 4, expertImbalance: 1.5 }, 'expert parallel 4 (imbalance 1.5)'],
  [{ pipeline: 4 }, '4 pipeline stages (1f1b)'],
  [{ pipeline: 2, stages: [7, 5] }, '2 pipeline stages (1f1b, 7+5 blocks)'],
  [
    { tensor: 8, context: 2, expert: 4, pipeline: 4, schedule: 'gpipe' },
    'tensor parallel 8, context parallel 2 (ring), expert parallel 4, 4 pipeline stages (gpipe)',
  ],
])('%j: %s', (parallel, text) => {
  expect(textOf({ parallel: { ...oneWorker, ...parallel } })).toBe(
    `${start}batch 4 per GPU, ${end}, ${text}`,
  );
});

test('GPUs of two kinds are counted each', () => {
  const mixed = { slower: { gpu: 'V100', count: 3 }, faster: { gpu: 'A100', count: 5 }, time: 0 };
  expect(textOf({}, { totals: { ...smallReport.totals, mixed } })).toBe(
    `dgx-a100: 1 node, 5 × A100 and 3 × V100, batch 4 per GPU, ${end}`,
  );
});

test('a job of any number of GPUs names none', () => {
  const jobOf = (change: Change, batch: string | null = 'batch') =>
    describeJob({ ...smallReport.scenario, ...change }, batch);
  expect(jobOf({})).toBe(`dgx-a100: batch 4 per GPU, ${end}`);
  expect(jobOf({ globalBatch: 1000 })).toBe(`dgx-a100: batch 1,000 over all GPUs, ${end}`);
  expect(jobOf({ globalBatch: 1000, device: 'CPU node' })).toBe(
    `dgx-a100: batch 1,000 over all CPU nodes, ${end}`,
  );
  expect(jobOf({}, null)).toBe(`dgx-a100: batch 4 per GPU, batch = 4, ${end}`);
});
