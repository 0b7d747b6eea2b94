/**
 * Two times of the host that nanotron's study does not tell: of a kernel launch, and what a call of a collective took longer in
 * pipelines over several nodes. They are fitted to layouts of two sizes of the model and judge those of the third.
 */

import type { MeasuredRow } from '../../measured/readMeasured.ts';
import { statisticsOf } from '../judge.ts';
import type { StudyCluster } from './nanotronCluster.ts';
import { isPipelineOverNodes, type NanotronSetting } from './nanotronRows.ts';
import type { ParallelRow } from './parallelRow.ts';

export interface HostTimes {
  /** Microseconds. */
  readonly launch: number;
  readonly callPerGpu: number;
}

const launches = [50, 60, 70, 80, 90, 100];
const calls = [0, 150, 200, 250, 300, 350];

type Predict = (
  rows: readonly MeasuredRow[],
  settingOf: (row: MeasuredRow) => NanotronSetting,
) => readonly ParallelRow[];

/** By the size of the model that they were not fitted to. Launches decide where nothing else takes longer. */
export function fitHostTimes(
  rows: readonly MeasuredRow[],
  { cluster }: StudyCluster,
  predict: Predict,
): ReadonlyMap<string, HostTimes> {
  const models = [...new Set(rows.map(({ model = '' }) => model))];
  const alone = rows.filter(({ pp, tp }) => pp === '1' && tp !== '1');
  const pipelines = rows.filter(isPipelineOverNodes);
  const byLaunch = launches.map((launch) => ({ launch, rows: predict(alone, () => ({ cluster, launch })) }));
  const byCall = new Map<
    number,
    readonly { readonly callPerGpu: number; readonly rows: readonly ParallelRow[] }[]
  >();
  return new Map(
    models.map((held) => {
      const { launch } = bestOf(byLaunch, held);
      const known =
        byCall.get(launch) ??
        calls.map((callPerGpu) => ({
          callPerGpu,
          rows: predict(pipelines, () => ({ cluster, launch, callPerGpu })),
        }));
      byCall.set(launch, known);
      return [held, { launch, callPerGpu: bestOf(known, held).callPerGpu }];
    }),
  );
}

/** By the median error without the rows of `held`. */
function bestOf<Candidate extends { readonly rows: readonly ParallelRow[] }>(
  candidates: readonly Candidate[],
  held: string,
): Candidate {
  const errorOf = ({ rows }: Candidate): number =>
    statisticsOf(
      rows.filter(({ row }) => row.model !== held).map(({ predicted, measured }) => predicted / measured),
    ).median;
  return candidates.reduce((best, each) => (errorOf(each) < errorOf(best) ? each : best));
}
