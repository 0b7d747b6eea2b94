import type { Steps } from '../../model/steps.ts';
import { estimateModel, type ModelEstimate } from '../estimateModel.ts';
import { gpuCounts } from './gpuCounts.ts';
import { requestOnGpus } from './requestOnGpus.ts';
import { type Scaling, scaleInSteps } from './scaleJob.ts';

/** The scenario of an estimate on the numbers of GPUs that its cluster suggests; `undefined` where it has none. */
export function* scaleEstimate({
  asked,
  opened,
  scenario,
  cluster,
}: ModelEstimate): Steps<Scaling | undefined> {
  if (scenario === undefined || cluster === undefined) return undefined;
  return yield* scaleInSteps(opened.name, gpuCounts(cluster, scenario.gpus), (gpus) =>
    // The model as it was opened: that of the estimate has its adapters already.
    estimateModel(asked.model, [requestOnGpus(scenario, gpus, opened.analysis?.batchSymbol)], cluster),
  );
}
