/** What the status bar and the language status say of a costed document. */

import { layoutText } from '../language/layoutOfLine.ts';
import { type ModelView, viewsOf } from '../language/modelView.ts';
import { counted } from '../model/counted.ts';
import { gpuMemory } from '../model/gpuMemory.ts';
import type { StepCost } from '../model/stepCost.ts';
import type { EstimatedParams, ModelSummary, ScenarioSummary } from '../protocol.ts';

export function summaryOf(view: ModelView): Omit<EstimatedParams, 'uri'> {
  const models = viewsOf(view).flatMap((each) =>
    each.part === undefined ? [] : [{ ...each.part, ...summaryOfModel(each) }],
  );
  return { ...summaryOfModel(view), ...(models.length === 0 ? {} : { models }) };
}

function summaryOfModel(view: ModelView): ModelSummary {
  const { cost, cluster, opened, issues } = view.estimate;
  if (cost === undefined) {
    const error = issues.find((issue) => issue.severity === 'error');
    return { summary: undefined, state: 'no-cost', detail: error?.message ?? 'the model has no cost' };
  }
  const { scenario, totals } = cost;
  const [unknown] = totals.unknown;
  const [unknownInput] = totals.input?.unknown ?? [];
  return {
    summary: {
      cluster: scenario.cluster,
      clusterTitle: cluster?.title ?? scenario.cluster,
      gpus: scenario.gpus,
      devices: counted(scenario.gpus, cost.device),
      device: cost.device,
      gpusPerNode: cluster?.gpusPerNode.value ?? 1,
      batch: scenario.batchPerGpu,
      globalBatch: samplesOfStep(cost),
      precision: scenario.precision,
      framework: scenario.framework.name,
      ...layoutOf(cost),
      ...limitOf(cost),
      fixedByModel: Object.entries(opened.scenario)
        .filter(([, value]) => value !== undefined)
        .map(([key]) => key),
    },
    state: totals.time.exact ? 'exact' : 'at-least',
    detail: view.stale
      ? 'a line cannot be read yet; the numbers are from before the edit'
      : totals.exact
        ? unknownInput === undefined
          ? 'every operator is costed'
          : `the step is a lower bound; unknown: ${unknownInput}`
        : `totals are lower bounds: ${totals.unknown.length} unknown, first ${unknown?.operator ?? '?'} (${unknown?.reason ?? '?'})`,
  };
}

const samplesOfStep = ({ scenario, parallel }: StepCost): number =>
  scenario.globalBatch ??
  scenario.batchPerGpu * (scenario.accumulate ?? 1) * (parallel?.replicas ?? scenario.gpus);

function layoutOf(cost: StepCost): Pick<ScenarioSummary, 'layout'> {
  const layout = layoutText(cost);
  return layout === '' ? {} : { layout };
}

/** Memory before all: a step that does not fit takes no time. Sums that miss a part say nothing of what limits. */
function limitOf(cost: StepCost): Pick<ScenarioSummary, 'limit'> {
  const { fits, totals } = cost;
  if (fits === 'no') {
    const { needed, capacity } = gpuMemory(cost);
    return { limit: { kind: 'memory', share: capacity === null ? 1 : needed / capacity } };
  }
  return totals.time.exact ? { limit: totals.limit } : {};
}
