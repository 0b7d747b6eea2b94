/** Steps that `layercost benchmark` measured, with all their layers, beside the plans that predict them. */

import { openLayerSpec } from '../../../server/src/analysis/openModel.ts';
import {
  calibrationFile,
  calibrationModel,
  calibrationRuns,
} from '../../../server/src/benchmark/calibration/calibrationModel.ts';
import { type HostTiming, hostTimingOf } from '../../../server/src/benchmark/calibration/fitHost.ts';
import type { KernelTiming } from '../../../server/src/benchmark/calibration/fitKernels.ts';
import { timingsOfRun } from '../../../server/src/benchmark/calibration/timingsOfRun.ts';
import type { TimedStep } from '../../../server/src/benchmark/calibration/waitsForHost.ts';
import { estimateModel } from '../../../server/src/estimate/estimateModel.ts';
import { planStep } from '../../../server/src/estimate/plan/planStep.ts';
import type { StepPlan } from '../../../server/src/estimate/plan/stepPlan.ts';
import { findCluster } from '../../../server/src/hardware/clusters.ts';
import { optimizers, type ScenarioRequest } from '../../../server/src/model/scenario.ts';
import { type Seconds, seconds } from '../../../server/src/model/units.ts';
import { type MeasuredRow, numberIn, readMeasured } from '../../measured/readMeasured.ts';
import type { OpenGraph } from '../graphs.ts';

/** The machine of `measured/benchmarks-h200.csv`. */
export const benchmarkedGpu = 'h200-sxm';

export interface BenchmarkRun {
  readonly name: string;
  /** Runs of one file are left out together; `kernels` are those that `layercost calibrate` chooses. */
  readonly model: string;
  readonly plan: StepPlan;
  readonly measured: TimedStep & { readonly step: { readonly whole: Seconds; readonly again: Seconds } };
  readonly timings: readonly KernelTiming[];
  /** Of the step: bytes, measured and predicted. */
  readonly peak: { readonly measured: number; readonly predicted: number };
  readonly host: HostTiming | undefined;
}

export const kernelsModel = 'kernels';

/** `undefined` where a graph is absent. */
export function benchmarkRuns(folder: string, open: OpenGraph): readonly BenchmarkRun[] | undefined {
  const layers = new Map<string, MeasuredRow[]>();
  for (const layer of readMeasured(folder, 'benchmark-layers-h200.csv')) {
    const own = layers.get(layer.run ?? '');
    if (own === undefined) layers.set(layer.run ?? '', [layer]);
    else own.push(layer);
  }
  const runs: BenchmarkRun[] = [];
  for (const row of readMeasured(folder, 'benchmarks-h200.csv')) {
    const run = runOf(row, layers.get(row.run ?? '') ?? [], open);
    if (run === undefined) return undefined;
    runs.push(run);
  }
  return runs;
}

function runOf(row: MeasuredRow, layers: readonly MeasuredRow[], open: OpenGraph): BenchmarkRun | undefined {
  const name = row.run ?? '';
  const graph = row.graph ?? '';
  const request = requestOf(row);
  const kernels = calibrationRuns('cuda', 60).find((each) => each.request.batch === request.batch);
  const opened =
    graph === ''
      ? openLayerSpec(calibrationModel, calibrationFile, { dimensions: kernels?.request.dimensions })
      : open(graph);
  if (opened === undefined) return undefined;
  const { training, scenario, cost } = estimateModel(opened, [
    request,
    ...(graph === '' && kernels !== undefined ? [kernels.request] : []),
  ]);
  const cluster = findCluster(benchmarkedGpu);
  if (training === undefined || scenario === undefined || cost === undefined || cluster === undefined)
    throw new Error(`${name} is not costed`);
  const plan = planStep(training, scenario, cluster);
  const time = (column: string): Seconds => seconds(numberIn(row, column) * 1e-6);
  const measured = {
    layers: new Map(layers.map((layer) => [layer.layer ?? '', timesOf(layer)])),
    step: { whole: time('step'), again: time('again'), update: time('update'), host: time('host') },
    gradientSums: { count: numberIn(row, 'summed'), seconds: time('sums') },
  };
  return {
    name,
    model: graph === '' ? kernelsModel : graph,
    plan,
    measured,
    timings: timingsOfRun(plan, measured),
    peak: { measured: numberIn(row, 'allocated'), predicted: cost.totals.memory.peak },
    host: hostTimingOf(plan, measured),
  };
}

function requestOf(row: MeasuredRow): ScenarioRequest {
  const optimizer = optimizers.find((each) => each === row.optimizer);
  if (optimizer === undefined) throw new Error(`${row.run} has no optimizer`);
  return {
    cluster: benchmarkedGpu,
    gpus: 1,
    nodes: 1,
    batch: numberIn(row, 'batch'),
    precision: 'bf16',
    optimizer,
    framework: {
      name: 'pytorch-ddp',
      options: row.layout === 'channels-last' ? { 'memory-format': 'channels-last' } : {},
    },
  };
}

function timesOf(row: MeasuredRow) {
  const time = (column: string): Seconds | undefined =>
    row[column] === '' ? undefined : seconds(numberIn(row, column) * 1e-6);
  const [forward, backward] = [time('forward'), time('backward')];
  const [dataGradient, weightGradient] = [time('data'), time('weights')];
  return {
    ...(forward === undefined ? {} : { forward }),
    ...(backward === undefined ? {} : { backward }),
    ...(dataGradient === undefined ? {} : { dataGradient }),
    ...(weightGradient === undefined ? {} : { weightGradient }),
  };
}
