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

const jobParts = (scenario: ReportScenario, batchDimension: string | null): readonly string[] =>
  describeParts(scenario, batchDimension).map(([, text]) => text);

/** What is said of a scenario beside its devices and batch, each by what it is about. */
export function describeParts(
  scenario: ReportScenario,
  batchDimension: string | null,
): readonly (readonly [string, string])[] {
  const { mode, past, checkpoint, parallel, loss, freeze, lora, measuredStep } = scenario;
  const dimensions = Object.entries(scenario.dimensions)
    .filter(([name]) => name !== batchDimension)
    .map(([name, value]) => [name, `${name} = ${value}`] as const);
  const isTraining = mode === 'training';
  // In inference a framework matters by its options only.
  const hasFramework = isTraining || scenario.frameworkOptions !== undefined;
  const parts: readonly (readonly [string, string | undefined])[] = [
    ...dimensions,
    ['precision', scenario.precision],
    ['optimizer', isTraining ? scenario.optimizer : undefined],
    ['framework', hasFramework ? frameworkText(scenario) : undefined],
    ['mode', mode],
    ['decoding', past === undefined ? undefined : `decode after ${formatCount(past)} tokens`],
    ['checkpointing', checkpoint && `checkpoint ${checkpoint}`],
    ['parallel layout', parallel && parallelText(parallel)],
    ['given loss', loss && `loss ${loss}`],
    ['frozen layers', freeze && `frozen ${freeze.join(' ')}`],
    ['LoRA', lora && loraText(lora)],
    [
      'measured step',
      measuredStep === undefined ? undefined : `measured step ${formatTime(seconds(measuredStep))}`,
    ],
  ];
  return parts.flatMap(([about, text]) => (text === undefined ? [] : [[about, text] as const]));
}

/** `LoRA of rank 16 (q_proj v_proj)`. */
const loraText = ({ rank, layers, dropout, base }: NonNullable<ReportScenario['lora']>): string =>
  [
    `LoRA of rank ${rank}`,
    ...(layers === undefined ? [] : [`(${layers.join(' ')})`]),
    ...(dropout === undefined ? [] : [`with dropout ${dropout}`]),
    ...(base === undefined ? [] : [`beside layers in ${base}`]),
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
