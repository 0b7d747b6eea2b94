import type { Scenario, ScenarioRequest } from '../../model/scenario.ts';

/** A resolved scenario as a request for another number of GPUs: nodes are as many as these need, the batch is bound anew. */
export function requestOnGpus(
  { cluster: _, nodes: __, batchPerGpu, globalBatch, dimensions, ...same }: Scenario,
  gpus: number,
  batchSymbol: string | undefined,
): ScenarioRequest {
  const { [batchSymbol ?? '']: ___, ...others } = dimensions;
  return {
    ...same,
    gpus,
    dimensions: others,
    ...(globalBatch === undefined ? { batch: batchPerGpu } : { globalBatch }),
  };
}
