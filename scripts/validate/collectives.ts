/** Predicted collectives beside measured ones, as a table for people and a section of `docs/ACCURACY.md`. */

import { type CollectiveKind, collectiveKinds } from '../../server/src/communication/collectiveKind.ts';
import { type CollectiveTime, collectiveTime } from '../../server/src/communication/collectiveTime.ts';
import { placeGpus } from '../../server/src/communication/placement.ts';
import { bytes } from '../../server/src/model/units.ts';
import { quantile } from '../calibrate/descend.ts';
import { type MeasuredRow, numberIn, readMeasured } from '../measured/readMeasured.ts';
import { clusterOfRow } from './collectiveClusters.ts';
import { type Statistics, statisticsOf } from './judge.ts';
import { percent } from './percent.ts';

export interface JudgedCollective {
  readonly row: MeasuredRow;
  readonly predicted: CollectiveTime;
  /** Seconds. */
  readonly measured: number;
}

export interface CollectiveEntry {
  readonly title: string;
  readonly statistics: Statistics;
  readonly rows: number;
  /** Share of the measured times that lie in the range of the prediction. */
  readonly inRange: number;
}

/** From this size start-up no longer decides on most systems; the aim is set for it. */
const large = 2 ** 20;

/** Held rows of 1 MiB and more: one entry for each source and system, and one for all of them. */
export function judgeCollectives(folder: string): readonly CollectiveEntry[] {
  const judged = readMeasured(folder, 'collectives.csv')
    .filter((row) => row.role === 'held' && numberIn(row, 'bytes') >= large)
    .map(judge);
  const groups = new Map<string, JudgedCollective[]>();
  for (const one of judged) groups.set(titleOf(one.row), [...(groups.get(titleOf(one.row)) ?? []), one]);
  return [['all of them', judged] as const, ...groups].map(([title, rows]) => ({
    title,
    rows: rows.length,
    statistics: statisticsOf(rows.map(({ predicted, measured }) => predicted.time / measured)),
    inRange:
      rows.filter(({ predicted: { low, high }, measured }) => low <= measured && measured <= high).length /
      rows.length,
  }));
}

/** Every row, whatever its role and size. */
export const everyCollective = (folder: string): readonly JudgedCollective[] =>
  readMeasured(folder, 'collectives.csv').map(judge);

function judge(row: MeasuredRow): JudgedCollective {
  const predicted = collectiveTime(
    clusterOfRow(row.cluster ?? ''),
    placeGpus(numberIn(row, 'gpus'), numberIn(row, 'nodes')),
    {
      kind: kindOf(row.collective),
      bytes: bytes(numberIn(row, 'bytes')),
      ...(row.library === 'open-mpi' ? { library: row.library } : {}),
    },
  );
  return { row, predicted, measured: numberIn(row, 'microseconds') * 1e-6 };
}

function kindOf(text: string | undefined): CollectiveKind {
  const kind = collectiveKinds.find((candidate) => candidate === text);
  if (kind === undefined) throw new Error(`no collective is called ${text}`);
  return kind;
}

/** A source that has one size of message is one line for all numbers of nodes. */
const titleOf = ({ source, cluster, collective, gpus, nodes }: MeasuredRow): string =>
  source === 'nanotron'
    ? `${source}, ${cluster}, ${collective}, 256 MiB on 2 to 64 nodes`
    : `${source}, ${cluster}, ${collective}, ${gpus} GPUs on ${nodes}`;

export function collectiveSection(entries: readonly CollectiveEntry[]): string {
  const lines = entries.map(
    ({ title, rows, statistics: { median, ninetieth, worst, middle }, inRange }) =>
      `| ${title} | ${rows} | ${percent(median)} | ${percent(ninetieth)} | ${percent(worst)} | ${middle.toFixed(2)} | ${percent(inRange)} |`,
  );
  const [all, ...systems] = entries;
  const middles = systems.map(({ statistics: { median } }) => median).sort((a, b) => a - b);
  const aim = all !== undefined && all.statistics.median <= 0.2 ? 'reached' : 'not reached';
  return `## Collectives

Messages of 1 MiB and more on healthy systems, by \`measured/collectives.csv\`; rows that gave a constant are not judged.
GPUs *on* so many nodes; a node of GB200 is a rack. The target is a median of at most 20 % over all rows: ${aim}.
Sources differ in how many sizes they list: with every line of the table counted once, the median of the medians is
${percent(quantile(middles, 0.5))}. Where the bandwidth of a system was set by its own largest message (GPUs in pairs, DeepBench's
GPUs of one generation), its other rows show that the form holds, not that the bandwidth was foreseen.

| data | rows | median | p90 | worst | median ratio | in range |
| --- | --: | --: | --: | --: | --: | --: |
${lines.join('\n')}

On p5.48xlarge, all-reduces over 4 and 8 nodes of one table (awscomm) set the bandwidth of rings and trees; 2, 16 and 32 nodes, and
all-to-all, are judged. The other table (nanotron) holds means over many runs on a busy cluster. They are 1.7 to 7 times slower
than the same collectives alone, the more nodes the slower, for reasons it does not give. The range over more than two nodes of
AWS is therefore wide upwards: it grows with the root of the nodes.

What NCCL's rings lose behind NVSwitch was looked into because two GPUs got three quarters of the bandwidth of eight, so rows of
dgx-a100 and dgx-h100 are not wholly unseen; it comes from the order of NCCL's primitives, nothing was fitted. That NVLink
SHARP between nodes waits for two rounds was looked into because P5 was a third too fast up to 128 MiB; the rounds are
NCCL's own sizes, and two nodes of Azure and eight of CoreWeave show the same, none of them wholly unseen. That every level of
a tree waits for a round was looked into because 4 to 32 nodes of P5 were up to half too fast; P4d, Azure and GB200 are nearer
by it, too. What is not reached, and why: P4d is still too fast from 4 to 32 MiB; 16 nodes over Omni-Path lost a third of what
four had; 20 racks of GB200 start in 4.6 ms, as a ring of their 1,440 GPUs would, where a tree is predicted.
`;
}
