/** The report as Markdown, for issues, pull requests and the editor's report page. */

import { formatBytes, formatCount, formatFlops } from '../../model/format.ts';
import { bytes, flops } from '../../model/units.ts';
import { costsSomething, shapeText } from './renderTable.ts';
import type { LayerReport, Report } from './report.ts';
import { describeScenario, summarize, timeText } from './summary.ts';

/** A heading, the totals, the findings, and one table row per layer that costs something. */
export function renderMarkdown(report: Report): string {
  const listed = report.layers.filter(costsSomething);
  return [
    `# ${escapeMarkdown(report.model.name)}`,
    '',
    `${formatCount(report.model.parameters)} parameters. ${escapeMarkdown(describeScenario(report))}.`,
    '',
    '| | | |',
    '|---|--:|---|',
    ...summarize(report).map((row) => `| ${row.name} | ${row.value} | ${row.detail} |`),
    '',
    ...findings(report),
    '## Layers',
    '',
    '| layer | type | output | parameters | forward | backward | time | saved | all-reduce | exposed |',
    '|---|---|---|--:|--:|--:|--:|--:|--:|--:|',
    ...listed.map(row),
    '',
    ...unknown(report),
  ].join('\n');
}

function row(layer: LayerReport): string {
  const { backwardData, backwardWeight } = layer.flops;
  const cells = [
    `\`${layer.name.replaceAll('`', "'")}\``,
    escapeMarkdown(layer.type),
    shapeText(layer.output.shape),
    layer.parameters === 0 ? '' : formatCount(layer.parameters),
    flopsText(layer.flops.forward),
    flopsText(backwardData === null || backwardWeight === null ? null : backwardData + backwardWeight),
    timeText(
      layer.time.forward === null || layer.time.backward === null
        ? null
        : layer.time.forward + layer.time.backward,
    ),
    layer.memory.activations === null ? '?' : formatBytes(bytes(layer.memory.activations)),
    layer.time.communication === 0 ? '' : timeText(layer.time.communication),
    layer.time.communication === 0 ? '' : timeText(layer.time.exposedCommunication),
  ];
  return `| ${cells.join(' | ')} |`;
}

function findings(report: Report): string[] {
  if (report.findings.length === 0) return [];
  return [
    '## Findings',
    '',
    ...report.findings.map(
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
    ...report.totals.unknown.map((part) => `- \`${part.operator}\`: ${escapeMarkdown(part.reason)}`),
    '',
  ];
}

const flopsText = (count: number | null): string =>
  count === null ? '?' : count === 0 ? '' : formatFlops(flops(count));

const escapeMarkdown = (text: string): string =>
  text.replace(/[\\|<>*_[\]]/g, (character) => `\\${character}`);
