/** Peaks of GPU memory held against published ones, and against batches that ran or ran out of memory. */

import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { memoryOf } from '../../server/src/estimate/memory/memoryOf.ts';
import { type KeptModel, memoryDoubts } from '../../server/src/estimate/memory/neededRange.ts';
import {
  mostRuntimeReserve,
  reservedMemory,
  runtimeReserve,
} from '../../server/src/estimate/memory/reservedMemory.ts';
import { planStep } from '../../server/src/estimate/plan/planStep.ts';
import type { TotalCost } from '../../server/src/model/stepCost.ts';
import { type MeasuredRow, numberIn, readMeasured } from '../measured/readMeasured.ts';
import { scenarioOfRow } from '../measured/scenarioOfRow.ts';
import type { OpenGraph } from './graphs.ts';
import { memoryRangeLine, type RangedPeak } from './memoryRanges.ts';
import type { ParallelRow } from './parallel/parallelRow.ts';
import { percent, signedPercent } from './percent.ts';

export interface JudgedPeak extends RangedPeak {
  readonly what: string;
}

export interface JudgedPeaks {
  readonly rows: readonly JudgedPeak[];
  /** Rows that nothing here expresses, with the reason. */
  readonly left: readonly { readonly source: string; readonly what: string; readonly why: string }[];
}

/** Graphs of the rows lie in the project. */
export function judgePeaks(measured: string, open: OpenGraph): JudgedPeaks {
  const rows: JudgedPeak[] = [];
  const left: JudgedPeaks['left'][number][] = [];
  for (const row of readMeasured(measured, 'peak-memory.csv')) {
    const { source = '', what = '', kind = '' } = row;
    if (row.left) {
      left.push({ source, what, why: row.left });
      continue;
    }
    const opened = open(row.graph ?? '');
    const memory =
      opened &&
      estimateModel(opened, [{ ...scenarioOfRow(row), cluster: row.cluster ?? '' }]).cost?.totals.memory;
    if (memory === undefined) throw new Error(`${source}, ${what}: cannot be costed`);
    const { peak, reserved } = memory;
    const predicted = comparable(memory, kind);
    rows.push({
      source,
      what,
      kind,
      measured: numberIn(row, 'bytes'),
      predicted,
      peak,
      reserved,
      kept: 'copy',
    });
  }
  return { rows, left };
}

/** Memory in use has the context of the driver on top of what is reserved. */
const comparable = ({ peak, reserved, context }: TotalCost['memory'], kind: string): number =>
  kind === 'allocated' ? peak : kind === 'reserved' ? reserved.high : reserved.high + context;

/** What is said of a batch: it can be placed in what is surely left of the GPU, in what is left at best, or in neither. */
export interface Verdicts {
  readonly fits: number;
  readonly mayFit: number;
  readonly doesNot: number;
}

export interface JudgedBatches {
  /** Of batches that timm trained with. */
  readonly ran: Verdicts;
  /** Of those one step above, which its benchmark had tried before and which ran out of memory. */
  readonly ranOut: Verdicts;
}

/**
 * timm trained on an RTX 3090 with the largest batch that ran, from 512 down by powers of two and the middle between them
 * (`decay_batch_step` of timm/utils/decay_batch.py). `undefined` where the graphs are absent.
 */
export function judgeBatches(measured: string, open: OpenGraph): JudgedBatches | undefined {
  const largest = new Map<string, number>();
  for (const { source, gpu, model = '', batch } of readMeasured(measured, 'steps-timm.csv')) {
    if (source !== 'timm' || gpu !== 'rtx-3090') continue;
    largest.set(model, Math.max(largest.get(model) ?? 0, Number(batch)));
  }
  const ran = { fits: 0, mayFit: 0, doesNot: 0 };
  const ranOut = { fits: 0, mayFit: 0, doesNot: 0 };
  for (const [model, batch] of largest) {
    const opened = open(`shared:models/timm-train/${model}.onnx.gz`);
    if (opened === undefined) return undefined;
    const verdict = (size: number): keyof Verdicts => {
      const { training, scenario, cluster } = estimateModel(opened, [{ ...timmTraining, batch: size }]);
      if (training === undefined || scenario === undefined || cluster === undefined) return 'doesNot';
      const plan = planStep(training, scenario, cluster);
      const { capacity, peak } = memoryOf(plan);
      const { fitsIn, surelyFitsIn } = reservedMemory(plan, peak);
      if (!fitsIn(capacity - runtimeReserve)) return 'doesNot';
      return surelyFitsIn(capacity - mostRuntimeReserve) ? 'fits' : 'mayFit';
    };
    ran[verdict(batch)] += 1;
    if (batch < 512) ranOut[verdict(nextBatch(batch))] += 1;
  }
  return { ran, ranOut };
}

