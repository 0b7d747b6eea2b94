/** The cost of a step as the benches ask for it. */

import type { OpenedModel } from '../../server/src/analysis/openedModel.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import type { ScenarioRequest } from '../../server/src/model/scenario.ts';
import type { StepCost } from '../../server/src/model/stepCost.ts';

/** Parts of it may be worked out when they are read: a bench says which it reads. */
export function costOf(opened: OpenedModel, ...requests: readonly ScenarioRequest[]): StepCost {
  const { cost } = estimateModel(opened, requests);
  if (cost === undefined) throw new Error('a model of the benches was not costed');
  return cost;
}

/** With all that a table or an editor shows: what the allocator reserves is worked out for other reports alone. */
export function wholeCostOf(opened: OpenedModel, ...requests: readonly ScenarioRequest[]): unknown {
  const { totals, fits, layers, findings, messages } = costOf(opened, ...requests);
  return [totals.time.range, fits, layers, findings, messages];
}
