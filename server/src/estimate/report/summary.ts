/** The totals of a report in words, shared by every rendering that a person reads. */

import { counted } from '../../model/counted.ts';
import { atLeast, atMost, formatCount, formatFlops, formatPercent, formatRate } from '../../model/format.ts';
import { flops } from '../../model/units.ts';
import { decodingRows } from './decodingRows.ts';
import { memoryRow } from './memoryRow.ts';
import { parallelRows } from './parallelRows.ts';
import type { Report } from './report.ts';
import { hasAllWeights, ofWork, type SummaryRow, throughputText, timeText } from './reportText.ts';
import { runRows } from './runRows.ts';
import { stepTimeRow } from './stepTimeRow.ts';

/** `resnet50 (onnx): 25,557,032 parameters, 161 operators in 126 layers`. */
export function describeModel(report: Report): string {
  const { model } = report;
  return `${model.name} (${model.format}): ${describeParameters(report)}, ${counted(model.operators, 'operator')} in ${counted(report.layers.length, 'layer')}`;
}

/** `25,557,032 parameters`; what could not be read of a spec or a net may have more. */
export const describeParameters = (report: Report): string =>
  `${atLeast(formatCount(report.model.parameters), hasAllWeights(report))} parameters${trainedText(report)}`;

/** Exported graphs do not say what is trained. */
function trainedText({ model, scenario }: Report): string {
  if (model.frozenParameters !== undefined)
    return ` trained and ${formatCount(model.frozenParameters)} frozen`;
  return scenario.mode === 'training' && model.format.startsWith('onnx') ? ', all taken as trained' : '';
}

/** The totals, the most important first. Lower bounds are marked. */
export const summarize = (report: Report): readonly SummaryRow[] => [
  stepTimeRow(report),
  ...decodingRows(report),
  ...parallelRows(report),
  ...inputRows(report.totals),
  throughputRow(report),
  ...runRows(report.totals),
  memoryRow(report),
  flopsRow(report),
];

function throughputRow(report: Report): SummaryRow {
  const { totals, decoding } = report;
  const tokens = decoding === undefined ? totals.tokenThroughput : undefined;
  const detail = [
    ...(tokens === undefined || tokens === null
      ? []
      : [atMost(formatRate(tokens, 'tokens'), totals.time.exact)]),
    ...efficiencyTexts(report),
    ...(totals.asynchronous === undefined ? [] : [asynchronousText(totals.asynchronous)]),
    `MFU ${formatPercent(totals.mfu)}`,
  ];
  return { name: 'throughput', value: throughputText(report), detail: detail.join(', ') };
}

function efficiencyTexts({ totals, scenario }: Report): readonly string[] {
  if (scenario.gpus === 1 || scenario.parallel !== undefined) return [];
  const { scalingEfficiency, strongScalingEfficiency, efficiencyNotes } = totals;
  const whole = `(one ${scenario.device ?? 'GPU'} takes the whole batch)`;
  return [
    `weak scaling efficiency ${formatPercent(scalingEfficiency)}`,
    ...efficiencyNotes,
    ...(strongScalingEfficiency === undefined
      ? []
      : [`strong scaling efficiency ${formatPercent(strongScalingEfficiency)} ${whole}`]),
  ];
}

function flopsRow(report: Report): SummaryRow {
  const { scenario } = report;
  const { forward, backward } = report.totals.flops;
  const text = (count: number): string => ofWork(report, formatFlops(flops(count)));
  const ofBackward = scenario.mode === 'training' ? `, backward ${text(backward)}` : '';
  const detail = `forward ${text(forward)}${ofBackward} per ${scenario.device ?? 'GPU'}`;
  return { name: 'FLOPs', value: text(forward + backward), detail };
}

/** `read 12.1 ms, decoded in 40.0 ms, copied in 3.2 ms`: what is not known is said with what would tell it. */
function inputRows({ input, time }: Report['totals']): readonly SummaryRow[] {
  if (input === undefined) return [];
  const parts = [
    ...(input.storage === null ? [] : [`read in ${timeText(input.storage)}`]),
    ...(input.decoding === null ? [] : [`decoded in ${timeText(input.decoding)}`]),
    `copied in ${timeText(input.copying)}`,
    ...input.unknown.map((reason) => `unknown: ${reason}`),
    ...input.undescribed.map((part) => `not described: ${part}`),
  ];
  const isKnown = input.unknown.length === 0;
  return [{ name: 'input', value: atLeast(timeText(time.input), isKnown), detail: parts.join(', ') }];
}

function asynchronousText({ staleness, saturatesAt }: NonNullable<Report['totals']['asynchronous']>): string {
  const servers =
    saturatesAt === null ? '' : `, servers saturated from ${formatCount(Math.ceil(saturatesAt))} GPUs`;
  return `asynchronous, ${formatCount(staleness)} updates stale on average${servers}`;
}
