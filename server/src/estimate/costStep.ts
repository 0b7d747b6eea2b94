/** The cost of a step: of workers that each have a copy of the model, or of several that share one. */

import type { TrainingGraph } from '../analysis/modelAnalysis.ts';
import type { ClusterProfile } from '../hardware/clusterProfile.ts';
import type { LayerMeasurements } from '../model/measurement.ts';
import type { Scenario } from '../model/scenario.ts';
import type { StepCost } from '../model/stepCost.ts';
import { finish, type Steps } from '../model/steps.ts';
import type { Prefill } from './decoding/decodeCost.ts';
import { estimateStep } from './estimateStep.ts';
import { estimateParallelStep } from './parallel/estimateParallelStep.ts';
import { withFoundBlocks } from './withFoundBlocks.ts';

/** `measurements` and `leftOut` are those of `estimateStep`; nothing measured is taken for workers that share a model. */
export const costStep = (...asked: Parameters<typeof costInSteps>): StepCost | undefined =>
  finish(costInSteps(...asked));

/** The same in steps: what stages of a layout are planned by, one by one. */
export function* costInSteps(
  training: TrainingGraph,
  scenario: Scenario,
  cluster: ClusterProfile,
  measurements?: LayerMeasurements,
  leftOut: readonly string[] = [],
  prefill?: () => Prefill | undefined,
): Steps<StepCost | undefined> {
  return scenario.parallel === undefined
    ? estimateStep(withFoundBlocks(training, scenario), scenario, cluster, measurements, leftOut, prefill)
    : yield* estimateParallelStep(training, scenario, scenario.parallel, cluster, leftOut);
}
