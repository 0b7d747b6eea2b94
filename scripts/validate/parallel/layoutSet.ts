/** A table of measured layouts: the rows that are predicted, and why the others are not. */

import { openLayerSpec } from '../../../server/src/analysis/openModel.ts';
import type { ClusterProfile } from '../../../server/src/hardware/clusterProfile.ts';
import type { ScenarioRequest } from '../../../server/src/model/scenario.ts';
import type { StepCost } from '../../../server/src/model/stepCost.ts';
import { type MeasuredRow, numberIn } from '../../measured/readMeasured.ts';
import { type ParallelRow, predictRow } from './parallelRow.ts';

/** A row with `gpus`, `micro_batch`, `grad_accum` and `step_s`; or why it is not predicted. */
export type LayoutCase =
  | {
      readonly row: MeasuredRow;
      /** A layer spec. */
      readonly spec: string;
      readonly cluster: ClusterProfile;
      readonly request: ScenarioRequest;
      /** What is compared with `peak_memory_gb`; left out, the peak of the GPU that needs the most. */
      readonly peakOf?: (cost: StepCost) => number;
    }
  | { readonly left: string };

export interface LayoutSet {
  readonly title: string;
  /** Times of a sample are judged over those of one GPU: by rows of this key. */
  readonly overOneGpu?: (row: MeasuredRow) => string;
  readonly cases: readonly LayoutCase[];
}

export interface JudgedLayouts {
  readonly title: string;
  readonly rows: readonly ParallelRow[];
  /** Rows by why they are not predicted. */
  readonly left: ReadonlyMap<string, number>;
}

/** Specs are opened once. */
export function judgeLayouts({ title, cases, overOneGpu }: LayoutSet): JudgedLayouts {
  const left = new Map<string, number>();
  const leave = (why: string): readonly ParallelRow[] => {
    left.set(why, (left.get(why) ?? 0) + 1);
    return [];
  };
  const opened = new Map<string, ReturnType<typeof openLayerSpec>>();
  const rows = cases.flatMap((each) => {
    if ('left' in each) return leave(each.left);
    const model = opened.get(each.spec) ?? openLayerSpec(each.spec, 'model.layers.yaml');
    opened.set(each.spec, model);
    const predicted = predictRow(each.row, model, each.cluster, each.request, each.peakOf);
    return predicted.length === 0 ? leave('refused') : predicted;
  });
  if (overOneGpu === undefined) return { title, rows, left };
  const samples = rows.map((row) => ofSample(row));
  const bases = new Map(
    samples.filter(({ row }) => row.gpus === '1').map((base) => [overOneGpu(base.row), base]),
  );
  return {
    title,
    left,
    rows: samples.flatMap((row) => {
      const base = bases.get(overOneGpu(row.row));
      if (base === undefined) return leave('without a step of one GPU');
      if (base === row) return leave('of one GPU');
      return [{ ...row, predicted: row.predicted / base.predicted, measured: row.measured / base.measured }];
    }),
  };
}

function ofSample(row: ParallelRow): ParallelRow {
  const samples = numberIn(row.row, 'global_batch');
  return { ...row, predicted: row.predicted / samples, measured: row.measured / samples };
}
