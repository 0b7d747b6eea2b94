/** The cost of a step: of workers that each have a copy of the model, or of several that share one. */

import type { TrainingGraph } from '../analysis/modelAnalysis.ts';
import type { ClusterProfile } from '../hardware/clusterProfile.ts';
import type { LayerMeasurements } from '../model/measurement.ts';
import type { Scenario } from '../model/scenario.ts';
import type { StepCost } from '../model/stepCost.ts';
import { finish, type Steps } from '../model/steps.ts';
import type { Prefill } from './decoding/decodeCost.ts';
import { estimateStepInSteps } from './estimateStep.ts';
import { estimateParallelStep } from './parallel/estimateParallelStep.ts';
import { computeStep } from './plan/planStep.ts';
import { withFoundBlocks } from './withFoundBlocks.ts';

/** `measurements` and `leftOut` are those of `estimateStep`; nothing measured is taken for workers that share a model. */
export const costStep = (...asked: Parameters<typeof costInSteps>): StepCost | undefined =>
  finish(costInSteps(...asked));

/** The same in steps: blocks and kernels, then the rest; of a layout, what its stages are planned by, one by one. */
export function* costInSteps(
  training: TrainingGraph,
  scenario: Scenario,
  cluster: ClusterProfile,
  measurements?: LayerMeasurements,
  leftOut: readonly string[] = [],
  prefill?: () => Prefill | undefined,
): Steps<StepCost | undefined> {
  if (scenario.parallel !== undefined)
    return yield* estimateParallelStep(training, scenario, scenario.parallel, cluster, leftOut);
  const found = withFoundBlocks(training, scenario);
  yield;
  // Kernels are kept with the graph, where the step finds them.
  computeStep(found, scenario, cluster);
  yield;
  return yield* estimateStepInSteps(found, scenario, cluster, measurements, leftOut, prefill);
}
