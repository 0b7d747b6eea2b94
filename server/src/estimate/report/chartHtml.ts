/** Charts on a page: the drawing, what it says in a sentence, and its numbers in a table that opens. */

import type { Chart } from '../../charts/chart.ts';
import { escapeHtml } from '../../model/escapeHtml.ts';
import { textHtml } from './html.ts';

export function chartSections(charts: readonly Chart[]): string {
  const modules = charts.filter(({ name }) => name.startsWith('modules-'));
  const [first] = modules;
  return charts
    .flatMap((chart) => {
      if (!modules.includes(chart)) return [figure(chart)];
      return chart === first ? [choice(modules)] : [];
    })
    .join('\n');
}

const figure = (chart: Chart): string =>
  `<figure id="${chart.name}">\n<h2>${escapeHtml(chart.title)}</h2>\n${content(chart)}\n</figure>`;

function content(chart: Chart): string {
  const { summary, table } = chart;
  const numbers =
    table === undefined || table.rows.length === 0
      ? ''
      : `\n<details><summary>Numbers</summary>\n<table>\n<thead><tr>${table.columns.map((title) => `<th scope="col">${escapeHtml(title)}`).join('')}\n<tbody>\n${table.rows.map((row) => `<tr>${row.map((cell) => `<td>${escapeHtml(cell)}`).join('')}`).join('\n')}\n</table></details>`;
  return `<p>${textHtml(summary)}</p>\n${drawings(chart)}${numbers}`;
}

/** A page shows the one that fits. */
export const drawings = ({ svg, narrow }: Pick<Chart, 'svg' | 'narrow'>): string =>
  narrow === undefined ? svg : `<div class="either">${svg}\n${narrow}</div>`;

/** One of several is shown, chosen without a script. */
function choice(charts: readonly Chart[]): string {
  const inputs = charts.map(
    ({ name, title }, index) =>
      `<input type="radio" name="modules" id="show-${name}"${index === 0 ? ' checked' : ''}><label for="show-${name}">${escapeHtml(title.replace('Modules by ', 'by '))}</label>`,
  );
  const panes = charts.map((chart) => `<div class="pane ${chart.name}">\n${content(chart)}\n</div>`);
  return `<figure id="modules">\n<h2>Modules</h2>\n${inputs.join('\n')}\n${panes.join('\n')}\n</figure>`;
}
