/** The report as aligned text for a terminal. */

import { formatShortCount } from '../../model/format.ts';
import { remember } from '../../model/remember.ts';
import { boundOfParts, boundText, groupUnknown, listOperators } from '../unknownParts.ts';
import { type Column, layoutColumns } from './columns.ts';
import { costsSomething, layerWriter } from './layerCells.ts';
import type { LayerReport, Report } from './report.ts';
import { describeModel, describeScenario, summarize } from './summary.ts';

/**
 * One line per layer that costs something, the totals, the findings. Layers without any cost (views, shape
 * arithmetic) are counted, not listed. Plain text without colours, so that it can be piped and compared.
 */
export function renderTable(report: Report): string {
  const training = report.scenario.mode === 'training';
  const communicates = training && report.scenario.gpus > 1;
  const listed = report.layers.filter(costsSomething);
  const columns = tableColumns(training, communicates);
  const free = report.layers.length - listed.length;
  return [
    describeModel(report),
    describeScenario(report),
    '',
    ...layoutColumns(columns, tableRows(listed, training, communicates)),
    ...(free > 0 ? [`${free} more without cost (views, shape arithmetic)`] : []),
    '',
    ...summaryLines(report),
    ...unknownLines(report),
    ...findingLines(report),
    '',
  ].join('\n');
}

function tableColumns(training: boolean, communicates: boolean): Column[] {
  return [
    { title: 'layer', align: 'left' },
    { title: 'type', align: 'left' },
    { title: 'output', align: 'left' },
    { title: 'params', align: 'right' },
    { title: 'forward', align: 'right' },
    ...(training ? [{ title: 'backward', align: 'right' } as const] : []),
    { title: 'time', align: 'right' },
    { title: 'bound', align: 'left' },
    ...(training ? [{ title: 'saved', align: 'right' } as const] : []),
    ...(communicates
      ? [{ title: 'all-reduce', align: 'right' } as const, { title: 'exposed', align: 'right' } as const]
      : []),
  ];
}

function tableRows(
  layers: readonly LayerReport[],
  training: boolean,
  communicates: boolean,
): readonly (readonly string[])[] {
  const cellsOf = layerWriter();
  const parameters = remember((count: number) => (count === 0 ? '' : formatShortCount(count)));
  return layers.map((layer) => {
    const cells = cellsOf(layer);
    const row = [layer.name, layer.type, cells.output, parameters(layer.parameters), cells.forward];
    if (training) row.push(cells.backward);
    row.push(cells.time, layer.bound === 'none' ? '' : layer.bound);
    if (training) row.push(cells.saved);
    if (communicates) row.push(cells.communication, cells.exposed);
    return row;
  });
}

function summaryLines(report: Report): string[] {
  const rows = summarize(report);
  const names = Math.max(...rows.map((row) => row.name.length));
  const values = Math.max(...rows.map((row) => [...row.value].length));
  return rows.map(
    (row) =>
      `${row.name.padEnd(names)}  ${row.value}${' '.repeat(values - [...row.value].length)}  ${row.detail}`,
  );
}

function unknownLines(report: Report): string[] {
  const { unknown } = report.totals;
  if (unknown.length === 0) return [];
  const groups = groupUnknown(unknown);
  const shown = groups.slice(0, mostGroups);
  const rest = groups.slice(mostGroups).reduce((sum, { operators }) => sum + operators.length, 0);
  const missing = boundOfParts(unknown);
  return [
    '',
    `Not counted, so totals are lower bounds (${unknown.length})${missing === null ? '' : `, low by at most ${boundText(missing)}`}:`,
    ...shown.map((group) => `  ${listOperators(group, (name) => name)}: ${group.text}`),
    ...(rest > 0 ? [`  and ${rest} more; --format json lists all`] : []),
  ];
}

/** More reasons than this are for a program to read. */
const mostGroups = 10;

function findingLines(report: Report): string[] {
  return report.findings.flatMap((finding) => [
    '',
    `${finding.severity} ${finding.code}: ${finding.message}`,
    ...(finding.fix === '' ? [] : [`  ${finding.fix}`]),
  ]);
}