/** What tensors hold at once, against PyTorch's own engine (`measured/live-peaks.csv`). */
export interface JudgedLivePeak {
  readonly model: string;
  readonly batch: number;
  /** Predicted over counted. */
  readonly ratio: number;
}

export const livePeaks = (measured: string): readonly MeasuredRow[] =>
  readMeasured(measured, 'live-peaks.csv');

/** `undefined` where the graphs are absent. */
export function judgeLivePeaks(
  rows: readonly MeasuredRow[],
  open: OpenGraph,
): readonly JudgedLivePeak[] | undefined {
  const judged: JudgedLivePeak[] = [];
  for (const row of rows) {
    const { model = '' } = row;
    const batch = numberIn(row, 'batch');
    const opened = open(`shared:models/timm-train/${model}.onnx.gz`);
    const memory = opened && estimateModel(opened, [{ ...timmTraining, batch }]).cost?.totals.memory;
    if (memory === undefined) return undefined;
    judged.push({ model, batch, ratio: (memory.peak - libraryWorkspace) / numberIn(row, 'bytes') });
  }
  return judged;
}

/** Of cuBLAS on an RTX 3090, which no tensor is. */
const libraryWorkspace = 4096 * 1024 * 2 + 16 * 1024 * 8;

/** Activations of timm are in place (`BatchNormAct2d` of timm/layers/norm_act.py has `inplace=True`). */
const timmTraining = {
  cluster: 'rtx-3090',
  gpus: 1,
  precision: 'fp16',
  optimizer: 'momentum',
  framework: { name: 'pytorch-ddp', options: { attention: 'eager', 'in-place': 'true' } },
} as const;

const nextBatch = (batch: number): number =>
  Number.isInteger(Math.log2(batch)) ? (batch * 3) / 2 : (batch * 4) / 3;

/** Peaks of layouts in which GPUs share a copy, on nodes of eight; models of one size are a source. */
export const peaksOfParts = (rows: readonly ParallelRow[]): readonly RangedPeak[] =>
  rows
    .filter(({ measuredPeak }) => measuredPeak > 0)
    .map(({ row, measuredPeak, predictedPeak }) => ({
      source: row.model ?? '',
      kind: 'allocated',
      measured: measuredPeak,
      predicted: predictedPeak,
      peak: predictedPeak,
      reserved: { low: predictedPeak, high: predictedPeak },
      kept: numberIn(row, 'tp') > 8 ? 'partAcrossNodes' : 'part',
    }));

