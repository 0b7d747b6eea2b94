/** Throughput and efficiency over the number of GPUs, each with its ideal and its range. */

import { itemAt } from '../model/at.ts';
import { type DeviceNoun, deviceNounFor } from '../model/deviceNoun.ts';
import { escapeHtml } from '../model/escapeHtml.ts';
import { formatPercent, formatRate } from '../model/format.ts';
import { axisTitles, bottomAxis, leftAxis } from './axes.ts';
import { type Chart, chartOf, narrowWidth, type Sheet } from './chart.ts';
import { linearScale, logScale, niceStep, niceTicks, type Scale } from './scales.ts';
import { type Box, label, letterWidth, line, pathOf, place, wrapLabel } from './shapes.ts';

export interface ScalingMark {
  readonly gpus: number;
  /** Samples per second over all GPUs, and its low and high bound; null where unknown. */
  readonly throughput: number | null;
  readonly throughputRange: readonly [number, number] | null;
  /** Share of 1. What makes a step uncertain is in the single GPU's too: it has no band of its own. */
  readonly efficiency: number | null;
  /** `message bandwidth, 12 % of the step`. */
  readonly limit: string;
  readonly fits: boolean;
}

/** Where the two plots lie. */
interface Plots {
  readonly width: number;
  readonly speed: Box;
  readonly share: Box;
}

const [width, height, between] = [1120, 320, 96];
const sideBySide: Plots = {
  width,
  speed: { left: 96, right: (width - between) / 2, top: 40, bottom: height - 48 },
  share: { left: (width + between) / 2 + 20, right: width - 14, top: 40, bottom: height - 48 },
};

/** For a panel beside a text. */
const oneAboveTheOther: Plots = {
  width: narrowWidth,
  speed: { left: 64, right: narrowWidth - 14, top: 40, bottom: 230 },
  share: { left: 64, right: narrowWidth - 14, top: 320, bottom: 510 },
};

/** One curve among others: a cluster, a framework or another scenario. */
export interface ScalingSeries {
  /** '' where there is one curve only. */
  readonly title: string;
  readonly marks: readonly ScalingMark[];
}

/** More curves than these are not told apart. */
export const mostCurves = 6;

type KnownMark = ScalingMark & { readonly efficiency: number; readonly throughput: number };

interface KnownSeries {
  readonly title: string;
  readonly known: readonly KnownMark[];
  /** Samples per second of a single GPU. */
  readonly perGpu: number;
}

/** `undefined` where no series has two numbers of GPUs with both: there is no curve. */
export function scalingChart(
  given: readonly ScalingSeries[],
  isStrong: boolean,
  device: DeviceNoun = 'GPU',
): Chart | undefined {
  const counted = deviceNounFor(2, device);
  const drawn = given.flatMap(knownOf).slice(0, mostCurves);
  if (drawn.length === 0) return undefined;
  const isAlone = given.length === 1;
  const kind = isStrong ? 'strong' : 'weak';
  return chartOf({
    name: 'scaling',
    title: `Throughput and ${kind} scaling efficiency by number of ${counted}`,
    summary: drawn.map((each) => sentenceOf(each, isAlone, counted)).join(' '),
    ...drawingOf(drawn, isAlone, kind, device, sideBySide),
    narrow: drawingOf(drawn, isAlone, kind, device, oneAboveTheOther),
    table: {
      columns: [...(isAlone ? [] : ['curve']), counted, 'throughput', `${kind} efficiency`, 'limit'],
      rows: given.flatMap(({ title, marks }) =>
        marks.map((mark) => [
          ...(isAlone ? [] : [title]),
          String(mark.gpus),
          formatRate(mark.throughput),
          formatPercent(mark.efficiency),
          mark.limit,
        ]),
      ),
    },
  });
}

