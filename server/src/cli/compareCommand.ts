/** `layercost compare`: two models, or two scenarios, side by side. */

import { type Column, layoutColumns } from '../estimate/report/columns.ts';
import { type ComparedLayer, compareLayers, compareTotals } from '../estimate/report/compareReports.ts';
import { describeScenario } from '../estimate/report/describeScenario.ts';
import { makeReport } from '../estimate/report/makeReport.ts';
import type { Report } from '../estimate/report/report.ts';
import { describeModel } from '../estimate/report/summary.ts';
import { formatTime, significant } from '../model/format.ts';
import { printable } from '../model/readableIssues.ts';
import { seconds } from '../model/units.ts';
import type { Arguments } from './arguments.ts';
import type { ComparedFile } from './comparisonArguments.ts';
import {
  costModelFile,
  failureStatus,
  openModelFile,
  printIssues,
  statusOf,
  withOptionEffects,
} from './costFile.ts';
import { printData } from './streams.ts';

export async function runCompareCommand(given: Extract<Arguments, { command: 'compare' }>): Promise<number> {
  const one = await costSide(given.left);
  const other = await costSide(given.right);
  if (typeof one === 'number') return one;
  if (typeof other === 'number') return other;
  const [left, right] = [one.report, other.report];
  printData(
    given.format === 'json'
      ? `${JSON.stringify({ left, right, layers: compareLayers(left, right).layers }, null, 2)}\n`
      : comparisonTable(left, right),
  );
  return one.status === 0 ? other.status : one.status;
}

/** The report of one side, or the exit status where it has none. */
async function costSide({
  file,
  scenario,
}: ComparedFile): Promise<{ readonly report: Report; readonly status: 0 | 1 } | 1 | 2> {
  const opened = await openModelFile(file, scenario);
  if (opened === undefined) return 1;
  const estimate = withOptionEffects(costModelFile(opened, scenario.request), opened);
  const { cost, costed, training, issues } = estimate;
  if (cost === undefined || training === undefined || !costed) {
    printIssues(file, issues);
    return failureStatus(opened, scenario.request);
  }
  printIssues(file, issues);
  return {
    report: makeReport(opened.opened, training.analysis, cost, issues),
    status: statusOf(cost.totals, issues),
  };
}

const columns: readonly Column[] = [
  { title: '', align: 'left' },
  { title: 'left', align: 'right' },
  { title: 'right', align: 'right' },
  { title: 'right / left', align: 'right' },
];

export function comparisonTable(left: Report, right: Report): string {
  const rows = compareTotals(left, right).map(({ name, text, ratio }) => [
    name,
    text.left,
    text.right,
    ratio === null ? '' : `${significant(ratio)}×`,
  ]);
  const side = (name: string, report: Report): string =>
    `${name.padEnd(6)} ${describeModel(report)}\n       ${describeScenario(report)}`;
  const lines = [
    side('left', left),
    side('right', right),
    '',
    ...layoutColumns(columns, rows),
    ...layerLines(left, right),
  ];
  return `${lines.join('\n')}\n`;
}

/** The layers that make most of the difference, and how many are of one model alone. */
function layerLines(left: Report, right: Report): readonly string[] {
  const { layers, onlyIn } = compareLayers(left, right);
  const largest = Math.abs(layers[0]?.more ?? Number.NaN);
  const shown = layers.slice(0, mostLayers).filter(({ more }) => Math.abs(more) >= largest / 100);
  const alone = [
    ...(onlyIn.left > 0 ? [`${onlyIn.left} layers are on the left alone`] : []),
    ...(onlyIn.right > 0 ? [`${onlyIn.right} layers are on the right alone`] : []),
  ];
  return [
    ...(shown.length > 0
      ? [
          '',
          'Layers that differ most: forward, backward and exposed communication, repeated layers in one row',
          ...layoutColumns(layerColumns, shown.map(layerRow)),
        ]
      : []),
    ...(alone.length > 0 ? ['', `Layers are compared by name: ${alone.join(', ')}.`] : []),
  ];
}

const layerColumns: readonly Column[] = [
  { title: 'layer', align: 'left' },
  { title: 'type', align: 'left' },
  { title: 'left', align: 'right' },
  { title: 'right', align: 'right' },
  { title: 'right - left', align: 'right' },
];

const layerRow = ({ name, type, left, right, more }: ComparedLayer): readonly string[] => [
  printable(name),
  printable(type),
  timeOf(left),
  timeOf(right),
  `${more < 0 ? '-' : '+'}${timeOf(Math.abs(more))}`,
];

const timeOf = (time: number): string => formatTime(seconds(time));

/** More than these are for a program to read. */
const mostLayers = 10;
