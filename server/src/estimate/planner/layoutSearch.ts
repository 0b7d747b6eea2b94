/** What a search for layouts needs of an estimated model. */

import type { ModelAnalysis } from '../../analysis/modelAnalysis.ts';
import type { ScenarioRequest } from '../../model/scenario.ts';
import type { StepCost } from '../../model/stepCost.ts';
import { headsOfAttention } from '../../parallel/attentionCores.ts';
import { sequencesOf } from '../../parallel/contextParallel.ts';
import { expertCounts } from '../../parallel/expertParallel.ts';
import { cutsOf } from '../../parallel/pipelineStages.ts';
import type { ModelEstimate } from '../estimateModel.ts';
import { resolveParallel } from '../parallel/resolveParallel.ts';
import { tokensPerSample } from '../tokens.ts';
import { megatronCopies } from './copyFrameworks.ts';
import { type Degrees, type LayoutSearch, tokensAreSplit } from './layoutCandidate.ts';

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
  const tokens = tokensPerSample(training);
  return {
    gpus: scenario.gpus,
    gpusPerNode: cluster.gpusPerNode.value,
    globalBatch,
    blocks: cutsOf(training.analysis).length,
    experts: expertCounts(training.analysis),
    contexts:
      sequencesOf(training.analysis).length > 0 && tokens !== undefined && tokens >= longSequence
        ? contextsTried
        : [],
    ...(framework === undefined ? {} : { framework }),
    ...(checkpoint === undefined ? {} : { checkpoint }),
    ...(batchSymbol === undefined && fixedBatch !== undefined ? { fixedMicroBatch: fixedBatch } : {}),
    isLanguageModel: tokens !== undefined && headsOfAttention(training.analysis).length > 0,
    runsInMegatron: (degrees) => runsInMegatron(degrees, training.analysis, scenario.gpus),
    cost,
  };
}

function runsInMegatron(degrees: Degrees, analysis: ModelAnalysis, gpus: number): boolean {
  const asked = { ...degrees, sequence: tokensAreSplit(degrees.tensor) };
  const { issues } = resolveParallel(asked, analysis, gpus, 'training', [{ framework: megatronCopies }]);
  return issues.every(({ severity }) => severity !== 'error');
}

/** Tokens of a sample from which on sequences are worth sharing: shorter ones leave small kernels, and samples to share instead. */
const longSequence = 16_384;
const contextsTried: readonly number[] = [2, 4, 8];
