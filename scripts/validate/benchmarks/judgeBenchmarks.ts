/** Benchmarks as they are predicted, without calibration and calibrated by others. */

import { fitFactors } from '../../../server/src/benchmark/calibration/fitFactors.ts';
import { fitHost } from '../../../server/src/benchmark/calibration/fitHost.ts';
import { hostOfProgram } from '../../../server/src/benchmark/calibration/hostOfProgram.ts';
import { timesOf } from '../../../server/src/estimate/plan/plannedTimes.ts';
import { planStep } from '../../../server/src/estimate/plan/planStep.ts';
import { stepRange } from '../../../server/src/estimate/plan/surerPlan.ts';
import type { ClusterProfile } from '../../../server/src/hardware/clusterProfile.ts';
import type { KernelRates } from '../../../server/src/hardware/kernelRates.ts';
import { kernelTime } from '../../../server/src/hardware/kernelTime.ts';
import type { KernelWork } from '../../../server/src/hardware/kernelWork.ts';
import type { Range } from '../../../server/src/model/estimate.ts';
import { microseconds, type Seconds } from '../../../server/src/model/units.ts';
import { type BenchmarkRun, kernelsModel } from './benchmarkRuns.ts';

export interface PredictedRun {
  readonly step: Seconds;
  readonly range: Range<Seconds>;
  /** Median of |predicted / measured − 1| of its layers. */
  readonly forward: number;
  readonly backward: number;
}

export interface JudgedBenchmark {
  readonly run: BenchmarkRun;
  readonly uncalibrated: PredictedRun;
  /** By all others and the kernels. */
  readonly byOthers: PredictedRun;
  readonly byKernels: PredictedRun;
}

export interface JudgedThree {
  readonly models: readonly string[];
  readonly runs: readonly { readonly run: BenchmarkRun; readonly predicted: PredictedRun }[];
}

export function judgeBenchmarks(runs: readonly BenchmarkRun[]): readonly JudgedBenchmark[] {
  const kernels = runs.filter(({ model }) => model === kernelsModel);
  return networksOf(runs).map((run) => {
    const others = runs.filter(({ model }) => model !== run.model);
    return {
      run,
      uncalibrated: predictRun(run, run.plan.cluster),
      byOthers: predictRun(run, calibrated(run.plan.cluster, others)),
      byKernels: predictRun(run, calibrated(run.plan.cluster, kernels)),
    };
  });
}

/** Fitted to three networks, without the kernels; the others are judged. Each network is in some of them. */
export function judgeThrees(runs: readonly BenchmarkRun[]): readonly JudgedThree[] {
  const models = [...new Set(networksOf(runs).map(({ model }) => model))].sort();
  return models.map((_, first) => {
    const three = strides.map((stride) => models[(first + stride) % models.length] ?? '');
    const fitted = runs.filter(({ model }) => three.includes(model));
    return {
      models: three,
      runs: networksOf(runs)
        .filter(({ model }) => !three.includes(model))
        .map((run) => ({ run, predicted: predictRun(run, calibrated(run.plan.cluster, fitted)) })),
    };
  });
}

/** Of networks in the order of their names: near ones are alike. */
const strides = [0, 5, 11];

const networksOf = (runs: readonly BenchmarkRun[]): readonly BenchmarkRun[] =>
  runs.filter(({ model }) => model !== kernelsModel);

function calibrated(cluster: ClusterProfile, runs: readonly BenchmarkRun[]): ClusterProfile {
  const kinds: ReadonlyMap<string, KernelRates> = fitFactors(
    runs,
    (work) => kernelTime(cluster.gpu, work).time,
  );
  const launch = fitHost(
    runs.flatMap(({ host }) => host ?? []),
    'benchmarks',
  );
  const { microseconds: middle = Number.NaN, low = middle, high = middle } = launch ?? {};
  return {
    ...cluster,
    gpu: { ...cluster.gpu, kernels: { source: 'benchmarks', kinds } },
    host: launch && {
      title: 'host',
      cores: undefined,
      memory: undefined,
      gpusPerHostLink: undefined,
      ...cluster.host,
      launch: {
        time: { middle: microseconds(middle), low: microseconds(low), high: microseconds(high) },
        source: 'benchmarks',
      },
    },
  };
}

function predictRun({ plan, measured }: BenchmarkRun, cluster: ClusterProfile): PredictedRun {
  const { training, scenario, lowered } = plan;
  const own = planStep(training, scenario, hostOfProgram(cluster));
  const sumOf = (kernels: readonly KernelWork[]): number =>
    kernels.reduce((sum, work) => sum + kernelTime(cluster.gpu, work).time, 0);
  const errors = { forward: [] as number[], backward: [] as number[] };
  for (const { name, operators } of training.analysis.layers) {
    const times = measured.layers.get(name);
    const of = (part: 'forward' | 'backwardData' | 'backwardWeight') =>
      operators.flatMap((index) => lowered.operators[index]?.[part] ?? []);
    const note = (list: number[], kernels: readonly KernelWork[], time: Seconds | undefined): void => {
      const predicted = sumOf(kernels);
      if (time !== undefined && time > shortest && predicted > 0) list.push(Math.abs(predicted / time - 1));
    };
    note(errors.forward, of('forward'), times?.forward);
    // Sums of gradients of several layers are part of no layer alone.
    const data = of('backwardData').filter(({ purpose }) => purpose !== 'gradient sum');
    note(errors.backward, [...data, ...of('backwardWeight')], times?.backward);
  }
  return {
    step: timesOf(own, 'middle').step,
    range: stepRange(own),
    forward: medianOf(errors.forward),
    backward: medianOf(errors.backward),
  };
}

/** Of shorter layers a launch is most. */
const shortest = 20e-6;

export const medianOf = (values: readonly number[]): number => {
  const sorted = values.toSorted((one, other) => one - other);
  const [lower, upper] = [sorted[(sorted.length - 1) >> 1], sorted[sorted.length >> 1]];
  return lower === undefined || upper === undefined ? Number.NaN : (lower + upper) / 2;
};
