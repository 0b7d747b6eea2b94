/** The report as aligned text for a terminal. */

import { formatShortCount } from '../../model/format.ts';
import { knownPart } from '../../model/knownPart.ts';
import { memoize } from '../../model/memoize.ts';
import { printable } from '../../model/readableIssues.ts';
import { boundOfParts, boundText, groupUnknown, listOperators } from '../unknownParts.ts';
import { type Column, fitColumns } from './columns.ts';
import { describeScenario } from './describeScenario.ts';
import { findingsToRead } from './findingsToRead.ts';
import { wrapText } from './fitText.ts';
import { costsSomething, layerWriter } from './layerCells.ts';
import type { LayerReport, Report } from './report.ts';
import { mostExpensive } from './shortReport.ts';
import { describeModel, summarize } from './summary.ts';

/**
 * One line per layer that costs something, the totals, the findings. Layers without any cost (views, shape
 * arithmetic) are counted, not listed. Plain text without colours, so that it can be piped and compared. Lines are as
 * long as they need to be, or fit into `width` characters. `top`: the rows that take the most time, repeated layers as one.
 */
export function renderTable(report: Report, width?: number, isSummary = false, top?: number): string {
  if (isSummary) return written(report, width, []);
  const training = report.scenario.mode === 'training';
  // One GPU has copies to its host alone, where it keeps state there.
  const communicates =
    training && (report.scenario.gpus > 1 || knownPart(report.totals.time.communication) > 0);
  const costing = report.layers.filter(costsSomething);
  const listed = top === undefined ? costing : mostExpensive(costing, top);
  const columns = tableColumns(training, communicates);
  const free = report.layers.length - costing.length;
  const { lines, left, whole } = fitColumns(columns, tableRows(listed, training, communicates), width);
  return written(report, width, [
    ...lines,
    ...(left.length > 0
      ? wrapText(
          `${left.length === 1 ? 'column' : 'columns'} ${left.map((title) => `\`${title}\``).join(', ')} hidden; use --width ${whole}`,
          width,
          2,
        )
      : []),
    ...(top === undefined
      ? []
      : [`the ${listed.length} most expensive of ${costing.length} layers, repeated ones in one row`]),
    ...(free > 0 ? [`${free} more ${free === 1 ? 'has' : 'have'} no cost (views, shape arithmetic)`] : []),
    '',
  ]);
}

/** What the model is, what it is costed for, the lines of its layers, totals and findings. */
const written = (report: Report, width: number | undefined, layers: readonly string[]): string =>
  [
    ...wrapText(describeModel(report), width, 2),
    ...wrapText(describeScenario(report), width, 2),
    '',
    ...layers,
    ...summaryLines(report, width),
    ...unknownLines(report).flatMap((line) => wrapText(line, width, 4)),
    ...findingLines(report).flatMap((line) => wrapText(line, width, 2)),
    '',
  ]
    .map(printable)
    .join('\n');

function tableColumns(training: boolean, communicates: boolean): Column[] {
  return [
    { title: 'layer', align: 'left', least: 24 },
    { title: 'type', align: 'left', least: 14, leaves: 3 },
    { title: 'output', align: 'left', leaves: 2 },
    { title: 'params', align: 'right', leaves: 4 },
    { title: 'forward', align: 'right', leaves: 7 },
    ...(training ? [{ title: 'backward', align: 'right', leaves: 6 } as const] : []),
    { title: 'time', align: 'right' },
    { title: 'bound', align: 'left', leaves: 1 },
    ...(training ? [{ title: 'saved', align: 'right', leaves: 5 } as const] : []),
    ...(communicates
      ? [
          { title: 'comm', align: 'right', leaves: 8 } as const,
          { title: 'exposed', align: 'right', leaves: 9 } as const,
        ]
      : []),
  ];
}

function tableRows(
  layers: readonly LayerReport[],
  training: boolean,
  communicates: boolean,
): readonly (readonly string[])[] {
  const cellsOf = layerWriter();
  const parameters = memoize((count: number) => (count === 0 ? '' : formatShortCount(count)));
  return layers.map((layer) => {
    const cells = cellsOf(layer);
    const row = [
      printable(layer.name),
      printable(layer.type),
      cells.output,
      parameters(layer.parameters),
      cells.forward,
    ];
    if (training) row.push(cells.backward);
    row.push(cells.time, layer.bound === 'none' ? '' : layer.bound);
    if (training) row.push(cells.saved);
    if (communicates) row.push(cells.communication, cells.exposed);
    return row;
  });
}

function summaryLines(report: Report, width: number | undefined): readonly string[] {
  const rows = summarize(report);
  const names = Math.max(...rows.map((row) => row.name.length));
  const values = Math.max(...rows.map((row) => [...row.value].length));
  const column = names + values + 4;
  // Details break below themselves where they have room there, else below the name.
  const indent = width !== undefined && width - column < narrowest ? 4 : column;
  return rows.flatMap((row) => {
    const value = `${row.value}${' '.repeat(values - [...row.value].length)}`;
    return wrapText(`${row.name.padEnd(names)}  ${value}  ${row.detail}`, width, indent);
  });
}

/** A column of words narrower than this is hard to read. */
const narrowest = 36;

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
    ...(rest > 0 ? [`  and ${rest} more; the JSON report lists all`] : []),
  ];
}

/** More reasons than this are for a program to read. */
const mostGroups = 10;

function findingLines(report: Report): string[] {
  return findingsToRead(report).flatMap((finding) => [
    '',
    `${finding.severity} ${finding.code}: ${finding.message}`,
    ...(finding.fix === '' ? [] : [`  ${finding.fix}`]),
  ]);
}
