/**
 * The report as one self-contained page: no addresses, light and dark by the reader's preference or the editor's theme.
 * All of it can be read without the script, which sorts, filters and shows details.
 */

import type { Chart } from '../../charts/chart.ts';
import { escapeHtml } from '../../model/escapeHtml.ts';
import { groupUnknown, listOperators } from '../unknownParts.ts';
import { chartSections } from './chartHtml.ts';
import { describeScenario } from './describeScenario.ts';
import { findingsToRead } from './findingsToRead.ts';
import { drawnGlance, limitSentence } from './glance.ts';
import { wholePage } from './html.ts';
import { layerTables } from './layerTableHtml.ts';
import type { Report } from './report.ts';
import { describeModel, summarize } from './summary.ts';
import { type WhatIfRow, whatIfHtml } from './whatIfHtml.ts';

/** Measured beside predicted times, as aligned lines. */
export interface MeasuredPart {
  readonly intro: string;
  readonly lines: readonly string[];
}

/** What only some pages have. */
export interface ReportParts {
  readonly measured?: MeasuredPart;
  readonly whatIf?: WhatIfRow;
}

/** `nonce` is that of the only script and style that run: an editor makes one, a file needs none that is secret. */
export function renderHtml(
  report: Report,
  charts: readonly Chart[] = [],
  nonce = 'layercost',
  { measured, whatIf }: ReportParts = {},
): string {
  return wholePage(
    { title: `${report.model.name}: cost of a training step`, nonce, hasScript: true },
    `<h1>${escapeHtml(report.model.name)}</h1>
<p>${escapeHtml(describeModel(report))}<br>${escapeHtml(describeScenario(report))}</p>
${glance(report)}
${whatIf === undefined ? '' : whatIfHtml(whatIf)}
${findings(report)}
${chartSections(charts)}
<h2>Layers</h2>
${layerTables(report)}
<h2>Totals</h2>
<table class="summary">
${summarize(report)
  .map((row) => `<tr><th scope="row">${row.name}<td class="number">${row.value}<td>${textHtml(row.detail)}`)
  .join('\n')}
</table>
${unknown(report)}
${measured === undefined ? '' : `<h2>Measured</h2>\n<p>${escapeHtml(measured.intro)}</p>\n<pre>${measured.lines.map(escapeHtml).join('\n')}</pre>`}`,
  );
}

function glance(report: Report): string {
  const tiles = drawnGlance(report).map(
    ({ name, value, detail, mark }) =>
      `<div${mark === undefined ? '' : ` class="${mark.severity}"`}><dt>${name}</dt><dd><b>${value}</b>${mark === undefined ? '' : `<strong>${mark.text}</strong>`}<span>${escapeHtml(detail)}</span></dd></div>`,
  );
  const sentence = limitSentence(report);
  return `<dl class="glance">\n${tiles.join('\n')}\n</dl>${sentence === '' ? '' : `\n<p class="limit-text">${sentence}</p>`}`;
}

function findings(report: Report): string {
  if (report.findings.length === 0) return '';
  const items = findingsToRead(report).map(
    (finding) =>
      `<li class="${finding.severity}"><b>${finding.severity}</b> <code>${escapeHtml(finding.code)}</code> ${textHtml(finding.message)}${finding.fix === '' ? '' : `<br>${textHtml(finding.fix)}`}`,
  );
  return `<h2>Findings</h2>\n<ul class="findings">\n${items.join('\n')}\n</ul>`;
}

/** What stands between backticks is code, as in Markdown. */
const textHtml = (text: string): string => escapeHtml(text).replace(/`([^`]+)`/g, '<code>$1</code>');

function unknown(report: Report): string {
  if (report.totals.unknown.length === 0) return '';
  const items = groupUnknown(report.totals.unknown).map((group) => {
    const operators = listOperators(group, (name) => `<code>${escapeHtml(name)}</code>`);
    return `<li>${operators}: ${escapeHtml(group.text)}`;
  });
  return `<h2>Not counted</h2>\n<p>Totals are lower bounds, because these could not be costed.</p>\n<ul>\n${items.join('\n')}\n</ul>`;
}