function drawingOf(
  drawn: readonly KnownSeries[],
  isAlone: boolean,
  kind: string,
  device: DeviceNoun,
  { width: total, speed, share }: Plots,
): Sheet {
  const all = drawn.flatMap(({ known }) => known);
  const counts = [...new Set(all.map(({ gpus }) => gpus))].sort((one, other) => one - other);
  const across = ({ left, right }: Box): Scale =>
    logScale([Math.min(...counts), Math.max(...counts)], [left + 10, right - 10], counts);
  const rates = drawn.flatMap(({ known, perGpu }) =>
    known.flatMap(({ gpus, throughput, throughputRange }) => [
      throughput,
      gpus * perGpu,
      ...(throughputRange ?? []),
    ]),
  );
  const up = logScale([Math.min(...rates) / 1.2, Math.max(...rates) * 1.2], [speed.bottom, speed.top]);
  const [floor, ceiling] = efficiencyBounds(all.map(({ efficiency }) => efficiency));
  const efficiency = linearScale([floor, ceiling], [share.bottom, share.top], niceTicks(floor, ceiling, 5));
  const [speedX, shareX] = [across(speed), across(share)];
  const isFull = all.some(({ fits }) => !fits);
  const bottom = share.bottom + 48;
  const legendLines = isAlone
    ? []
    : drawn.map(({ title }) => wrapLabel(title, total - speed.left - legendIndent));
  const legendEdges = edgesOf(legendLines.map((lines) => legendRow + (lines.length - 1) * legendLeading));
  const legendTop = bottom + 6;
  return {
    width: total,
    height: isAlone ? bottom : legendTop + itemAt(legendEdges, drawn.length),
    body: [
      ...leftAxis(up, speed, (rate) => formatRate(rate, '').replace(' /s', '')),
      ...bottomAxis(speedX, speed, String),
      ...axisTitles(
        speed,
        `${deviceNounFor(2, device)}, logarithmic`,
        `samples/s, logarithmic; ${isAlone ? 'dashed' : 'thin'}: ideal, band: range`,
      ),
      ...drawn.map(
        ({ known, perGpu }) =>
          `<path class="${isAlone ? 'roof mark' : 'ideal'}" d="${pathOf(known.map(({ gpus }) => [speedX.at(gpus), up.at(gpus * perGpu)]))}"/>`,
      ),
      ...drawn.flatMap(({ title, known }, index) =>
        series(
          { title, known, index, device },
          speedX,
          up,
          ({ throughput }) => throughput,
          ({ throughputRange }) => throughputRange,
        ),
      ),
      ...leftAxis(efficiency, share, (value) => percentAt(value, ceiling - floor)),
      ...bottomAxis(shareX, share, String),
      ...axisTitles(
        share,
        `${deviceNounFor(2, device)}, logarithmic`,
        `${kind} efficiency${floor > 0 ? `; the axis starts at ${percentAt(floor, ceiling - floor)}` : ''}`,
      ),
      ...(ceiling >= 1
        ? [line([share.left, efficiency.at(1)], [share.right, efficiency.at(1)], 'mark')]
        : []),
      ...drawn.flatMap(({ title, known }, index) =>
        series(
          { title, known, index, device },
          shareX,
          efficiency,
          (mark) => mark.efficiency,
          () => null,
        ),
      ),
      ...(isFull ? outOfMemoryNote(share.right, share.bottom + 36, isAlone) : []),
      ...legendLines.flatMap((lines, index) =>
        legendEntry(lines, index, speed.left, legendTop + itemAt(legendEdges, index)),
      ),
    ],
  };
}

/** Of an entry of one line, between lines of one entry, and from its left edge to its title. */
const [legendRow, legendLeading, legendIndent] = [20, 16, 54];

/** Where each of so many heights begins, one below the other, and where the last ends. */
function edgesOf(heights: readonly number[]): readonly number[] {
  const edges = [0];
  for (const height of heights) edges.push(itemAt(edges, edges.length - 1) + height);
  return edges;
}

function knownOf({ title, marks }: ScalingSeries): readonly KnownSeries[] {
  const known = marks.flatMap((mark) =>
    mark.efficiency === null || mark.throughput === null
      ? []
      : [{ ...mark, efficiency: mark.efficiency, throughput: mark.throughput }],
  );
  const [first, last] = [known[0], known.at(-1)];
  if (first === undefined || last === undefined || first.gpus === last.gpus) return [];
  return [{ title, known, perGpu: first.throughput / first.gpus / first.efficiency }];
}

function sentenceOf({ title, known }: KnownSeries, isAlone: boolean, counted: string): string {
  const [first, last] = [known[0], known.at(-1)];
  if (first === undefined || last === undefined) return '';
  const rates = `${formatRate(first.throughput)} to ${formatRate(last.throughput)}`;
  const [from, to] = [formatPercent(first.efficiency), formatPercent(last.efficiency)];
  const shares = from === to ? `efficiency stays at ${to}` : `efficiency goes from ${from} to ${to}`;
  return isAlone
    ? `From ${first.gpus} to ${last.gpus} ${counted} throughput goes from ${rates}; ${shares}.`
    : `${title}: ${rates} from ${first.gpus} to ${last.gpus} ${counted}; ${shares}.`;
}

