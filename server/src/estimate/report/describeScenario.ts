/** A scenario in one line, for headings. */

import { counted } from '../../model/counted.ts';
import { timesTitle } from '../../model/deviceNoun.ts';
import { formatCount, formatTime } from '../../model/format.ts';
import { seconds } from '../../model/units.ts';
import type { Report } from './report.ts';

type ReportScenario = Report['scenario'];

/** `dgx-a100: 2 nodes, 16 × A100 SXM 40 GB, batch 64 per GPU, bf16, adamw, pytorch-ddp, training`. */
export function describeScenario(report: Report): string {
  const { scenario, model } = report;
  const parts = [
    counted(scenario.nodes, 'node'),
    gpusText(report),
    batchText(scenario),
    ...jobParts(scenario, model.batchDimension),
  ];
  return `${scenario.cluster}: ${parts.join(', ')}`;
}

/** The same of any number of GPUs: `dgx-a100: batch 64 per GPU, bf16, adamw, pytorch-ddp, training`. */
export function describeJob(scenario: ReportScenario, batchDimension: string | null): string {
  const { globalBatch, device = 'GPU' } = scenario;
  const batch =
    globalBatch === undefined ? batchText(scenario) : `batch ${formatCount(globalBatch)} over all ${device}s`;
  return `${scenario.cluster}: ${[batch, ...jobParts(scenario, batchDimension)].join(', ')}`;
}

function jobParts(scenario: ReportScenario, batchDimension: string | null): readonly string[] {
  const dimensions = Object.entries(scenario.dimensions)
    .filter(([name]) => name !== batchDimension)
    .map(([name, value]) => `${name} = ${value}`);
  return [
    ...dimensions,
    scenario.precision,
    ...(scenario.mode === 'training' ? [scenario.optimizer] : []),
    // In inference a framework matters by its options only.
    ...(scenario.mode === 'training' || scenario.frameworkOptions !== undefined
      ? [frameworkText(scenario)]
      : []),
    scenario.mode,
    ...(scenario.past === undefined ? [] : [`decode after ${formatCount(scenario.past)} tokens`]),
    ...(scenario.checkpoint === undefined ? [] : [`checkpoint ${scenario.checkpoint}`]),
    ...(scenario.parallel === undefined ? [] : [parallelText(scenario.parallel)]),
    ...(scenario.loss === undefined ? [] : [`loss ${scenario.loss}`]),
    ...(scenario.freeze === undefined ? [] : [`frozen ${scenario.freeze.join(' ')}`]),
    ...(scenario.lora === undefined ? [] : [loraText(scenario.lora)]),
    ...(scenario.measuredStep === undefined
      ? []
      : [`measured step ${formatTime(seconds(scenario.measuredStep))}`]),
  ];
}

/** `LoRA of rank 16 (q_proj v_proj)`. */
const loraText = ({ rank, layers, dropout }: NonNullable<ReportScenario['lora']>): string =>
  [
    `LoRA of rank ${rank}`,
    ...(layers === undefined ? [] : [`(${layers.join(' ')})`]),
    ...(dropout === undefined ? [] : [`with dropout ${dropout}`]),
  ].join(' ');

/** `tensor parallel 8 with sequence parallelism, 4 pipeline stages (1f1b)`. */
function parallelText({
  tensor,
  sequence,
  context,
  contextExchange,
  expert,
  expertImbalance,
  pipeline,
  schedule,
  stages,
}: NonNullable<ReportScenario['parallel']>): string {
  return [
    ...(tensor === 1 ? [] : [`tensor parallel ${tensor}${sequence ? ' with sequence parallelism' : ''}`]),
    ...(context === 1 ? [] : [`context parallel ${context} (${contextExchange})`]),
    ...(expert === 1
      ? []
      : [`expert parallel ${expert}${expertImbalance === 1 ? '' : ` (imbalance ${expertImbalance})`}`]),
    ...(pipeline === 1
      ? []
      : [
          `${pipeline} pipeline stages (${schedule}${typeof stages === 'string' ? '' : `, ${stages.join('+')} blocks`})`,
        ]),
  ].join(', ');
}

function gpusText({ scenario, totals: { mixed } }: Report): string {
  if (mixed === undefined) return timesTitle(scenario.gpus, scenario.gpu);
  const { faster, slower } = mixed;
  return `${timesTitle(faster.count, faster.gpu)} and ${timesTitle(slower.count, slower.gpu)}`;
}

/** `pytorch-ddp (compile=true)`. */
function frameworkText({ framework, frameworkOptions = {} }: ReportScenario): string {
  const options = Object.entries(frameworkOptions).map((pair) => pair.join('='));
  return options.length === 0 ? framework : `${framework} (${options.join(', ')})`;
}

function batchText({ batchPerGpu, globalBatch, accumulate, device = 'GPU' }: ReportScenario): string {
  const each = `${accumulate === undefined ? '' : `${formatCount(accumulate)} × `}${formatCount(batchPerGpu)} per ${device}`;
  return globalBatch === undefined ? `batch ${each}` : `batch ${formatCount(globalBatch)}, at most ${each}`;
}
