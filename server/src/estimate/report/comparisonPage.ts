/** Two reports side by side as one self-contained page without a script: totals, then the layers that differ. */

import { escapeHtml } from '../../model/escapeHtml.ts';
import type { Column } from './columns.ts';
import { describeScenario } from './describeScenario.ts';
import { wholePage } from './html.ts';
import { comparedLayers, comparedTotals } from './renderComparison.ts';
import type { Report } from './report.ts';
import { type SideNames, sideNames } from './sideNames.ts';
import { describeModel } from './summary.ts';

/** Layers that a person reads; more are for a program. */
const mostLayers = 100;

/** `nonce` is that of the only style that holds. */
export function comparisonPage(
  left: Report,
  right: Report,
  names: SideNames = sideNames(left, right),
  nonce = 'layercost',
): string {
  const totals = comparedTotals(left, right, names);
  const layers = comparedLayers(left, right, names, mostLayers);
  const side = (name: string, report: Report): string =>
    `<tr><th scope="row">${escapeHtml(name)}<td>${escapeHtml(describeModel(report))}<br>${escapeHtml(describeScenario(report))}`;
  return wholePage(
    { title: titleOf(right, names), nonce, hasScript: false },
    `<h1>${escapeHtml(titleOf(right, names))}</h1>
<table class="summary">
${side(names.left, left)}
${side(names.right, right)}
</table>
<h2>Totals</h2>
${tableOf(totals.columns, totals.rows)}
<h2>Layers that differ</h2>
${
  layers.rows.length === 0
    ? '<p>No layer differs.</p>'
    : `<p>Forward, backward and exposed communication, the largest difference first; repeated layers are one row.${layers.columns.some(({ title }) => title === 'saved') ? ' The last column is the difference of what backward keeps of a layer.' : ''}</p>\n${tableOf(layers.columns, layers.rows)}`
}
${[layers.less === '' ? '' : `${layers.less}.`, layers.alone]
  .filter((note) => note !== '')
  .map((note) => `<p>${escapeHtml(note)}</p>`)
  .join('\n')}`,
  );
}

const titleOf = ({ model }: Report, { left, right }: SideNames): string =>
  model.name === right ? `${left} and ${right}` : `${model.name}: ${left} and ${right}`;

function tableOf(columns: readonly Column[], rows: readonly (readonly string[])[]): string {
  const kinds = columns.map(({ align }) => (align === 'right' ? ' class="number"' : ''));
  return `<div class="wide"><table class="compared">
<thead><tr>${columns.map(({ title }, index) => (title === '' ? '<td>' : `<th scope="col"${kinds[index]}>${escapeHtml(title)}`)).join('')}
<tbody>
${rows.map((row) => `<tr>${row.map((cell, index) => `<td${kinds[index]}>${escapeHtml(cell)}`).join('')}`).join('\n')}
</table></div>`;
}
