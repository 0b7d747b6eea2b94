/** Memory over the step, stacked by kind, with the peak and the capacity. */

import { formatBytes, formatPercent, formatTime } from '../model/format.ts';
import { bytes, seconds } from '../model/units.ts';
import { bottomAxis, leftAxis } from './axes.ts';
import { type Chart, chartOf } from './chart.ts';
import { binaryTicks, linearScale } from './scales.ts';
import { type Box, fitLabel, label, legend, line, pathOf, place } from './shapes.ts';

/** From the bottom of the stack: what is there all the time first. */
export const memoryKinds = [
  ['runtime', 'driver and framework'],
  ['parameters', 'parameters'],
  ['state', 'optimizer state'],
  ['buffers', 'communication buffers'],
  ['gradients', 'gradients'],
  ['activations', 'activations'],
  ['workspace', 'workspace'],
] as const;
export type MemoryKind = (typeof memoryKinds)[number][0];

/** Bytes from `time` until the next moment. */
export interface MemoryMoment extends Readonly<Record<MemoryKind, number>> {
  /** Seconds from the start of the step. */
  readonly time: number;
  /** Where the step is then: `backward at layer4.2.conv3`. */
  readonly where: string;
}

export interface MemoryOverTime {
  /** In the order of their times. */
  readonly moments: readonly MemoryMoment[];
  /** In seconds. */
  readonly until: number;
  readonly capacity: number | null;
}

const [width, height] = [1120, 300];
const plot: Box = { left: 76, right: width - 14, top: 40, bottom: height - 30 };

/** `undefined` where there is no moment. */
export function memoryChart({ moments, until, capacity }: MemoryOverTime): Chart | undefined {
  const [first] = moments;
  if (first === undefined) return undefined;
  const peak = moments.reduce((most, each) => (totalOf(each) > totalOf(most) ? each : most), first);
  const most = totalOf(peak);
  const isNear = capacity !== null && capacity < farAbove * most;
  const high = (isNear ? Math.max(capacity, most) : most) * 1.12;
  const y = linearScale([0, high], [plot.bottom, plot.top], binaryTicks(high, 4));
  const x = linearScale([first.time, until], [plot.left, plot.right]);
  const drawn = thinned(moments, (until - first.time) / (plot.right - plot.left));
  const summary = `The peak is ${formatBytes(bytes(most))} in ${peak.where}${capacity === null ? '' : `, ${formatPercent(most / capacity)} of the GPU’s ${formatBytes(bytes(capacity))}`}.`;
  const text = `peak ${formatBytes(bytes(most))}, ${peak.where}`;
  const at = x.at(peak.time);
  const isLate = at > (plot.left + plot.right) / 2;
  return chartOf({
    name: 'memory',
    title: 'Memory over the step',
    summary,
    width,
    height,
    body: [
      ...legend(
        memoryKinds.filter(([kind]) => moments.some((moment) => moment[kind] > 0)),
        plot.left,
        4,
      ),
      ...memoryKinds.flatMap((_, index) => area(drawn, index, until, x.at, y.at)),
      ...leftAxis(y, plot, (size) => formatBytes(bytes(size))),
      ...bottomAxis(x, plot, (time) => formatTime(seconds(time))),
      ...bandNames(peak, y.at, at, isLate),
      line([at, plot.bottom], [at, y.at(most)], 'mark'),
      label(
        at + (isLate ? -6 : 6),
        y.at(most) - 6,
        fitLabel(text, 560),
        isLate ? 'end strong halo' : 'strong halo',
      ),
      ...capacityMark(capacity, most, isNear, y.at),
    ],
    table: {
      columns: ['at the peak', 'size'],
      rows: [
        ...memoryKinds
          .filter(([kind]) => peak[kind] > 0)
          .map(([kind, title]) => [title, formatBytes(bytes(peak[kind]))]),
        ['all', formatBytes(bytes(most))],
      ],
    },
  });
}

/** A capacity of more times the peak than this would flatten the curve: it is written at the top instead. */
const farAbove = 2.5;

function capacityMark(
  capacity: number | null,
  most: number,
  isNear: boolean,
  at: (size: number) => number,
): readonly string[] {
  if (capacity === null) return [];
  const text = `capacity ${formatBytes(bytes(capacity))}`;
  if (!isNear) {
    return [
      label(
        plot.right,
        plot.top - 8,
        `↑ ${text}, ${(capacity / most).toFixed(1)} times the peak`,
        'end quiet',
      ),
    ];
  }
  return [
    line([plot.left, at(capacity)], [plot.right, at(capacity)], 'limit'),
    label(plot.left + 6, at(capacity) - 5, text, 'strong halo'),
  ];
}

export const totalOf = (moment: MemoryMoment): number =>
  memoryKinds.reduce((total, [kind]) => total + moment[kind], 0);

/** One moment for each `width` of time, that with the most memory, so that no peak is lost. */
export function thinned(moments: readonly MemoryMoment[], width: number): readonly MemoryMoment[] {
  const kept: MemoryMoment[] = [];
  let binEnd = Number.NEGATIVE_INFINITY;
  for (const moment of moments) {
    const last = kept.at(-1);
    if (last === undefined || moment.time >= binEnd) {
      kept.push(moment);
      binEnd = moment.time + width;
    } else if (totalOf(moment) > totalOf(last)) kept[kept.length - 1] = moment;
  }
  return kept;
}

/** The kind at `index` of the stack, between the sums below and above it. */
function area(
  moments: readonly MemoryMoment[],
  index: number,
  until: number,
  x: (time: number) => number,
  y: (size: number) => number,
): readonly string[] {
  const kind = memoryKinds[index]?.[0];
  if (kind === undefined || moments.every((moment) => moment[kind] === 0)) return [];
  const edge = (kinds: number): readonly (readonly [number, number])[] =>
    moments.flatMap((moment, position) => {
      const size = memoryKinds.slice(0, kinds).reduce((total, [each]) => total + moment[each], 0);
      const end = moments[position + 1]?.time ?? until;
      return [[x(moment.time), y(size)] as const, [x(end), y(size)] as const];
    });
  const outline = [...edge(index + 1), ...edge(index).toReversed()];
  return [`<path class="area ${kind}" d="${pathOf(outline)}Z"/>`];
}

/** The names of kinds that are thick enough, beside the peak. */
function bandNames(
  peak: MemoryMoment,
  y: (size: number) => number,
  x: number,
  isLate: boolean,
): readonly string[] {
  let below = 0;
  return memoryKinds.flatMap(([kind, title]) => {
    const from = below;
    below += peak[kind];
    const [lower, upper] = [y(from), y(below)];
    if (lower - upper < 18) return [];
    const text = `${title} ${formatBytes(bytes(peak[kind]))}`;
    return [
      `<text class="halo ${isLate ? 'end' : ''}" x="${place(x + (isLate ? -6 : 6))}" y="${place((lower + upper) / 2 + 4)}">${text}</text>`,
    ];
  });
}
