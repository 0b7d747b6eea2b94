/** The report as Markdown, for issues, pull requests and the editor's report page. */

import { formatCount } from '../../model/format.ts';
import { printable } from '../../model/readableIssues.ts';
import { groupUnknown, listOperators } from '../unknownParts.ts';
import { describeScenario } from './describeScenario.ts';
import { findingsToRead } from './findingsToRead.ts';
import { costsSomething, type LayerCells, layerWriter } from './layerCells.ts';
import { codeInMarkdown, escapeMarkdown, unbroken } from './markdown.ts';
import type { LayerReport, Report } from './report.ts';
import { describeParameters, summarize } from './summary.ts';

/** A heading, the totals, the findings, and one table row per layer that costs something. */
export function renderMarkdown(report: Report): string {
  const listed = report.layers.filter(costsSomething);
  return [
    `# ${escapeMarkdown(report.model.name)}`,
    '',
    `${describeParameters(report)}. ${escapeMarkdown(describeScenario(report))}.`,
    '',
    '| | | |',
    '|---|--:|---|',
    ...summarize(report).map(
      (row) => `| ${unbroken(row.name)} | ${unbroken(row.value)} | ${escapeMarkdown(row.detail)} |`,
    ),
    '',
    ...findings(report),
    '## Layers',
    '',
    '| layer | type | output | parameters | forward | backward | time | saved | communication | exposed |',
    '|---|---|---|--:|--:|--:|--:|--:|--:|--:|',
    ...rows(listed),
    '',
    ...unknown(report),
  ]
    .map(printable)
    .join('\n');
}

function rows(layers: readonly LayerReport[]): readonly string[] {
  const cellsOf = layerWriter();
  return layers.map((layer) => row(layer, cellsOf(layer)));
}

function row(layer: LayerReport, cells: LayerCells): string {
  const texts = [
    codeInMarkdown(layer.name),
    escapeMarkdown(layer.type),
    cells.output.replace(/[\\|<>`]/g, '\\$&'),
    layer.parameters === 0 ? '' : formatCount(layer.parameters),
    ...[cells.forward, cells.backward, cells.time, cells.saved, cells.communication, cells.exposed].map(
      unbroken,
    ),
  ];
  return `| ${texts.join(' | ')} |`;
}

function findings(report: Report): string[] {
  if (report.findings.length === 0) return [];
  return [
    '## Findings',
    '',
    ...findingsToRead(report).map(
      (finding) =>
        `- **${finding.severity}** \`${finding.code}\`: ${escapeMarkdown(finding.message)}${finding.fix === '' ? '' : `. ${escapeMarkdown(finding.fix)}`}`,
    ),
    '',
  ];
}

function unknown(report: Report): string[] {
  if (report.totals.unknown.length === 0) return [];
  return [
    '## Not counted',
    '',
    'Totals are lower bounds, because these could not be costed.',
    '',
    ...groupUnknown(report.totals.unknown).map(
      (group) => `- ${listOperators(group, codeInMarkdown)}: ${escapeMarkdown(group.text)}`,
    ),
    '',
  ];
}
