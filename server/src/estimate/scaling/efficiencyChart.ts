/** Efficiency over the number of GPUs, as SVG: powers of two across, percent upwards, out of memory hollow. */

import { formatPercent, formatRate } from '../../model/format.ts';
import { escapeHtml } from '../report/html.ts';
import { limitText } from './scalingCells.ts';
import type { ScalingPoint } from './scalingCurve.ts';

const [width, height] = [760, 300];
const plot = { left: 56, right: 16, top: 16, bottom: 44 };

interface Mark {
  readonly x: number;
  readonly y: number;
  readonly point: ScalingPoint;
}

/** '' where fewer than two points have an efficiency: there is no curve. */
export function efficiencyChart(points: readonly ScalingPoint[]): string {
  const known = points.filter(({ scalingEfficiency }) => scalingEfficiency !== null);
  const [first, last] = [known[0], known.at(-1)];
  if (first === undefined || last === undefined || first.gpus === last.gpus) return '';
  const most = Math.max(1, ...known.map(({ scalingEfficiency }) => scalingEfficiency ?? 0));
  const top = Math.ceil(most * 5) / 5;
  const [from, to] = [Math.log2(first.gpus), Math.log2(last.gpus)];
  const xOf = (gpus: number): number =>
    plot.left + ((Math.log2(gpus) - from) / (to - from)) * (width - plot.left - plot.right);
  const yOf = (efficiency: number): number =>
    height - plot.bottom - (efficiency / top) * (height - plot.top - plot.bottom);
  const marks = known.map((point) => ({ x: xOf(point.gpus), y: yOf(point.scalingEfficiency ?? 0), point }));
  const line = marks.map(({ x, y }) => `${x.toFixed(1)},${y.toFixed(1)}`).join(' ');
  return [
    `<svg viewBox="0 0 ${width} ${height}" role="img" aria-label="Efficiency over the number of GPUs">`,
    ...Array.from({ length: Math.round(top * 5) + 1 }, (_, step) => gridLine(step / 5, yOf(step / 5))),
    ...labelled(marks).map(
      ({ x, point }) => `<text x="${x.toFixed(1)}" y="${height - plot.bottom + 18}">${point.gpus}</text>`,
    ),
    `<text x="${(plot.left + width - plot.right) / 2}" y="${height - 6}">GPUs</text>`,
    `<polyline points="${line}"/>`,
    ...marks.map(dot),
    '</svg>',
  ].join('\n');
}

const gridLine = (efficiency: number, y: number): string =>
  `<line x1="${plot.left}" x2="${width - plot.right}" y1="${y.toFixed(1)}" y2="${y.toFixed(1)}"${efficiency === 1 ? ' class="all"' : ''}/><text class="percent" x="${plot.left - 8}" y="${(y + 4).toFixed(1)}">${formatPercent(efficiency)}</text>`;

function dot({ x, y, point }: Mark): string {
  const text = `${point.gpus} GPUs: ${formatPercent(point.scalingEfficiency)}, ${formatRate(point.throughput)}, ${limitText(point)}`;
  return `<circle cx="${x.toFixed(1)}" cy="${y.toFixed(1)}" r="5"${point.fits === 'no' ? ' class="none"' : ''}><title>${escapeHtml(text)}</title></circle>`;
}

/** Numbers that would lie on the one before are left out. */
function labelled(marks: readonly Mark[]): readonly Mark[] {
  const shown: Mark[] = [];
  for (const mark of marks) {
    const before = shown.at(-1);
    if (before === undefined || mark.x - before.x >= leastGap) shown.push(mark);
  }
  return shown;
}

const leastGap = 34;

export const chartStyle = `
svg { max-width: 52rem; width: 100%; margin: .5rem 0 1rem; font-size: 12px; }
svg text { fill: currentColor; text-anchor: middle; }
svg .percent { text-anchor: end; }
svg line { stroke: color-mix(in srgb, currentColor 15%, transparent); }
svg line.all { stroke: color-mix(in srgb, currentColor 55%, transparent); stroke-dasharray: 5 4; }
svg polyline { fill: none; stroke: #3b7dd8; stroke-width: 2; }
svg circle { fill: #3b7dd8; stroke: Canvas; stroke-width: 1.5; }
svg circle.none { fill: Canvas; stroke: #d33; stroke-width: 2; }`;
