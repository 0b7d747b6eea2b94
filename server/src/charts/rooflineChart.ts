/**
 * Layers under the roofs of a GPU: FLOPs per byte across, FLOP/s upwards, both logarithmic.
 *
 * Source: Williams, Waterman, Patterson, "Roofline: an insightful visual performance model", CACM 52(4), 2009.
 */

import type { DeviceNoun } from '../model/deviceNoun.ts';
import { escapeHtml } from '../model/escapeHtml.ts';
import { formatBandwidth, formatFlopRate, formatPercent, significant } from '../model/format.ts';
import { bytesPerSecond, flopsPerSecond } from '../model/units.ts';
import { axisTitles, bottomAxis, leftAxis } from './axes.ts';
import { type Chart, chartOf, narrowWidth, type Sheet } from './chart.ts';
import { boxesAlong, placeLabels } from './placeLabels.ts';
import { logScale } from './scales.ts';
import { type Box, fitTail, label, letterWidth, pathOf, place, wrapLabel } from './shapes.ts';

export interface RooflinePoint {
  readonly name: string;
  /** FLOPs per byte of GPU memory, above 0. */
  readonly intensity: number;
  /** FLOPs per second, above 0. */
  readonly rate: number;
  /** Its share of the time of all layers. */
  readonly share: number;
  readonly layer: string;
}

export interface Roofline {
  readonly gpu: string;
  readonly points: readonly RooflinePoint[];
  /** FLOPs per second; `what` is the number type and the unit: `bf16 on tensor cores`. */
  readonly peak: number;
  readonly what: string;
  /** Bytes per second. */
  readonly bandwidth: number;
  /** Whose roofs they are; left out, a GPU's. */
  readonly device?: DeviceNoun;
}

const width = 1120;

/** `undefined` where no layer has FLOPs and time. */
export function rooflineChart(roofline: Roofline): Chart | undefined {
  const { gpu, points, peak, bandwidth } = roofline;
  if (points.length === 0 || !(peak > 0) || !(bandwidth > 0)) return undefined;
  const ridge = peak / bandwidth;
  const ordered = points.toSorted((one, other) => other.share - one.share);
  const limited = points.reduce((total, each) => total + (each.intensity < ridge ? each.share : 0), 0);
  return chartOf({
    name: 'roofline',
    title: `Roofline of ${gpu}`,
    summary: `${formatPercent(limited)} of the time of layers with FLOPs is left of the ridge at ${significant(ridge)} FLOP per byte, where memory limits.`,
    ...pointsOf(roofline, ordered, width),
    narrow: pointsOf(roofline, ordered, narrowWidth),
    table: {
      columns: ['layer', 'FLOP per byte', 'rate', 'share of time'],
      rows: ordered
        .slice(0, listedPoints)
        .map(({ name, intensity, rate, share }) => [
          name,
          significant(intensity),
          formatFlopRate(flopsPerSecond(rate)),
          formatPercent(share),
        ]),
    },
  });
}

function pointsOf(
  { points, peak, what, bandwidth, device = 'GPU' }: Roofline,
  ordered: readonly RooflinePoint[],
  width: number,
): Sheet {
  const memory = device === 'GPU' ? 'GPU memory' : 'memory';
  const explained = wrapLabel(
    `FLOP/s, logarithmic; slope: ${formatBandwidth(bytesPerSecond(bandwidth))} of ${memory}; a circle’s area is the layer’s share of time, hollow where memory limits`,
    width - 116,
  );
  const top = 14 + explained.length * textRow;
  const plot: Box = { left: 96, right: width - 14, top, bottom: top + plotHeight };
  const ridge = peak / bandwidth;
  const intensities = [...points.map(({ intensity }) => intensity), ridge];
  const x = logScale([Math.min(...intensities) / 2, Math.max(...intensities) * 4], [plot.left, plot.right]);
  const rates = points.map(({ rate }) => rate);
  const y = logScale([Math.min(...rates, peak) / 2, Math.max(...rates, peak) * 2], [plot.bottom, plot.top]);
  const [low, high] = [Math.min(...intensities) / 2, Math.max(...intensities) * 4];
  const floor = Math.min(...rates, peak) / 2;
  const start = Math.max(low, floor / bandwidth);
  const corners = [
    [x.at(start), y.at(start * bandwidth)],
    [x.at(ridge), y.at(peak)],
    [x.at(high), y.at(peak)],
  ] as const;
  const marks = ordered.map(({ name, intensity, rate, share }) => ({
    x: x.at(intensity),
    y: y.at(rate),
    radius: radius(share),
    name: fitTail(name, longestName),
  }));
  const peakText = `${formatFlopRate(flopsPerSecond(peak))}, ${what}`;
  const peakLine = y.at(peak);
  const taken: readonly Box[] = [
    ...boxesAlong(corners[0], corners[1]),
    ...boxesAlong(corners[1], corners[2]),
    {
      left: plot.right - 6 - peakText.length * letterWidth,
      right: plot.right,
      top: peakLine - 20,
      bottom: peakLine,
    },
  ];
  return {
    width,
    height: plot.bottom + 48,
    body: [
      ...leftAxis(y, plot, (rate) => formatFlopRate(flopsPerSecond(rate))),
      ...bottomAxis(x, plot, (value) => significant(value)),
      ...axisTitles(plot, `FLOP per byte of ${memory}, logarithmic`, ''),
      `<path class="roof" d="${pathOf(corners)}"/>`,
      label(plot.right - 6, peakLine - 7, peakText, 'end strong'),
      ...explained.map((text, row) => label(plot.left + 6, 20 + row * textRow, text, 'quiet')),
      ...ordered.map((point) => circle(point, ridge, x.at, y.at)),
      ...placeLabels(marks.slice(0, namedPoints), marks, taken, plot),
    ],
  };
}

/** In pixels. */
const textRow = 16;
const plotHeight = 302;
const namedPoints = 8;
/** Where a longer name would not be read. */
const longestName = 28;

const listedPoints = 12;

/** In pixels; the area grows with the share. */
const radius = (share: number): number => 3 + 22 * Math.sqrt(share);

function circle(
  { name, intensity, rate, share, layer }: RooflinePoint,
  ridge: number,
  x: (value: number) => number,
  y: (value: number) => number,
): string {
  const note = `${name}: ${significant(intensity)} FLOP per byte, ${formatFlopRate(flopsPerSecond(rate))}, ${formatPercent(share)} of the time`;
  return `<circle${intensity < ridge ? ' class="memory-bound"' : ''} cx="${place(x(intensity))}" cy="${place(y(rate))}" r="${place(radius(share))}" data-layer="${escapeHtml(layer)}"><title>${escapeHtml(note)}</title></circle>`;
}
