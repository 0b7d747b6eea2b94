/** A scaling curve as a table: aligned text, Markdown, comma-separated values. */

import type { DeviceNoun } from '../../model/deviceNoun.ts';
import { layoutColumns } from '../report/columns.ts';
import { type CsvColumn, csvOf } from '../report/csv.ts';
import { escapeMarkdown, unbroken } from '../report/markdown.ts';
import type { Scaling } from './scaleJob.ts';
import {
  batchTitle,
  countTitle,
  efficiencyName,
  missingText,
  type ScalingColumn,
  scalingColumns,
  shortLimitText,
} from './scalingCells.ts';
import type { ScalingPoint } from './scalingCurve.ts';

/** Aligned columns, for a terminal. */
export function renderScalingTable(scaling: Scaling): string {
  const columns = scalingColumns(scaling);
  const rows = scaling.points.map((point) => columns.map(({ cell }) => cell(point)));
  return `${[...layoutColumns(columns, rows), ...scaling.notes.flatMap((note) => ['', note])].join('\n')}\n`;
}

/** The same with a heading, as the text of an editor. */
export const renderScalingText = (scaling: Scaling): string =>
  [`${scaling.name}: scaling`, scaling.job, '', renderScalingTable(scaling), ...remarks(scaling)].join('\n');

/** A heading, and one row per number of GPUs with its efficiency as a bar: narrow, for a page beside a model. */
export function renderScalingMarkdown(scaling: Scaling): string {
  const known = new Map(scalingColumns(scaling).map((column) => [column.title, column]));
  const columns = narrowColumns(scaling.device).flatMap((column) =>
    typeof column === 'string' ? (known.get(column) ?? []) : column,
  );
  const row = (cells: readonly string[]): string =>
    `| ${cells.map(escapeMarkdown).map(unbroken).join(' | ')} |`;
  return [
    `# ${escapeMarkdown(scaling.name)}: scaling`,
    '',
    `${escapeMarkdown(scaling.job)}.`,
    '',
    row(columns.map(({ title }) => title)),
    `|${columns.map(({ align }) => (align === 'right' ? '--:' : '---')).join('|')}|`,
    ...scaling.points.map((point) => row(columns.map(({ cell }) => cell(point)))),
    '',
    ...scaling.notes.flatMap((note) => [`${escapeMarkdown(note)}.`, '']),
    ...remarks(scaling).map(escapeMarkdown),
  ].join('\n');
}

/** Most asked-for first. */
const narrowColumns = (device: DeviceNoun): readonly (string | ScalingColumn)[] => [
  countTitle(device),
  batchTitle(device),
  'step',
  'throughput',
  'speed-up',
  efficiencyName(false),
  efficiencyName(true),
  { title: '', align: 'left', cell: barOf },
  { title: 'limit', align: 'left', cell: shortLimitText },
  'exposed',
  'memory',
  'run',
  'price',
  'range',
];

const remarks = (scaling: Scaling): readonly string[] => {
  const missing = missingText(scaling);
  return missing === '' ? [] : [missing, ''];
};

/** Ten blocks for all of the throughput of a single GPU. */
function barOf({ scalingEfficiency }: ScalingPoint): string {
  if (scalingEfficiency === null) return '';
  return '█'.repeat(Math.max(0, Math.min(10, Math.round(10 * scalingEfficiency))));
}

/** In base units, for spreadsheets and scripts. Where `exact` is false the step is a lower bound. */
export const renderScalingCsv = ({ points }: Scaling): string => csvOf(csvColumns, points);

export const csvColumns: readonly CsvColumn<ScalingPoint>[] = [
  ['gpus', ({ gpus }) => gpus],
  ['nodes', ({ nodes }) => nodes],
  ['batch_per_gpu', ({ batchPerGpu }) => batchPerGpu],
  ['step_s', ({ step }) => step],
  ['step_low_s', ({ stepRange }) => stepRange?.low ?? null],
  ['step_high_s', ({ stepRange }) => stepRange?.high ?? null],
  ['communication_s', ({ communication }) => communication],
  ['exposed_communication_s', ({ exposedCommunication }) => exposedCommunication],
  ['throughput_per_s', ({ throughput }) => throughput],
  ['scaling_efficiency', ({ scalingEfficiency }) => scalingEfficiency],
  ['scaling', ({ scaling }) => scaling],
  ['speedup', ({ speedup }) => speedup],
  ['memory_bytes', ({ memory }) => memory],
  ['fits', ({ fits }) => fits],
  ['limit', ({ limit }) => limit.kind],
  ['limit_share', ({ limit }) => limit.share],
  ['run_s', ({ runTime }) => runTime],
  ['run_usd', ({ runPrice }) => runPrice],
  ['exact', ({ exact }) => String(exact)],
];
