/** Predictions of the rows of a data set beside what was measured, and what is said of them all. */

import type { OpenedModel } from '../../server/src/analysis/openedModel.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { timelineOf } from '../../server/src/estimate/plan/plannedTimes.ts';
import { planStep } from '../../server/src/estimate/plan/planStep.ts';
import type { StepPlan } from '../../server/src/estimate/plan/stepPlan.ts';
import { stepRange } from '../../server/src/estimate/plan/surerPlan.ts';
import { launchOf } from '../../server/src/frameworks/pytorch/eagerLaunch.ts';
import type { Range } from '../../server/src/model/estimate.ts';
import type { ScenarioRequest } from '../../server/src/model/scenario.ts';
import { quantile } from '../calibrate/descend.ts';
import { type StepShares, sharesOf, stepShares } from '../calibrate/stepDoubts.ts';
import { type MeasuredRow, numberIn } from '../measured/readMeasured.ts';
import type { DataSet } from './dataSets.ts';
import type { OpenGraph } from './graphs.ts';

export interface JudgedRow {
  readonly row: MeasuredRow;
  /** Seconds. */
  readonly predicted: number;
  readonly measured: number;
  /** 80 % of what is measured should lie within. */
  readonly range: Range;
  readonly shares: StepShares;
  /** What the FLOPs would take at the peak of the number types they run in. */
  readonly atPeak: number;
}

export interface Judged {
  readonly rows: readonly JudgedRow[];
  /** Rows without a graph that says what was measured, or whose cost is not known whole. */
  readonly left: readonly MeasuredRow[];
}

/** `undefined` where a graph that is needed is absent. */
export function judgeDataSet(
  set: DataSet,
  rows: readonly MeasuredRow[],
  open: OpenGraph,
): Judged | undefined {
  if (set.hostOf === undefined) {
    const tried = tryDataSet(set, rows.filter(set.accepts), open, [undefined]);
    return tried && { left: tried.left, rows: tried.trials[0] ?? [] };
  }
  const tried = tryDataSet(set, rows.filter(set.hostOf), open, launchTimes);
  if (tried === undefined) return undefined;
  const { trials, left } = tried;
  const first = (trials[0] ?? []).filter(({ row }) => set.accepts(row));
  const groups = new Set(first.map(({ row }) => groupOf(row)));
  const judged = [...groups].flatMap((group) => {
    const [machine, family] = group.split(' ');
    const others = ({ row }: JudgedRow): boolean =>
      row.gpu === machine && familyOf(row.model ?? '') !== family;
    const errors = trials.map((trial) => meanLogError(trial.filter(others)));
    const told = errors.findIndex((error) => error <= Math.min(...errors) + indifferent);
    return trials[told]?.filter(({ row }) => set.accepts(row) && groupOf(row) === group) ?? [];
  });
  return { rows: judged, left: left.filter(set.accepts) };
}

/** What is judged by one launch time: a family of models on a machine. */
const groupOf = ({ gpu = '', model = '' }: MeasuredRow): string => `${gpu} ${familyOf(model)}`;

/** Networks that do not wait for their host tell next to nothing of it: a slower one has to explain more than this. */
const indifferent = 0.02;

/** Microseconds, ascending. */
const launchTimes: readonly number[] = [5, 8, 12, 18, 27, 40, 60, 90];

/** Letters before the first number: `resnet`, `densenet`, `vgg`. */
const familyOf = (model: string): string => /^[a-z]+/.exec(model)?.[0] ?? model;

const meanLogError = (rows: readonly JudgedRow[]): number =>
  rows.reduce((sum, { predicted, measured }) => sum + Math.abs(Math.log(predicted / measured)), 0) /
  rows.length;

/** The rows predicted with each of the launch times of the host, in microseconds; `undefined` is the framework's own. */
function tryDataSet(
  { graph, dimensions, request, cluster: clusterOf, beside }: DataSet,
  rows: readonly MeasuredRow[],
  open: OpenGraph,
  launches: readonly (number | undefined)[],
): { readonly trials: readonly (readonly JudgedRow[])[]; readonly left: readonly MeasuredRow[] } | undefined {
  const trials: JudgedRow[][] = launches.map(() => []);
  const left: MeasuredRow[] = [];
  for (const row of rows.toSorted((a, b) => (graph(a) ?? '').localeCompare(graph(b) ?? ''))) {
    const path = graph(row);
    if (path === undefined) {
      left.push(row);
      continue;
    }
    const opened = open(path, dimensions?.(row));
    if (opened === undefined) return undefined;
    const { training, scenario, cluster, cost } = estimateModel(
      opened,
      [request(row), ...lossOf(opened)],
      clusterOf?.(row),
    );
    const { mfu = null, time } = cost?.totals ?? {};
    if (
      mfu === null ||
      time?.step == null ||
      training === undefined ||
      scenario === undefined ||
      cluster === undefined
    ) {
      left.push(row);
      continue;
    }
    const atPeak = mfu * time.step;
    const plan = planStep(training, scenario, cluster);
    const more = beside?.(row) ?? 0;
    for (const [index, launch] of launches.entries()) {
      const hosted = launch === undefined ? plan : withLaunch(plan, launch);
      const { low, high } = stepRange(hosted);
      const { step } = timelineOf(hosted, 'middle');
      trials[index]?.push({
        row,
        predicted: step + more,
        measured: numberIn(row, 'milliseconds') * 1e-3,
        range: { low: low + more, high: high + more },
        shares: sharesOf(stepShares(hosted), step / (step + more)),
        atPeak,
      });
    }
  }
  return { trials, left };
}

/** What a config says of its loss. */
const lossOf = ({ scenario: { loss } }: OpenedModel): readonly ScenarioRequest[] =>
  loss === undefined ? [] : [{ loss }];

const withLaunch = (plan: StepPlan, launch: number): StepPlan => ({
  ...plan,
  behaviour: { ...plan.behaviour, launch: launchOf(launch * 1e-6) },
});

export interface Statistics {
  readonly mean: number;
  readonly median: number;
  readonly ninetieth: number;
  readonly worst: number;
  /** Of the rows, within ±10 % and ±20 %. */
  readonly withinTen: number;
  readonly withinTwenty: number;
  /** Median of predicted / measured: which way the errors go. */
  readonly middle: number;
}

/** Of `predicted / measured`. */
export function statisticsOf(ratios: readonly number[]): Statistics {
  const errors = ratios.map((ratio) => Math.abs(ratio - 1)).sort((a, b) => a - b);
  const share = (most: number): number => errors.filter((error) => error <= most).length / errors.length;
  return {
    mean: errors.reduce((sum, error) => sum + error, 0) / errors.length,
    median: quantile(errors, 0.5),
    ninetieth: quantile(errors, 0.9),
    worst: errors.at(-1) ?? Number.NaN,
    withinTen: share(0.1),
    withinTwenty: share(0.2),
    middle: quantile(
      ratios.toSorted((a, b) => a - b),
      0.5,
    ),
  };
}

export const ratiosOf = (rows: readonly JudgedRow[]): readonly number[] =>
  rows.map(({ predicted, measured }) => predicted / measured);

/** FLOPs over the peak at one utilisation, the median of the rows themselves: what needs no model at all. */
export function baselineRatios(rows: readonly Pick<JudgedRow, 'atPeak' | 'measured'>[]): readonly number[] {
  const shares = rows.map(({ atPeak, measured }) => atPeak / measured).sort((a, b) => a - b);
  const utilisation = quantile(shares, 0.5);
  return rows.map(({ atPeak, measured }) => atPeak / utilisation / measured);
}
