/**
 * NVIDIA's recipes of Megatron Bridge, by default settings of the framework `megatron`: Llama 3, and mixtures of experts. Of the runs of a
 * model on as many GPUs of a system in a precision, the one of the newest container counts.
 */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { specOfConfig } from '../../../server/src/lowering/hugging-face/specOfConfig.ts';
import { type MeasuredRow, numberIn } from '../../measured/readMeasured.ts';
import { machine } from '../scaling/clusters.ts';
import type { LayoutCase, LayoutSet } from './layoutSet.ts';
import { llamaSpec } from './layoutSpecs.ts';
import { frameworkOf } from './parallelRow.ts';

const clusters: Readonly<Record<string, string>> = {
  'DGX-H100': 'dgx-h100',
  'DGX-B200': 'dgx-b200',
  'DGX-B300': 'dgx-b300',
  'DGX-GB200': 'gb200-nvl72',
  'DGX-GB300': 'gb300-nvl72',
};

const llamas: Readonly<Record<string, Omit<Parameters<typeof llamaSpec>[0], 'seq' | 'vocabulary'>>> = {
  LLAMA3_70B: { layers: 80, hidden: 8192, heads: 64, groups: 8, width: 28672 },
  'LLAMA3.1_405B': { layers: 126, hidden: 16384, heads: 128, groups: 8, width: 53248 },
};

/** Configs in `measured/models/bridge`, by the sizes that their papers tell. */
const mixtures: Readonly<Record<string, string>> = {
  Qwen3_30B_a3B: 'qwen3-30b-a3b',
  Qwen3_235B_a22B: 'qwen3-235b-a22b',
  DeepSeekV3: 'deepseek-v3',
  'GPT OSS 120B': 'gpt-oss-120b',
};

export function bridgeSets(root: string, table: readonly MeasuredRow[]): readonly LayoutSet[] {
  const rows = newestOf(table);
  return [
    {
      title:
        "NVIDIA's Megatron Bridge: Llama 3 70B and 405B on 64 to 1,024 H100, GB200 and GB300, FP8 and NVFP4",
      cases: rows.flatMap((row) => {
        const sizes = llamas[row.model ?? ''];
        if (sizes === undefined) return [];
        const stages = degree(row, 'PP') * degree(row, 'VP');
        const layers = Math.ceil(sizes.layers / stages) * stages;
        const seq = numberIn(row, 'Sequence Length');
        return [caseOf(row, llamaSpec({ ...sizes, layers, seq, vocabulary: 128256 }))];
      }),
    },
    {
      title:
        'Mixtures in Megatron Bridge: Qwen3, DeepSeek-V3 and GPT-OSS on 8 to 256 H100 to GB300, BF16 and FP8',
      cases: rows.flatMap((row) => {
        const config = mixtures[row.model ?? ''];
        if (config === undefined) return [];
        const text = readFileSync(join(root, 'measured/models/bridge', `${config}.config.json`), 'utf8');
        const { text: spec } = specOfConfig(text, config, { seq: numberIn(row, 'Sequence Length') });
        return [spec === undefined ? { left: 'a config that is not read' } : caseOf(row, spec)];
      }),
    },
  ];
}

function newestOf(table: readonly MeasuredRow[]): readonly MeasuredRow[] {
  const known = new Map<string, MeasuredRow>();
  for (const row of table) {
    if (!/^(Pre-Training )?Performance$/.test(row.phase ?? '')) continue;
    const key = [row.model, row.System, row.Precision, row['#-GPUs']].join('|');
    const before = known.get(key);
    if (before === undefined || releaseOf(row) > releaseOf(before)) known.set(key, row);
  }
  return [...known.values()];
}

/** "26.04.01 NeMo Container" as 260401. */
function releaseOf({ container = '' }: MeasuredRow): number {
  const [year = 0, month = 0, day = 0] = (container.split(' ')[0] ?? '').split('.').map(Number);
  return (year * 100 + month) * 100 + day;
}

const degree = (row: MeasuredRow, column: string): number => {
  const text = row[column] ?? '';
  return text === '' || text === 'n/a' ? 1 : Number(text);
};

function caseOf(row: MeasuredRow, spec: string): LayoutCase {
  const cluster = clusters[row.System ?? ''];
  if (cluster === undefined) return { left: 'another system' };
  if (Number(row.FSDP) > 0) return { left: "Megatron's FSDP" };
  const [gpus, batch, micro] = [numberIn(row, '#-GPUs'), numberIn(row, 'GBS'), numberIn(row, 'MBS')];
  const [tensor, pipeline, chunks] = [degree(row, 'TP'), degree(row, 'PP'), degree(row, 'VP')];
  const [context, expert] = [degree(row, 'CP'), degree(row, 'EP')];
  const copies = gpus / (tensor * pipeline * context);
  const tokens = batch * numberIn(row, 'Sequence Length');
  return {
    row: {
      ...row,
      gpus: String(gpus),
      micro_batch: String(micro),
      grad_accum: String(batch / (copies * micro)),
      step_s: String(tokens / gpus / numberIn(row, 'Tokens / sec / GPU')),
    },
    spec,
    cluster: machine(cluster),
    request: {
      precision: row.Precision === 'BF16' ? 'bf16' : row.Precision === 'NVFP4' ? 'nvfp4' : 'fp8',
      ...frameworkOf(
        `${recipe}${tensor > 1 ? ',tp-comm-overlap=true' : ''}${expert > 1 ? ',moe-token-dispatcher=flex' : ''}`,
      ),
      parallel: {
        tensor,
        pipeline,
        ...(chunks > 1 ? { chunks } : {}),
        ...(context > 1 ? { context } : {}),
        ...(tensor > 1 ? { sequence: true } : {}),
        ...(expert > 1 ? { expert } : {}),
        ...(pipeline > 1 ? { stages: 'balanced' } : {}),
      },
    },
  };
}

const recipe = 'megatron,distributed-optimizer=true,overlap-grad-reduce=true,overlap-param-gather=true';
