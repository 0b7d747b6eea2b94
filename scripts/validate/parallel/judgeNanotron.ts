/** The sweep of nanotron by default settings, and with what is known or fitted of its cluster. */

import { join } from 'node:path';
import { entryAt } from '../../../server/src/model/at.ts';
import { type MeasuredRow, numberIn } from '../../measured/readMeasured.ts';
import type { OpenGraph } from '../graphs.ts';
import { nanotronCluster } from './nanotronCluster.ts';
import { fitHostTimes, type HostTimes } from './nanotronFit.ts';
import { nanotronTable, predictNanotron, usualSetting } from './nanotronRows.ts';
import type { ParallelRow } from './parallelRow.ts';

export interface JudgedNanotron {
  readonly usual: readonly ParallelRow[];
  /** With the network by the study's own collectives, and times of the host that were fitted to the other sizes of the model. */
  readonly fitted: readonly ParallelRow[];
  /** Microseconds. */
  readonly latency: number;
  readonly hostTimes: ReadonlyMap<string, HostTimes>;
  /** Of the table, the rows that were left out among them. */
  readonly all: number;
  readonly unlike: readonly UnlikePairs[];
}

/** Of layouts that were run with ZeRO 0 and 1, those whose times differ by more than half. */
interface UnlikePairs {
  readonly pipelined: boolean;
  readonly unlike: number;
  readonly pairs: number;
}

/** Every row of so many is predicted for the page. */
const everyNanotronRow = 8;

/** `undefined` where the table is absent. */
export function judgeNanotron(
  root: string,
  shared: string,
  open: OpenGraph,
  every = everyNanotronRow,
): JudgedNanotron | undefined {
  const all = nanotronTable(shared);
  if (all === undefined) return undefined;
  const study = nanotronCluster(join(root, 'measured'));
  const everyOf = (count: number): readonly MeasuredRow[] => all.filter((_, index) => index % count === 0);
  const hostTimes = fitHostTimes(everyOf(everyNanotronRow), study, (rows, settingOf) =>
    predictNanotron(rows, open, settingOf),
  );
  const rows = everyOf(every);
  return {
    usual: predictNanotron(rows, open, usualSetting),
    fitted: predictNanotron(rows, open, ({ model = '' }) => ({
      cluster: study.cluster,
      ...entryAt(hostTimes, model),
    })),
    latency: study.latency,
    hostTimes,
    all: all.length,
    unlike: [unlikePairs(all, true), unlikePairs(all, false)],
  };
}

function unlikePairs(rows: readonly MeasuredRow[], pipelined: boolean): UnlikePairs {
  const times = new Map<string, Map<string, number>>();
  for (const row of rows) {
    if ((row.pp !== '1') !== pipelined) continue;
    const key = [row.model, row.dp, row.tp, row.pp, row.micro_batch].join(' ');
    const known = times.get(key) ?? new Map<string, number>();
    times.set(key, known.set(row.zero_stage ?? '', numberIn(row, 'step_s')));
  }
  const pairs = [...times.values()].filter(({ size }) => size === 2).map((own) => [...own.values()]);
  const unlike = pairs.filter((pair) => Math.max(...pair) > 1.5 * Math.min(...pair)).length;
  return { pipelined, unlike, pairs: pairs.length };
}
