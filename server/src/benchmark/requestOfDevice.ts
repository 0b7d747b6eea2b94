/** The scenario of a prediction that may stand beside a measurement: one of the GPUs that ran, as it ran. */

import type { ClusterProfile } from '../hardware/clusterProfile.ts';
import { gpuOfDevice } from '../hardware/gpuOfDevice.ts';
import { precisions, type Scenario, type ScenarioRequest } from '../model/scenario.ts';
import type { BenchmarkDevice } from './deviceSchema.ts';

/** Goes before every other request, none of which may set a global batch; `undefined` where the device has no profile and `machine`, its own, was not calibrated. */
export function requestOfDevice(
  { batchPerGpu, precision }: Pick<Scenario, 'batchPerGpu' | 'precision'>,
  { kind, name, memoryBytes, precision: ran }: BenchmarkDevice,
  machine?: ClusterProfile,
): ScenarioRequest | undefined {
  const gpu = machine ?? (kind === 'cuda' ? gpuOfDevice(name, memoryBytes) : undefined);
  if (gpu === undefined) return undefined;
  const known = precisions.find((each) => each === ran) ?? precision;
  return { cluster: gpu.name, nodes: 1, gpus: 1, batch: batchPerGpu, precision: known };
}
