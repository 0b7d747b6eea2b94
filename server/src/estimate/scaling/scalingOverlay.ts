/** Several scaling curves of one model together: other clusters, frameworks or scenarios, told apart by what differs. */

import { commonNoun } from '../../model/deviceNoun.ts';
import { type Column, layoutColumns } from '../report/columns.ts';
import { type CsvColumn, csvOf } from '../report/csv.ts';
import { escapeMarkdown, unbroken } from '../report/markdown.ts';
import { csvColumns } from './renderScaling.ts';
import type { Scaling } from './scaleJob.ts';
import {
  batchTitle,
  countTitle,
  efficiencyName,
  missingText,
  type ScalingColumn,
  scalingColumns,
} from './scalingCells.ts';
import type { ScalingPoint } from './scalingCurve.ts';

export interface ScalingCurve {
  /** What this curve's scenario has and others have not, by name: `cluster`. */
  readonly values: Readonly<Record<string, string>>;
  readonly scaling: Scaling;
}

/** `dgx-a100, horovod`. */
export const titleOfCurve = ({ values }: ScalingCurve): string => Object.values(values).join(', ');

export interface OverlayRow extends Pick<ScalingCurve, 'values'> {
  readonly point: ScalingPoint;
}

/** One row for each number of GPUs of each curve. */
const overlayRows = (curves: readonly ScalingCurve[]): readonly OverlayRow[] =>
  curves.flatMap(({ values, scaling }) => scaling.points.map((point) => ({ values, point })));

/** The columns of any curve, without what fills a line by itself. */
function overlayColumns(curves: readonly ScalingCurve[]): readonly ScalingColumn[] {
  const device = commonNoun(curves.map(({ scaling }) => scaling.device));
  const all = curves.flatMap(({ scaling }) => scalingColumns({ ...scaling, device }));
  const order = [
    countTitle(device),
    'nodes',
    batchTitle(device),
    'step',
    'range',
    'communication',
    'exposed',
    'throughput',
  ];
  const later = ['speed-up', efficiencyName(false), efficiencyName(true), 'memory', 'run', 'price', 'limit'];
  return [...order, ...later].flatMap((title) => all.find((column) => column.title === title) ?? []);
}

/** Sentences about single curves, each with the curve's name. */
const overlayRemarks = (curves: readonly ScalingCurve[]): readonly string[] =>
  curves.flatMap((curve) =>
    [...curve.scaling.notes, missingText(curve.scaling)]
      .filter((text) => text !== '')
      .map((text) => `${titleOfCurve(curve)}: ${text}`),
  );

const namesOf = (curves: readonly ScalingCurve[]): readonly string[] => [
  ...new Set(curves.flatMap(({ values }) => Object.keys(values))),
];

const cellsOf = (
  names: readonly string[],
  columns: readonly ScalingColumn[],
  { values, point }: OverlayRow,
): readonly string[] => [
  ...names.map((name) => values[name] ?? ''),
  ...columns.map(({ cell }) => cell(point)),
];

/** Aligned columns, for a terminal. */
export function renderOverlayTable(curves: readonly ScalingCurve[]): string {
  const names = namesOf(curves);
  const columns = overlayColumns(curves);
  const heads: readonly Column[] = [...names.map((title) => ({ title, align: 'left' as const })), ...columns];
  const rows = overlayRows(curves).map((row) => cellsOf(names, columns, row));
  return `${[...layoutColumns(heads, rows), ...overlayRemarks(curves).flatMap((note) => ['', note])].join('\n')}\n`;
}

export function renderOverlayMarkdown(curves: readonly ScalingCurve[]): string {
  const names = namesOf(curves);
  const columns = overlayColumns(curves).filter(
    ({ title }) => title !== 'range' && title !== 'communication',
  );
  const row = (cells: readonly string[]): string =>
    `| ${cells.map(escapeMarkdown).map(unbroken).join(' | ')} |`;
  return [
    `# ${escapeMarkdown(curves[0]?.scaling.name ?? '')}: scaling`,
    '',
    row([...names, ...columns.map(({ title }) => title)]),
    `|${[...names.map(() => '---'), ...columns.map(({ align }) => (align === 'right' ? '--:' : '---'))].join('|')}|`,
    ...overlayRows(curves).map((each) => row(cellsOf(names, columns, each))),
    '',
    ...overlayRemarks(curves).flatMap((note) => [escapeMarkdown(note), '']),
  ].join('\n');
}

export function renderOverlayCsv(curves: readonly ScalingCurve[]): string {
  const columns: readonly CsvColumn<OverlayRow>[] = [
    ...namesOf(curves).map((name): CsvColumn<OverlayRow> => [name, ({ values }) => values[name] ?? '']),
    ...csvColumns.map(([title, of]): CsvColumn<OverlayRow> => [title, ({ point }) => of(point)]),
  ];
  return csvOf(columns, overlayRows(curves));
}

export const renderOverlayJson = (curves: readonly ScalingCurve[]): string =>
  `${JSON.stringify(
    curves.map(({ values, scaling }) => ({ scenario: values, points: scaling.points })),
    null,
    2,
  )}\n`;
