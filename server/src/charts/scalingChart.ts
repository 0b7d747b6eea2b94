/** Throughput and efficiency over the number of GPUs, each with its ideal and its range. */

import { escapeHtml } from '../model/escapeHtml.ts';
import { formatPercent, formatRate } from '../model/format.ts';
import { axisTitles, bottomAxis, leftAxis } from './axes.ts';
import { type Chart, chartOf } from './chart.ts';
import { linearScale, logScale, niceStep, niceTicks, type Scale } from './scales.ts';
import { type Box, label, line, pathOf, place } from './shapes.ts';

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

const [width, height, between] = [1120, 320, 96];
const panels: readonly [Box, Box] = [
  { left: 96, right: (width - between) / 2, top: 40, bottom: height - 48 },
  { left: (width + between) / 2 + 20, right: width - 14, top: 40, bottom: height - 48 },
];

/** `undefined` where fewer than two numbers of GPUs have both: there is no curve. */
export function scalingChart(marks: readonly ScalingMark[], isStrong: boolean): Chart | undefined {
  const known = marks.flatMap((mark) =>
    mark.efficiency === null || mark.throughput === null
      ? []
      : [{ ...mark, efficiency: mark.efficiency, throughput: mark.throughput }],
  );
  const [first, last] = [known[0], known.at(-1)];
  if (first === undefined || last === undefined || first.gpus === last.gpus) return undefined;
  const kind = isStrong ? 'strong' : 'weak';
  const counts = known.map(({ gpus }) => gpus);
  const across = ({ left, right }: Box): Scale =>
    logScale([first.gpus, last.gpus], [left + 10, right - 10], counts);
  const perGpu = first.throughput / first.gpus / first.efficiency;
  const rates = known.flatMap(({ gpus, throughput, throughputRange }) => [
    throughput,
    gpus * perGpu,
    ...(throughputRange ?? []),
  ]);
  const [speed, share] = panels;
  const up = logScale([Math.min(...rates) / 1.2, Math.max(...rates) * 1.2], [speed.bottom, speed.top]);
  const [floor, ceiling] = efficiencyBounds(known.map(({ efficiency }) => efficiency));
  const efficiency = linearScale([floor, ceiling], [share.bottom, share.top], niceTicks(floor, ceiling, 5));
  const ideal = (x: Scale): string =>
    `<path class="roof mark" d="${pathOf(counts.map((gpus) => [x.at(gpus), up.at(gpus * perGpu)]))}"/>`;
  const [speedX, shareX] = [across(speed), across(share)];
  return chartOf({
    name: 'scaling',
    title: `Throughput and ${kind} scaling efficiency by number of GPUs`,
    summary: `From ${first.gpus} to ${last.gpus} GPUs throughput goes from ${formatRate(first.throughput)} to ${formatRate(last.throughput)}, efficiency from ${formatPercent(first.efficiency)} to ${formatPercent(last.efficiency)}.`,
    width,
    height,
    body: [
      ...leftAxis(up, speed, (rate) => formatRate(rate, '').replace(' /s', '')),
      ...bottomAxis(speedX, speed, String),
      ...axisTitles(speed, 'GPUs', 'samples per second; dashed: ideal, band: range'),
      ideal(speedX),
      ...series(
        known,
        speedX,
        up,
        ({ throughput }) => throughput,
        ({ throughputRange }) => throughputRange,
      ),
      ...leftAxis(efficiency, share, (value) => percentAt(value, ceiling - floor)),
      ...bottomAxis(shareX, share, String),
      ...axisTitles(
        share,
        'GPUs',
        `${kind} efficiency${floor > 0 ? `; the axis starts at ${percentAt(floor, ceiling - floor)}` : ''}`,
      ),
      ...(ceiling >= 1
        ? [line([share.left, efficiency.at(1)], [share.right, efficiency.at(1)], 'mark')]
        : []),
      ...series(
        known,
        shareX,
        efficiency,
        (mark) => mark.efficiency,
        () => null,
      ),
      label(
        share.right,
        share.bottom + 36,
        known.some(({ fits }) => !fits) ? 'hollow: out of memory' : '',
        'end quiet',
      ),
    ],
    table: {
      columns: ['GPUs', 'throughput', `${kind} efficiency`, 'limit'],
      rows: marks.map((mark) => [
        String(mark.gpus),
        formatRate(mark.throughput),
        formatPercent(mark.efficiency),
        mark.limit,
      ]),
    },
  });
}

/** With the digits that tell ticks apart. */
const percentAt = (value: number, span: number): string => `${(value * 100).toFixed(span < 0.04 ? 1 : 0)} %`;

/**
 * An axis that shows the differences there are: from 0 where they are large, else from the nice value
 * below the lowest, to one above the highest and the ideal.
 */
export function efficiencyBounds(values: readonly number[]): readonly [number, number] {
  const [low, high] = [Math.min(...values), Math.max(1, ...values)];
  const step = niceStep(Math.max(high - low, 0.01) / 4);
  const floor = low < 0.5 ? 0 : Math.max(0, Math.floor((low - step) / step) * step);
  const ceiling = Math.ceil((high + step / 4) / step) * step;
  return [Number(floor.toPrecision(12)), Number(ceiling.toPrecision(12))];
}

function series<Mark extends ScalingMark>(
  marks: readonly Mark[],
  x: Scale,
  y: Scale,
  of: (mark: Mark) => number,
  rangeOf: (mark: Mark) => readonly [number, number] | null,
): readonly string[] {
  const ranged = marks.flatMap((mark) => {
    const range = rangeOf(mark);
    return range === null ? [] : [{ gpus: mark.gpus, range }];
  });
  const low = ranged.map(({ gpus, range }) => [x.at(gpus), y.at(range[0])] as const);
  const high = ranged.map(({ gpus, range }) => [x.at(gpus), y.at(range[1])] as const);
  return [
    ...(ranged.length < 2 ? [] : [`<path class="band" d="${pathOf([...low, ...high.toReversed()])}Z"/>`]),
    `<path class="curve" d="${pathOf(marks.map((mark) => [x.at(mark.gpus), y.at(of(mark))]))}"/>`,
    ...marks.map((mark) => {
      const note = `${mark.gpus} GPUs: ${formatPercent(mark.efficiency)}, ${formatRate(mark.throughput)}, ${mark.limit}`;
      return `<circle cx="${place(x.at(mark.gpus))}" cy="${place(y.at(of(mark)))}" r="4.5"${mark.fits ? '' : ' class="none"'}><title>${escapeHtml(note)}</title></circle>`;
    }),
  ];
}
