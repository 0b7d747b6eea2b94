/**
 * The layouts of a model that is costed already, on numbers of GPUs that a person asks for. What they do not fix is as in its
 * scenario, so that a layout that is written into the scenario has the step that the plan says.
 */

import type { FrameworkChoice, ScenarioRequest } from '../../model/scenario.ts';
import type { StepCost } from '../../model/stepCost.ts';
import { finish, type Steps } from '../../model/steps.ts';
import { cutsOf } from '../../parallel/pipelineStages.ts';
import { estimateInSteps, type ModelEstimate } from '../estimateModel.ts';
import { layoutSearch } from './layoutSearch.ts';
import { type FoundLayouts, searchLayouts } from './searchLayouts.ts';

export interface AskedPlan {
  /** A built-in cluster; left out, that of the scenario. */
  readonly cluster?: string;
  /** Each is searched. */
  readonly gpus: readonly number[];
  /** Samples of a step over all GPUs. */
  readonly globalBatch: number;
  /** Left out: searched. */
  readonly framework?: FrameworkChoice;
  /** Layouts that are listed for each number of GPUs. */
  readonly top: number;
  /** Called for each layout, those that do not fit among them. */
  readonly onCosted?: () => void;
}

export interface LayoutsOnGpus {
  readonly gpus: number;
  readonly found: FoundLayouts;
}

/** A step of the generator is a stage of a layout, or less. A problem is one sentence, without its full stop. */
export function* planEstimate(
  { asked: { model, requests, customCluster } }: ModelEstimate,
  { cluster, gpus: counts, globalBatch, framework, top, onCosted }: AskedPlan,
): Steps<readonly LayoutsOnGpus[] | { readonly problem: string }> {
  const profile = cluster === undefined || cluster === customCluster?.name ? customCluster : undefined;
  const others = requests.map(withoutSize);
  const costs = (request: ScenarioRequest): Steps<ModelEstimate> =>
    estimateInSteps(
      model,
      [{ ...request, ...(cluster === undefined || profile !== undefined ? {} : { cluster }) }, ...others],
      profile,
    );
  function* costInSteps(request: ScenarioRequest): Steps<StepCost | undefined> {
    const { cost } = yield* costs(request);
    onCosted?.();
    return cost;
  }
  const planned: LayoutsOnGpus[] = [];
  for (const gpus of [...new Set(counts)].sort((one, other) => one - other)) {
    const fixed = { gpus, globalBatch, ...(framework === undefined ? {} : { framework }) };
    const first = yield* costs(fixed);
    // Kept with the model, where the search finds it.
    if (first.training !== undefined) cutsOf(first.training.analysis);
    yield;
    const search = layoutSearch(first, fixed, (request) => finish(costs(request)).cost);
    if (search === undefined) {
      const error = first.issues.find(({ severity }) => severity === 'error');
      return { problem: error?.message ?? 'The model cannot be costed' };
    }
    if ('problem' in search) return search;
    planned.push({ gpus, found: yield* searchLayouts({ ...search, top, costInSteps }) });
    yield;
  }
  return planned;
}

/** What would not fit other GPUs, or is of the scenario that ran; all else that a layout says itself goes before it. */
function withoutSize({
  nodes: _,
  accumulate: __,
  parallel: ___,
  measuredStep: ____,
  ...rest
}: ScenarioRequest): ScenarioRequest {
  return rest;
}
