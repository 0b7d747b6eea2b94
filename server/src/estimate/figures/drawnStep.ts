/** What of a step is drawn: the resources of one worker, or the ranks of a pipeline, each with what it does when. */

import type { TrainingGraph } from '../../analysis/modelAnalysis.ts';
import type { ClusterProfile } from '../../hardware/clusterProfile.ts';
import { itemAt } from '../../model/at.ts';
import type { LayerMeasurements } from '../../model/measurement.ts';
import type { Scenario } from '../../model/scenario.ts';
import type { StepTimeline } from '../../schedule/stepTimeline.ts';
import { type LaidOutStep, layOutStep } from '../parallel/laidOutStep.ts';
import { timelineOf } from '../plan/plannedTimes.ts';
import { planStep } from '../plan/planStep.ts';
import type { StepPlan } from '../plan/stepPlan.ts';
import { withFoundBlocks } from '../withFoundBlocks.ts';

export type DrawnStep =
  | { readonly kind: 'worker'; readonly plan: StepPlan; readonly timeline: StepTimeline }
  | { readonly kind: 'pipeline'; readonly step: LaidOutStep };

/** Of GPUs that share a copy of the model without a pipeline, all do what one does. `undefined` where the layout is none. */
export function drawnStep(
  training: TrainingGraph,
  scenario: Scenario,
  cluster: ClusterProfile,
  measurements?: LayerMeasurements,
): DrawnStep | undefined {
  const { parallel } = scenario;
  if (parallel === undefined)
    return worker(planStep(withFoundBlocks(training, scenario), scenario, cluster, measurements));
  const step = layOutStep(training, scenario, parallel, cluster);
  if (step === undefined) return undefined;
  return step.plan.stages.length === 1
    ? worker(itemAt(step.plan.stages, 0).plan)
    : { kind: 'pipeline', step };
}

const worker = (plan: StepPlan): DrawnStep => ({
  kind: 'worker',
  plan,
  timeline: timelineOf(plan, 'middle'),
});
