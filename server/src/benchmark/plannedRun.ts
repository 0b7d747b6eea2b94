/** What a benchmark runs of a costed model, also with another batch. */

import type { TrainingGraph } from '../analysis/modelAnalysis.ts';
import { estimateModel, type ModelEstimate } from '../estimate/estimateModel.ts';
import type { Scenario } from '../model/scenario.ts';
import type { StepCost } from '../model/stepCost.ts';
import { notRunnable } from './notRunnable.ts';
import { type PlanOptions, planBenchmark } from './planBenchmark.ts';
import type { BenchmarkPlan } from './planSchema.ts';

export interface PlannedRun {
  readonly plan: BenchmarkPlan;
  readonly cost: StepCost;
  readonly training: TrainingGraph;
  readonly scenario: Scenario;
}

/** `undefined` where the model is not costed; `refusal` says why the runner cannot run it. */
export function plannedRun(
  { cost, costed, training, scenario }: ModelEstimate,
  options: PlanOptions,
): PlannedRun | { readonly refusal: string } | undefined {
  if (cost === undefined || training === undefined || scenario === undefined || !costed) return undefined;
  const refusal = notRunnable(training, scenario);
  if (refusal !== undefined) return { refusal };
  return { plan: planBenchmark(training, scenario, options), cost, training, scenario };
}

/** The same with another batch per GPU; `undefined` where it cannot be costed. */
export function plannedWithBatch(
  { asked }: ModelEstimate,
  batch: number,
  options: PlanOptions,
): PlannedRun | undefined {
  const { model, requests, customCluster, measurements } = asked;
  const planned = plannedRun(
    estimateModel(model, [{ batch }, ...requests], customCluster, measurements),
    options,
  );
  return planned === undefined || 'refusal' in planned ? undefined : planned;
}
