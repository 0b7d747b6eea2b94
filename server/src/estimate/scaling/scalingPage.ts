/** A scaling curve as one self-contained page: no scripts, no addresses. */

import { chartStyle } from '../../charts/chartStyle.ts';
import { scalingChart } from '../../charts/scalingChart.ts';
import { escapeHtml } from '../../model/escapeHtml.ts';
import { scalingMarks } from '../figures/scalingMarks.ts';
import { pageStyle } from '../report/html.ts';
import type { Scaling } from './scaleJob.ts';
import { missingText, scalingColumns } from './scalingCells.ts';

export function renderScalingHtml(scaling: Scaling): string {
  const columns = scalingColumns(scaling);
  const cell = (tag: 'th' | 'td', text: string, align: 'left' | 'right'): string =>
    `<${tag}${align === 'right' ? ' class="number"' : ''}>${escapeHtml(text)}`;
  const missing = missingText(scaling);
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(scaling.name)}: scaling of a training step</title>
<style>${pageStyle}${chartStyle}
</style>
<h1>${escapeHtml(scaling.name)}: scaling</h1>
<p>${escapeHtml(scaling.job)}</p>
<h2>${scaling.isStrong ? 'Strong scaling efficiency: throughput of a GPU over that of one with the whole batch' : 'Weak scaling efficiency: throughput of a GPU over that of one by itself, with the same batch'}</h2>
${scalingChart(scalingMarks(scaling.points), scaling.isStrong)?.svg ?? ''}
<table>
<thead><tr>${columns.map(({ title, align }) => cell('th', title, align)).join('')}
<tbody>
${scaling.points.map((point) => `<tr>${columns.map(({ cell: textOf, align }) => cell('td', textOf(point), align)).join('')}`).join('\n')}
</table>
${scaling.notes.map((note) => `<p>${escapeHtml(note)}.</p>`).join('\n')}
${missing === '' ? '' : `<p>${escapeHtml(missing)}</p>`}
</html>
`;
}
