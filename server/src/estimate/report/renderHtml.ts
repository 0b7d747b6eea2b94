/** The report as one self-contained page: no scripts, no addresses, light and dark by the reader's preference. */

import { largestOf } from '../../model/extremes.ts';
import { formatCount } from '../../model/format.ts';
import { groupUnknown, listOperators } from '../unknownParts.ts';
import { adviceOnce } from './adviceOnce.ts';
import { describeScenario } from './describeScenario.ts';
import { escapeHtml, pageStyle } from './html.ts';
import { costsSomething, type LayerCells, layerTime, layerWriter } from './layerCells.ts';
import type { LayerReport, Report } from './report.ts';
import { describeModel, summarize } from './summary.ts';

export function renderHtml(report: Report): string {
  const listed = report.layers.filter(costsSomething);
  const longest = Math.max(largestOf(listed.map((layer) => layerTime(layer) ?? 0)), 0);
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(report.model.name)}: cost of a training step</title>
<style>${style}</style>
<h1>${escapeHtml(report.model.name)}</h1>
<p>${escapeHtml(describeModel(report))}<br>${escapeHtml(describeScenario(report))}</p>
<table class="summary">
${summarize(report)
  .map((row) => `<tr><th scope="row">${row.name}<td class="number">${row.value}<td>${escapeHtml(row.detail)}`)
  .join('\n')}
</table>
${findings(report)}
<h2>Layers</h2>
<table>
<thead><tr><th>layer<th>type<th>output<th class="number">parameters<th class="number">forward<th class="number">backward<th class="number">time<th class="bar" aria-label="share of the longest layer"><th class="number">saved<th class="number">communication<th class="number">exposed
<tbody>
${rows(listed, longest).join('\n')}
</table>
${unknown(report)}
</html>
`;
}

function rows(layers: readonly LayerReport[], longest: number): readonly string[] {
  const cellsOf = layerWriter();
  return layers.map((layer) => row(layer, cellsOf(layer), longest));
}

function row(layer: LayerReport, cells: LayerCells, longest: number): string {
  const share = longest === 0 ? 0 : (100 * (layerTime(layer) ?? 0)) / longest;
  const number = (text: string): string => `<td class="number">${text}`;
  return [
    `<tr><td><code>${escapeHtml(layer.name)}</code><td>${escapeHtml(layer.type)}<td>${escapeHtml(cells.output)}`,
    number(layer.parameters === 0 ? '' : formatCount(layer.parameters)),
    number(cells.forward),
    number(cells.backward),
    number(cells.time),
    `<td class="bar"><i style="width:${share.toFixed(1)}%"></i>`,
    number(cells.saved),
    number(cells.communication),
    number(cells.exposed),
  ].join('');
}

function findings(report: Report): string {
  if (report.findings.length === 0) return '';
  const items = adviceOnce(report).map(
    (finding) =>
      `<li class="${finding.severity}"><b>${finding.severity}</b> <code>${escapeHtml(finding.code)}</code> ${escapeHtml(finding.message)}${finding.fix === '' ? '' : `<br>${escapeHtml(finding.fix)}`}`,
  );
  return `<h2>Findings</h2>\n<ul>\n${items.join('\n')}\n</ul>`;
}

function unknown(report: Report): string {
  if (report.totals.unknown.length === 0) return '';
  const items = groupUnknown(report.totals.unknown).map((group) => {
    const operators = listOperators(group, (name) => `<code>${escapeHtml(name)}</code>`);
    return `<li>${operators}: ${escapeHtml(group.text)}`;
  });
  return `<h2>Not counted</h2>\n<p>Totals are lower bounds, because these could not be costed.</p>\n<ul>\n${items.join('\n')}\n</ul>`;
}

const style = `${pageStyle}
.bar { min-width: 7rem; vertical-align: middle; }
.bar i { display: block; height: .6rem; background: #3b7dd8; }
li { margin-bottom: .4rem; }
li.error b { color: #d33; } li.warning b { color: #b60; }
.summary { width: auto; }
`;
