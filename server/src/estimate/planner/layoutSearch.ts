/** What a search for layouts needs of an estimated model. */

import type { ScenarioRequest } from '../../model/scenario.ts';
import type { StepCost } from '../../model/stepCost.ts';
import { cutsOf } from '../../parallel/pipelineStages.ts';
import type { ModelEstimate } from '../estimateModel.ts';
import type { LayoutSearch } from './searchLayouts.ts';

/**
 * `first` is the model on the GPUs, in whatever layout; `asked` is what a person fixed. `undefined` where the model cannot be
 * costed; a problem where what was asked cannot be searched.
 */
export function layoutSearch(
  { training, scenario, cluster, opened }: ModelEstimate,
  asked: ScenarioRequest,
  cost: (request: ScenarioRequest) => StepCost | undefined,
): LayoutSearch | { readonly problem: string } | undefined {
  if (training === undefined || scenario === undefined || cluster === undefined) return undefined;
  const { globalBatch, framework, checkpoint } = asked;
  if (globalBatch === undefined)
    return { problem: 'A plan needs the samples of a step over all GPUs; set `global-batch`' };
  if (scenario.mode === 'inference') return { problem: 'Layouts are planned for training; leave out `mode`' };
  const { batchSymbol, fixedBatch } = opened.analysis ?? training.analysis;
  return {
    gpus: scenario.gpus,
    gpusPerNode: cluster.gpusPerNode.value,
    globalBatch,
    blocks: cutsOf(training.analysis).length,
    ...(framework === undefined ? {} : { framework }),
    ...(checkpoint === undefined ? {} : { checkpoint }),
    ...(batchSymbol === undefined && fixedBatch !== undefined ? { mostMicroBatch: fixedBatch } : {}),
    cost,
  };
}
