/** A scaling curve as one self-contained page without addresses. Its script follows the editor, and shows details. */

import { chartStyle } from '../../charts/chartStyle.ts';
import { scalingChart } from '../../charts/scalingChart.ts';
import { escapeHtml } from '../../model/escapeHtml.ts';
import { scalingMarks } from '../figures/scalingMarks.ts';
import { pageStyle } from '../report/html.ts';
import { pageScript } from '../report/pageScript.ts';
import { reportStyle } from '../report/reportStyle.ts';
import type { Scaling } from './scaleJob.ts';
import { missingText, scalingColumns } from './scalingCells.ts';

/** `nonce` is that of the only script and style that run. */
export function renderScalingHtml(scaling: Scaling, nonce = 'layercost'): string {
  const columns = scalingColumns(scaling);
  const cell = (tag: 'th' | 'td', text: string, align: 'left' | 'right'): string =>
    `<${tag}${align === 'right' ? ' class="number"' : ''}>${escapeHtml(text)}`;
  const missing = missingText(scaling);
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'nonce-${nonce}'; script-src 'nonce-${nonce}'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(scaling.name)}: scaling of a training step</title>
<style nonce="${nonce}">${pageStyle}${chartStyle}${reportStyle}</style>
<main>
<h1>${escapeHtml(scaling.name)}: scaling</h1>
<p>${escapeHtml(scaling.job)}</p>
<h2>${scaling.isStrong ? 'Strong scaling efficiency: throughput of a GPU over that of one with the whole batch' : 'Weak scaling efficiency: throughput of a GPU over that of one by itself, with the same batch'}</h2>
<figure>${scalingChart(scalingMarks(scaling.points), scaling.isStrong)?.svg ?? ''}</figure>
<div class="wide"><table>
<thead><tr>${columns.map(({ title, align }) => cell('th', title, align)).join('')}
<tbody>
${scaling.points.map((point) => `<tr>${columns.map(({ cell: textOf, align }) => cell('td', textOf(point), align)).join('')}`).join('\n')}
</table></div>
${scaling.notes.map((note) => `<p>${escapeHtml(note)}.</p>`).join('\n')}
${missing === '' ? '' : `<p>${escapeHtml(missing)}</p>`}
</main>
<div id="tip" hidden></div>
<script nonce="${nonce}">${pageScript}</script>
</html>
`;
}
