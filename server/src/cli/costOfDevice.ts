/** The step of a benchmark as it is predicted for the device that ran, whatever the scenario's cluster is. */

import type { BenchmarkDevice } from '../benchmark/deviceSchema.ts';
import { scenarioOfDevice } from '../benchmark/scenarioOfDevice.ts';
import type { ClusterProfile } from '../hardware/clusterProfile.ts';
import type { Scenario, ScenarioRequest } from '../model/scenario.ts';
import type { StepCost } from '../model/stepCost.ts';
import { costModelFile, type ModelFile } from './costFile.ts';

/**
 * What one of the GPUs that ran is predicted to take, in the precision that ran; `undefined` where it has no profile.
 * `machine` is that of the device where it was calibrated.
 */
export function costOfDevice(
  file: ModelFile,
  request: ScenarioRequest,
  scenario: Scenario,
  device: BenchmarkDevice,
  machine?: ClusterProfile,
): StepCost | undefined {
  const own = scenarioOfDevice(scenario, device, machine);
  if (own === undefined) return undefined;
  const { globalBatch: _, ...asked } = request;
  return costModelFile({ ...file, customCluster: own.cluster }, { ...asked, ...own.request }).cost;
}
