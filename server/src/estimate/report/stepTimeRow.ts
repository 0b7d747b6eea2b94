/** The row of the step time: its range, its parts, and what waits. */

import { atLeast, formatPercent } from '../../model/format.ts';
import type { Report } from './report.ts';
import { ofWeights, ofWork, type SummaryRow, timeText } from './reportText.ts';

export function stepTimeRow(report: Report): SummaryRow {
  const { time, basis } = report.totals;
  const detail = [
    ...(time.stepRange === null || !time.exact
      ? []
      : [`${timeText(time.stepRange[0])} to ${timeText(time.stepRange[1])}`]),
    ...partTexts(report),
    ...waitTexts(report.totals),
    ...(basis === undefined ? [] : [basisText(basis)]),
  ];
  return { name: 'step time', value: atLeast(timeText(time.step), time.exact), detail: detail.join(', ') };
}

function partTexts(report: Report): readonly string[] {
  const { scenario } = report;
  const { time } = report.totals;
  const isTraining = scenario.mode === 'training';
  const communicates = (scenario.gpus > 1 && isTraining) || (time.communication ?? 0) > 0;
  const backward = [
    `backward ${ofWork(report, timeText(time.backward))}`,
    `update ${ofWeights(report, timeText(time.update))}`,
  ];
  const exposed = `${timeText(time.exposedCommunication)} of ${ofWeights(report, timeText(time.communication))} communication exposed`;
  return [
    `forward ${ofWork(report, timeText(time.forward))}`,
    ...(isTraining ? backward : []),
    ...(communicates ? [exposed] : []),
  ];
}

/** Waiting for input, for the slowest worker, and for GPUs of another kind, where it takes any time. */
function waitTexts({ time, imbalance, mixed }: Report['totals']): readonly string[] {
  return [
    ...(time.exposedInput === null || time.exposedInput < noTime
      ? []
      : [`${timeText(time.exposedInput)} waiting for input`]),
    ...(imbalance === undefined || imbalance.time < noTime
      ? []
      : [`${timeText(imbalance.time)} waiting for the slowest worker`]),
    ...(mixed === undefined || mixed.time < noTime
      ? []
      : [`${timeText(mixed.time)} for which ${mixed.faster.gpu} waits for ${mixed.slower.gpu}`]),
  ];
}

/** What rounding leaves, in seconds. */
const noTime = 1e-9;

/** `20 % of kernel time from this GPU's curves, 80 % from another GPU's`; the rest is a roofline. */
function basisText({ measured, transferred }: NonNullable<Report['totals']['basis']>): string {
  const parts = [
    ...(measured >= 0.005 ? [`${formatPercent(measured)} of kernel time from this GPU’s curves`] : []),
    ...(transferred >= 0.005 ? [`${formatPercent(transferred)} from another GPU’s`] : []),
  ];
  if (parts.length === 0) return 'kernel time from a roofline';
  return measured >= 0.005
    ? parts.join(', ')
    : `${formatPercent(transferred)} of kernel time from another GPU’s curves`;
}
