/** A benchmarked model as it is predicted for the device that ran, for an editor. */

import type { OpenedModel } from '../analysis/openedModel.ts';
import type { BenchmarkDevice } from '../benchmark/deviceSchema.ts';
import { scenarioOfDevice } from '../benchmark/scenarioOfDevice.ts';
import { estimateInSteps } from '../estimate/estimateModel.ts';
import type { Scenario, ScenarioRequest } from '../model/scenario.ts';
import type { StepCost } from '../model/stepCost.ts';
import type { Steps } from '../model/steps.ts';

/** `undefined` where the device has no profile. `request` is that of the settings. */
export function* costOfDevice(
  opened: OpenedModel,
  request: ScenarioRequest,
  scenario: Scenario,
  device: BenchmarkDevice,
): Steps<StepCost | undefined> {
  const own = scenarioOfDevice(scenario, device);
  if (own === undefined) return undefined;
  const { globalBatch: _, ...ofModel } = opened.scenario;
  const { globalBatch: __, ...ofSettings } = request;
  return (yield* estimateInSteps(opened, [own.request, ofModel, ofSettings], own.cluster)).cost;
}
