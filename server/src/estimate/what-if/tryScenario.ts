/** The step of an estimate in another scenario, to see what a change would come to before it is written anywhere. */

import { readFrameworkText } from '../../formats/frameworkText.ts';
import { printGroup, readLoraGroup } from '../../formats/scenarioGroups.ts';
import type { Issue } from '../../model/issue.ts';
import {
  type Checkpoint,
  checkpoints,
  type Precision,
  precisions,
  type ScenarioRequest,
} from '../../model/scenario.ts';
import type { ScenarioChange } from '../../model/scenarioChange.ts';
import { estimateModel, type ModelEstimate } from '../estimateModel.ts';
import { requestOnGpus } from '../scaling/requestOnGpus.ts';

/**
 * What is not changed stays as it is now, whoever chose it; nodes are as many as the GPUs need. A measured step is of the
 * scenario that ran, so it is left out. `undefined` where there is no scenario to change.
 */
export function tryScenario(estimate: ModelEstimate, change: ScenarioChange): ModelEstimate | undefined {
  // Of the model as it was opened: that of the estimate has its adapters already.
  const { asked, opened, scenario, cluster } = estimate;
  if (scenario === undefined || cluster === undefined) return undefined;
  if (Object.keys(change).length === 0) return estimate;
  const [problem] = loraOf(change).problems;
  if (problem !== undefined) return refused(estimate, problem);
  const symbol = opened.analysis?.batchSymbol;
  const { measuredStep: _, lora, ...others } = requestOnGpus(scenario, change.gpus ?? scenario.gpus, symbol);
  const now = lora === undefined || change.lora === null ? others : { ...others, lora };
  const request = { ...(change.batch == null ? now : withBatch(now, change.batch)), ...requestOf(change) };
  return change.cluster == null
    ? estimateModel(asked.model, [request], cluster)
    : estimateModel(asked.model, [{ ...request, cluster: change.cluster }]);
}

/** The batch of a GPU in the place of one over all GPUs. */
function withBatch({ globalBatch: _, ...request }: ScenarioRequest, batch: number): ScenarioRequest {
  return { ...request, batch };
}

/** What of a change is text is read; what cannot be read changes nothing. */
function requestOf(change: ScenarioChange): ScenarioRequest {
  const { precision, checkpoint, framework, freeze } = change;
  const { value: lora } = loraOf(change);
  const chosen = framework == null ? undefined : readFrameworkText(framework).choice;
  return {
    ...(isPrecision(precision) ? { precision } : {}),
    ...(isCheckpoint(checkpoint) ? { checkpoint } : {}),
    ...(chosen === undefined ? {} : { framework: chosen }),
    ...(freeze == null ? {} : { freeze }),
    ...(lora === undefined ? {} : { lora }),
  };
}

const loraOf = ({ lora }: ScenarioChange): ReturnType<typeof readLoraGroup> =>
  lora == null ? { value: undefined, problems: [] } : readLoraGroup(printGroup(lora));

/** Without a cost, and why. */
function refused(estimate: ModelEstimate, message: string): ModelEstimate {
  const issue: Issue = { severity: 'error', code: 'scenario/invalid', message, scenarioKey: 'lora' };
  return { ...estimate, cost: undefined, costed: false, issues: [issue] };
}

const isPrecision = (name: string | null | undefined): name is Precision =>
  precisions.some((precision) => precision === name);

const isCheckpoint = (name: string | null | undefined): name is Checkpoint =>
  checkpoints.some((checkpoint) => checkpoint === name);
