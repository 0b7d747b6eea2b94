/** The scenario of a prediction that may stand beside a measurement: one of the GPUs that ran, as it ran. */

import { type ClusterProfile, singleGpuCluster } from '../hardware/clusterProfile.ts';
import { gpuOfDevice } from '../hardware/gpuOfDevice.ts';
import { precisions, type Scenario, type ScenarioRequest } from '../model/scenario.ts';
import { hostOfProgram } from './calibration/hostOfProgram.ts';
import type { BenchmarkDevice } from './deviceSchema.ts';

interface DeviceScenario {
  /** Goes before every other request, none of which may set a global batch. */
  readonly request: ScenarioRequest;
  /** With the host as the program of a benchmark meets it. */
  readonly cluster: ClusterProfile;
}

/** `undefined` where the device has no profile and `machine`, its own, was not calibrated. */
export function scenarioOfDevice(
  { batchPerGpu, precision }: Pick<Scenario, 'batchPerGpu' | 'precision'>,
  { kind, name, memoryBytes, precision: ran }: BenchmarkDevice,
  machine?: ClusterProfile,
): DeviceScenario | undefined {
  const gpu = kind === 'cuda' ? gpuOfDevice(name, memoryBytes) : undefined;
  const own = machine ?? (gpu && singleGpuCluster(gpu));
  if (own === undefined) return undefined;
  const known = precisions.find((each) => each === ran) ?? precision;
  return {
    request: { cluster: own.name, nodes: 1, gpus: 1, batch: batchPerGpu, precision: known },
    cluster: hostOfProgram(own),
  };
}
