/**
 * Costs of earlier states of a text, for a state of the same analysis: what a step costs depends on that, the scenario
 * and the cluster, and on nothing of how the model is written.
 */

import type { ModelAnalysis, TrainingGraph } from '../analysis/modelAnalysis.ts';
import type { ClusterProfile } from '../hardware/clusterProfile.ts';
import { LruCache } from '../model/lruCache.ts';
import type { LayerMeasurements } from '../model/measurement.ts';
import { isSameContent } from '../model/sameContent.ts';
import type { Scenario } from '../model/scenario.ts';
import type { StepCost } from '../model/stepCost.ts';

/** Everything that a cost depends on; analysis, cluster and measurements are compared as objects. */
export interface CostBasis {
  readonly analysis: ModelAnalysis;
  readonly scenario: Scenario;
  readonly cluster: ClusterProfile;
  readonly measurements: LayerMeasurements | undefined;
}

/** What was found for a basis. */
export interface KnownEstimate {
  readonly training: TrainingGraph;
  /** What the cost is a lower bound for, beside operators of unknown cost. */
  readonly leftOut: readonly string[];
  /** Absent where the scenario has an error. */
  readonly cost: StepCost | undefined;
}

export type EstimateCache = LruCache<CostBasis, KnownEstimate>;

export const estimateCache = (): EstimateCache => new LruCache(isSameBasis);

const isSameBasis = (left: CostBasis, right: CostBasis): boolean =>
  left.analysis === right.analysis &&
  left.cluster === right.cluster &&
  left.measurements === right.measurements &&
  isSameContent(left.scenario, right.scenario);
