/** Memory over the step, stacked by kind, with the peak and the capacity. */

import type { DeviceNoun } from '../model/deviceNoun.ts';
import { formatBytes, formatPercent, formatTime } from '../model/format.ts';
import { bytes, seconds } from '../model/units.ts';
import { bottomAxis, leftAxis } from './axes.ts';
import { type Chart, chartOf, narrowWidth, type Sheet } from './chart.ts';
import { binaryTicks, linearScale } from './scales.ts';
import { type Box, bar, boldWidth, fitLabel, label, line, pathOf } from './shapes.ts';

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
  /** Whose memory it is; left out, a GPU's. */
  readonly device?: DeviceNoun;
}

/** Where the curve lies, and the rows that say how much of each kind there is at the peak. */
interface MemoryPlaces {
  readonly width: number;
  readonly plot: Box;
  readonly kinds: { readonly left: number; readonly right: number; readonly top: number };
}

const [width, height] = [1120, 300];
const beside: MemoryPlaces = {
  width,
  plot: { left: 76, right: width - 250, top: 34, bottom: height - 30 },
  kinds: { left: width - 232, right: width - 4, top: 38 },
};
const below: MemoryPlaces = {
  width: narrowWidth,
  plot: { left: 76, right: narrowWidth - 8, top: 34, bottom: height - 60 },
  kinds: { left: 76, right: narrowWidth - 76, top: height - 6 },
};

/** `undefined` where there is no moment. */
export function memoryChart(memory: MemoryOverTime): Chart | undefined {
  const { moments, capacity, device = 'GPU' } = memory;
  const [first] = moments;
  if (first === undefined) return undefined;
  const peak = moments.reduce((most, each) => (totalOf(each) > totalOf(most) ? each : most), first);
  const most = totalOf(peak);
  return chartOf({
    name: 'memory',
    title: 'Memory over the step',
    summary: `The peak is ${formatBytes(bytes(most))} in ${peak.where}${capacity === null ? '' : `, ${formatPercent(most / capacity)} of the ${device}’s ${formatBytes(bytes(capacity))}`}.`,
    ...curveOf(memory, first.time, peak, beside),
    narrow: curveOf(memory, first.time, peak, below),
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

function curveOf(
  { moments, until, capacity }: MemoryOverTime,
  from: number,
  peak: MemoryMoment,
  places: MemoryPlaces,
): Sheet {
  const { width, plot } = places;
  const most = totalOf(peak);
  const isNear = capacity !== null && capacity < farAbove * most;
  const high = (isNear ? Math.max(capacity, most) : most) * 1.12;
  const y = linearScale([0, high], [plot.bottom, plot.top], binaryTicks(high, 4));
  const x = linearScale([from, until], [plot.left, plot.right]);
  const drawn = thinned(moments, (until - from) / (plot.right - plot.left));
  const text = `peak ${formatBytes(bytes(most))}, ${peak.where}`;
  const at = x.at(peak.time);
  const isLate = at > (plot.left + plot.right) / 2;
  const key = kindsAtPeak(
    memoryKinds.filter(([kind]) => moments.some((moment) => moment[kind] > 0)),
    peak,
    places,
  );
  return {
    width,
    height: Math.max(height, key.bottom),
    body: [
      ...key.body,
      ...memoryKinds.flatMap((_, index) => area(drawn, index, until, x.at, y.at)),
      ...leftAxis(y, plot, (size) => formatBytes(bytes(size))),
      ...bottomAxis(x, plot, (time) => formatTime(seconds(time))),
      line([at, plot.bottom], [at, y.at(most)], 'mark'),
      label(
        at + (isLate ? -6 : 6),
        y.at(most) - 6,
        fitLabel(text, (isLate ? at - plot.left : plot.right - at) - 6, boldWidth),
        isLate ? 'end strong halo' : 'strong halo',
      ),
      ...capacityMark(capacity, most, isNear, y.at, plot),
    ],
  };
}

/** A capacity of more times the peak than this would flatten the curve: it is written at the top instead. */
const farAbove = 2.5;

function capacityMark(
  capacity: number | null,
  most: number,
  isNear: boolean,
  at: (size: number) => number,
  plot: Box,
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

export const totalOf = (moment: Readonly<Record<MemoryKind, number>>): number =>
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

/** In the order of the stack: what each kind is and how much of it there is at the peak. */
function kindsAtPeak(
  kinds: readonly (typeof memoryKinds)[number][],
  peak: MemoryMoment,
  { kinds: { left, right, top } }: MemoryPlaces,
): { readonly body: readonly string[]; readonly bottom: number } {
  const row = (index: number): number => top + 18 + index * 20;
  const last = row(kinds.length);
  const body = [
    label(left, top, 'at the peak', 'quiet'),
    ...kinds.toReversed().flatMap(([kind, title], index) => {
      const y = row(index);
      return [
        bar({ left, top: y - 10, right: left + 12, bottom: y + 2 }, kind),
        label(left + 18, y, title),
        label(right, y, formatBytes(bytes(peak[kind])), 'end'),
      ];
    }),
    line([left, last - 13], [right, last - 13], 'mark'),
    label(left + 18, last + 3, 'all', 'strong'),
    label(right, last + 3, formatBytes(bytes(totalOf(peak))), 'end strong'),
  ];
  return { body, bottom: last + 12 };
}
