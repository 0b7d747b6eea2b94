/** What a worker of each rank of a pipeline needs at its peak, stacked by kind, against the capacity. */

import { formatBytes, formatPercent } from '../model/format.ts';
import { bytes } from '../model/units.ts';
import { bottomAxis } from './axes.ts';
import { type Chart, chartOf } from './chart.ts';
import { type MemoryKind, memoryKinds, totalOf } from './memoryChart.ts';
import { binaryTicks, linearScale } from './scales.ts';
import { type Box, bar, fitLabel, label, legend, line } from './shapes.ts';

export interface RankBar extends Readonly<Record<MemoryKind, number>> {
  readonly title: string;
  /** Where its peak is: `backward at layer4.2.conv3`. */
  readonly where: string;
}

export interface RankMemoryBars {
  readonly ranks: readonly RankBar[];
  readonly capacity: number | null;
  /** What is not drawn; ends with a full stop, may be ''. */
  readonly note: string;
}

const [width, rowHeight, barHeight, top] = [1120, 30, 22, 50];
const [left, right] = [76, 250];

/** `undefined` where there is no rank. */
export function rankMemoryChart({ ranks, capacity, note }: RankMemoryBars): Chart | undefined {
  const [first] = ranks;
  if (first === undefined) return undefined;
  const fullest = ranks.reduce((most, each) => (totalOf(each) > totalOf(most) ? each : most), first);
  const most = totalOf(fullest);
  const plot: Box = { left, right: width - right, top, bottom: top + ranks.length * rowHeight };
  const isNear = capacity !== null && capacity < 2.5 * most;
  const high = (isNear ? Math.max(capacity, most) : most) * 1.05;
  const x = linearScale([0, high], [plot.left, plot.right], binaryTicks(high, 5));
  const kinds = memoryKinds.filter(([kind]) => ranks.some((rank) => rank[kind] > 0));
  const size = (value: number): string => formatBytes(bytes(value));
  const ofCapacity =
    capacity === null ? '' : `, ${formatPercent(most / capacity)} of the GPU’s ${size(capacity)}`;
  return chartOf({
    name: 'memory',
    title: 'Peak memory of each rank',
    summary: `A GPU of ${fullest.title} needs the most, ${size(most)} in ${fullest.where}${ofCapacity}.${note === '' ? '' : ` ${note}`}`,
    width,
    height: plot.bottom + 28,
    body: [
      ...legend(kinds, plot.left, 4, width).body,
      ...bottomAxis(x, plot, size),
      ...ranks.flatMap((rank, index) => {
        const y = top + index * rowHeight + (rowHeight - barHeight) / 2;
        let from = 0;
        const pieces = kinds.flatMap(([kind, title]) => {
          const start = from;
          from += rank[kind];
          return rank[kind] === 0
            ? []
            : [
                bar({ left: x.at(start), right: x.at(from), top: y, bottom: y + barHeight }, kind, {
                  note: `${rank.title}: ${title} ${size(rank[kind])}`,
                }),
              ];
        });
        const isOver = capacity !== null && from > capacity;
        const text = `${isOver ? '✕ ' : ''}${size(from)}, ${rank.where}`;
        return [
          label(left - 10, y + 15, rank.title, 'end'),
          ...pieces,
          label(plot.right + 12, y + 15, fitLabel(text, right - 16), isOver ? 'strong' : ''),
        ];
      }),
      ...(isNear
        ? [
            line([x.at(capacity), top - 4], [x.at(capacity), plot.bottom], 'limit'),
            label(x.at(capacity) - 5, top - 8, `capacity ${size(capacity)}`, 'end strong halo'),
          ]
        : []),
    ],
    table: {
      columns: ['rank', ...kinds.map(([, title]) => title), 'all', 'peak in'],
      rows: ranks.map((rank) => [
        rank.title,
        ...kinds.map(([kind]) => size(rank[kind])),
        size(totalOf(rank)),
        rank.where,
      ]),
    },
  });
}
