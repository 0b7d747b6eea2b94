/** A scaling curve as one self-contained page without addresses. Its script follows the editor, and shows details. */

import { commonNoun } from '../../model/deviceNoun.ts';
import { escapeHtml } from '../../model/escapeHtml.ts';
import { scalingFigure } from '../figures/scalingFigure.ts';
import { drawings } from '../report/chartHtml.ts';
import { textHtml, wholePage } from '../report/html.ts';
import type { Scaling } from './scaleJob.ts';
import { missingText, type ScalingColumn, scalingColumns } from './scalingCells.ts';
import type { ScalingPoint } from './scalingCurve.ts';
import { type ScalingCurve, titleOfCurve } from './scalingOverlay.ts';

/** `nonce` is that of the only script and style that run. */
export const renderScalingHtml = (scaling: Scaling, nonce = 'layercost'): string =>
  renderOverlayHtml([{ values: {}, scaling }], nonce);

/** Several curves in one drawing, and one table below another. */
export function renderOverlayHtml(curves: readonly ScalingCurve[], nonce = 'layercost'): string {
  const [first] = curves;
  if (first === undefined) return '';
  const { name, isStrong } = first.scaling;
  const device = commonNoun(curves.map(({ scaling }) => scaling.device));
  const chart = scalingFigure(curves);
  const isAlone = curves.length === 1;
  return wholePage(
    { title: `${name}: scaling of a training step`, nonce, hasScript: true },
    `<h1>${escapeHtml(name)}: scaling</h1>
${isAlone ? `<p>${escapeHtml(first.scaling.job)}</p>` : ''}
<h2>${isStrong ? `Strong scaling efficiency: throughput of a ${device} over that of one with the whole batch` : `Weak scaling efficiency: throughput of a ${device} over that of one by itself, with the same batch`}</h2>
${chart === undefined ? '' : `<figure>\n<p>${textHtml(chart.summary)}</p>\n${drawings(chart)}\n</figure>`}
${curves.map((curve) => curvePart(curve, isAlone)).join('\n')}`,
  );
}

function curvePart(curve: ScalingCurve, isAlone: boolean): string {
  const { scaling } = curve;
  const missing = missingText(scaling);
  const head = `<h2>${escapeHtml(titleOfCurve(curve))}</h2>\n<p>${escapeHtml(scaling.job)}</p>\n`;
  return `${isAlone ? '' : head}${pointsTable(scaling)}
${scaling.notes.map((note) => `<p>${textHtml(note)}.</p>`).join('\n')}
${missing === '' ? '' : `<p>${textHtml(missing)}</p>`}`;
}

/** What is read together shares a column: a step and its range, exposed communication and all of it. */
function pointsTable(scaling: Scaling): string {
  const known = scalingColumns(scaling);
  const below = new Map(known.flatMap((column) => (column.title in shared ? [[column.title, column]] : [])));
  const head = ({ title, align }: ScalingColumn): string =>
    `<th scope="col"${align === 'right' ? ' class="number"' : ''}>${escapeHtml(longTitles[title] ?? title)}`;
  const columns = known.filter(({ title }) => !below.has(title));
  const cellOf = (column: ScalingColumn, point: ScalingPoint): string => {
    const other = [...below.values()].find(({ title }) => shared[title]?.column === column.title);
    const text = other?.cell(point) ?? '';
    const small =
      text === '' || other === undefined
        ? ''
        : `<small>${escapeHtml(`${shared[other.title]?.words ?? ''}${text}`)}</small>`;
    return `<td${column.align === 'right' ? ' class="number"' : ''}>${textHtml(column.cell(point))}${small}`;
  };
  return `<div class="wide"><table class="curve-points">
<thead><tr>${columns.map(head).join('')}
<tbody>
${scaling.points.map((point) => `<tr>${columns.map((column) => cellOf(column, point)).join('')}`).join('\n')}
</table></div>`;
}

/** Columns that are written small below another one, and the words before their texts. */
const shared: Readonly<Record<string, { readonly column: string; readonly words: string }>> = {
  range: { column: 'step', words: '' },
  communication: { column: 'exposed', words: 'of ' },
};

const longTitles: Readonly<Record<string, string>> = { exposed: 'exposed communication' };
