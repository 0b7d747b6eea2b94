/** The step of a benchmark as it is predicted for the device that ran, whatever the scenario's cluster is. */

import type { BenchmarkDevice } from '../benchmark/benchmarkMeasurements.ts';
import { gpuOfDevice } from '../hardware/gpuOfDevice.ts';
import { precisions, type Scenario, type ScenarioRequest } from '../model/scenario.ts';
import type { StepCost } from '../model/stepCost.ts';
import { costModelFile, type ModelFile } from './costFile.ts';

/** What one of the GPUs that ran is predicted to take, in the precision that ran; `undefined` where it has no profile. */
export function costOfDevice(
  file: ModelFile,
  request: ScenarioRequest,
  { batchPerGpu, precision }: Scenario,
  { kind, name, memoryBytes, precision: ran }: BenchmarkDevice,
): StepCost | undefined {
  const gpu = kind === 'cuda' ? gpuOfDevice(name, memoryBytes) : undefined;
  if (gpu === undefined) return undefined;
  const { globalBatch: _, ...asked } = request;
  const own = { cluster: gpu.name, nodes: 1, gpus: 1, batch: batchPerGpu };
  const known = precisions.find((each) => each === ran) ?? precision;
  return costModelFile({ ...file, customCluster: undefined }, { ...asked, ...own, precision: known }).cost;
}