/** A piece of the curve with its point, and what it is of. */
const legendEntry = (lines: readonly string[], index: number, left: number, y: number): readonly string[] => [
  `<path class="curve curve-${index}" d="${pathOf([
    [left, y],
    [left + 44, y],
  ])}"/>`,
  pointMark(left + 22, y, index, ''),
  ...lines.map((text, row) => label(left + legendIndent, y + 4 + row * legendLeading, text)),
];

/** What marks of scenarios that do not fit look like, of each shape that is drawn, and what they mean. */
function outOfMemoryNote(right: number, y: number, isAlone: boolean): readonly string[] {
  const text = 'out of memory';
  const left = right - text.length * letterWidth - 14;
  return [
    pointMark(left, y - 4, 0, '', false),
    ...(isAlone ? [] : [pointMark(left - 16, y - 4, 1, '', false)]),
    label(right, y, text, 'end quiet'),
  ];
}

/** With the digits that tell ticks apart. */
const percentAt = (value: number, span: number): string => `${(value * 100).toFixed(span < 0.04 ? 1 : 0)} %`;

/**
 * An axis that shows the differences there are: from 0 where they are large, else from the nice value
 * below the lowest, to half a step above the highest and the ideal.
 */
export function efficiencyBounds(values: readonly number[]): readonly [number, number] {
  const [low, high] = [Math.min(...values), Math.max(1, ...values)];
  const step = niceStep(Math.max(high - low, 0.01) / 4);
  const floor = low < 0.5 ? 0 : Math.max(0, Math.floor((low - step) / step) * step);
  // Half a step above is enough, so that a curve a little above 1 does not share its plot with a void.
  const ceiling = (Math.ceil((high + step / 4) / (step / 2)) * step) / 2;
  return [Number(floor.toPrecision(12)), Number(ceiling.toPrecision(12))];
}

function series(
  {
    title,
    known,
    index,
    device,
  }: Pick<KnownSeries, 'title' | 'known'> & { readonly index: number; readonly device: DeviceNoun },
  x: Scale,
  y: Scale,
  of: (mark: KnownMark) => number,
  rangeOf: (mark: KnownMark) => readonly [number, number] | null,
): readonly string[] {
  const ranged = known.flatMap((mark) => {
    const range = rangeOf(mark);
    return range === null ? [] : [{ gpus: mark.gpus, range }];
  });
  const low = ranged.map(({ gpus, range }) => [x.at(gpus), y.at(range[0])] as const);
  const high = ranged.map(({ gpus, range }) => [x.at(gpus), y.at(range[1])] as const);
  const curve = known.map((mark) => [x.at(mark.gpus), y.at(of(mark))] as const);
  return [
    ...(ranged.length < 2
      ? []
      : [`<path class="band band-${index}" d="${pathOf([...low, ...high.toReversed()])}Z"/>`]),
    `<path class="curve curve-${index}" d="${pathOf(curve)}"/>`,
    ...known.map((mark) => {
      const note = `${title === '' ? '' : `${title}: `}${mark.gpus} ${deviceNounFor(mark.gpus, device)}: ${formatPercent(mark.efficiency)}, ${formatRate(mark.throughput)}, ${mark.limit}`;
      return pointMark(x.at(mark.gpus), y.at(of(mark)), index, note, mark.fits);
    }),
  ];
}

/** Every second curve has squares, so that no two are told apart by colour alone: lines are dashed after the second. */
function pointMark(x: number, y: number, index: number, note: string, fits = true): string {
  const title = note === '' ? '' : `<title>${escapeHtml(note)}</title>`;
  const kind = fits ? `point-${index}` : `point-${index} none`;
  const shown = index === 0 ? (fits ? '' : ' class="none"') : ` class="${kind}"`;
  return index % 2 === 0
    ? `<circle cx="${place(x)}" cy="${place(y)}" r="4.5"${shown}>${title}</circle>`
    : `<rect x="${place(x - 4)}" y="${place(y - 4)}" width="8" height="8"${shown}>${title}</rect>`;
}
