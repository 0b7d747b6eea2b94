/** Predicted beside measured, layer by layer and for the step, as lines of plain text. */

import { type Column, layoutColumns } from '../estimate/report/columns.ts';
import { formatTime, significant } from '../model/format.ts';
import type { Seconds } from '../model/units.ts';
import type { ComparedTime, MeasuredComparison } from './compareMeasured.ts';

/** Of the layers that were measured. `hasRatio`: the prediction is for the kind of device that ran. */
export function measuredLines({ rows, step }: MeasuredComparison, hasRatio: boolean): readonly string[] {
  const isApart = rows.some((row) => row.dataGradient !== null || row.weightGradient !== null);
  const measured = rows
    .filter((row) => row.forward.measured !== null || row.backward.measured !== null)
    .map((row) => [
      row.name,
      row.type,
      ...cells(row.forward, hasRatio),
      ...cells(row.backward, hasRatio),
      ...(isApart ? [timeText(row.dataGradient), timeText(row.weightGradient)] : []),
    ]);
  return [
    ...layoutColumns(columns(hasRatio, isApart), measured),
    '',
    `step without communication  predicted ${formatTime(step.predicted)}, measured ${formatTime(step.measured)}${hasRatio && step.ratio !== null ? `, ratio ${ratioText(step)}` : ''}`,
  ];
}

/** A processor's time over a GPU's prediction says nothing, so the ratio is shown for a GPU only. */
function columns(hasRatio: boolean, isApart: boolean): readonly Column[] {
  const right = (title: string): Column => ({ title, align: 'right' });
  const ratio = hasRatio ? [right('ratio')] : [];
  return [
    { title: 'layer', align: 'left' },
    { title: 'type', align: 'left' },
    right('forward predicted'),
    right('measured'),
    ...ratio,
    right('backward predicted'),
    right('measured'),
    ...ratio,
    ...(isApart ? [right('of data'), right('of weights')] : []),
  ];
}

const cells = (time: ComparedTime, hasRatio: boolean): string[] => [
  formatTime(time.predicted),
  timeText(time.measured),
  ...(hasRatio ? [ratioText(time)] : []),
];

const timeText = (time: Seconds | null): string => (time === null ? '' : formatTime(time));

const ratioText = ({ ratio }: ComparedTime): string => (ratio === null ? '' : `${significant(ratio)}×`);