export function peakSection(
  { rows, left }: JudgedPeaks,
  live: readonly JudgedLivePeak[],
  batches: JudgedBatches,
  parts: readonly RangedPeak[],
): string {
  const apart = live.map(({ ratio }) => Math.abs(ratio - 1)).sort((a, b) => a - b);
  const worst = live.toSorted((a, b) => Math.abs(b.ratio - 1) - Math.abs(a.ratio - 1)).slice(0, 3);
  const errors = rows.map(({ predicted, measured }) => Math.abs(predicted / measured - 1));
  const mean = errors.reduce((total, error) => total + error, 0) / errors.length;
  const verdicts = ({ fits, mayFit, doesNot }: Verdicts): string => `${fits} | ${mayFit} | ${doesNot}`;
  return `## Peaks of memory

Published peaks of training, by \`measured/peak-memory.csv\`. Nothing was fitted to them. What is reserved
is what PyTorch's caching allocator takes when it places the tensors of two steps in the order in which they come and go;
memory in use has the context of the driver on top. OneFlow is costed as PyTorch. The target is a mean error of at most 10 %: ${percent(mean)} over ${rows.length} rows, ${mean <= 0.1 ? 'reached' : 'not reached'}.

| source | what | kind | measured | predicted | error |
| --- | --- | --- | --: | --: | --: |
${rows.map(({ source, what, kind, measured, predicted }) => `| ${source} | ${what} | ${kind} | ${gibibytes(measured)} | ${gibibytes(predicted)} | ${signedPercent(predicted / measured - 1)} |`).join('\n')}

Ranges: tensors may take more or less than predicted, the allocator between what tensors take and what it reserves where the GPU has all,
and driver, framework and kernels ${gibibytes(runtimeReserve)} to ${gibibytes(mostRuntimeReserve)} (\`neededRange\` of \`layercost report --format json\`).
Tensors take up to ${upwards('copy')} more and ${downwards('copy')} less than predicted, ${upwards('part')} and ${downwards('part')} where GPUs share a copy of the model, and ${upwards('partAcrossNodes')} and
${downwards('partAcrossNodes')} where groups of tensor parallelism span nodes, where most of nanotron's runs gathered again what others kept. A tenth of
these peaks lies above each range and a tenth below.
*source left out*: fitted to the other publications, or to nanotron's other sizes of models.

| peaks | rows | in range | source left out | width |
| --- | --: | --: | --: | --: |
${memoryRangeLine('published, above', rows)}
${memoryRangeLine(
  'nanotron, groups of tensor parallelism in a node',
  parts.filter(({ kept }) => kept === 'part'),
)}
${memoryRangeLine(
  'nanotron, groups that span nodes',
  parts.filter(({ kept }) => kept === 'partAcrossNodes'),
)}

Skipped, with the reason:

${left.map(({ source, what, why }) => `- ${source}, ${what}: ${why}`).join('\n')}

The memory of tensors alone is also compared with PyTorch's own engine, run on tensors without contents
(\`measured/live-peaks.csv\`): ${live.length} networks of timm in mixed precision, mean ${percent(apart.reduce((total, error) => total + error, 0) / apart.length)}, median ${percent(apart[Math.floor(apart.length / 2)] ?? 0)}, ${apart.filter((error) => error <= 0.03).length} within 3 %.
Farthest are ${worst.map(({ model, ratio }) => `${model} (${signedPercent(ratio - 1)})`).join(', ')}: PNASNet's export merges pools that
PyTorch computes twice, and CoaT's code holds what its stages gave.

timm's largest batches on an RTX 3090 (24 GB) and those one step above, which its benchmark tried first. A batch *fits*
where the allocator can place its tensors in all but ${gibibytes(mostRuntimeReserve)}, whatever variables hold, *may fit* in all but ${gibibytes(runtimeReserve)}, which driver, framework and the
workspace of kernels take. The exact amount is unknown; every second of these networks set the larger number.

| batches | fits | may fit | does not |
| --- | --: | --: | --: |
| that ran | ${verdicts(batches.ran)} |
| that ran out of memory | ${verdicts(batches.ranOut)} |

A batch above the largest is taken to have run out of memory, which no log states; the target is that none of them fits: ${batches.ranOut.fits === 0 ? 'reached' : 'not reached'}.
Variables of a program hold values that no operator reads any more, CoaT's those of all its stages. Which do no graph says, so
that a batch fits where it does with all that they can hold. The one that ran and is said not to has in-place activated
normalization, which keeps one tensor where its exported graph keeps two.
`;
}

const upwards = (kept: KeptModel): string => percent(Math.expm1(memoryDoubts[kept].high));
const downwards = (kept: KeptModel): string => percent(-Math.expm1(-memoryDoubts[kept].low));

const gibibytes = (size: number): string => `${(size / 2 ** 30).toFixed(1)} GiB`;
