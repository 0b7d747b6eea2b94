/** Planned steps of small specs, for findings and what they are made of. */

import { openLayerSpec } from '../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import type { EstimatedStep } from '../../server/src/estimate/findings/estimatedStep.ts';
import { memoryOf } from '../../server/src/estimate/memory/memoryOf.ts';
import { reservedMemory } from '../../server/src/estimate/memory/reservedMemory.ts';
import { messageCosts } from '../../server/src/estimate/messageCosts.ts';
import { timelineOf, timesAlone } from '../../server/src/estimate/plan/plannedTimes.ts';
import { planStep } from '../../server/src/estimate/plan/planStep.ts';
import type { StepPlan } from '../../server/src/estimate/plan/stepPlan.ts';
import type { ScenarioRequest } from '../../server/src/model/scenario.ts';
import { seconds } from '../../server/src/model/units.ts';

/** Eight layers of 1,024 × 1,024. */
const eightLayers = 'inputs: { x: "float32[batch, 1024]" }\nlayers:\n  - fc: Linear(1024) * 8\n';

export function planOf(request: ScenarioRequest, spec = eightLayers): StepPlan {
  const { training, scenario, cluster, issues } = estimateModel(openLayerSpec(spec, 'm.layers.yaml'), [
    request,
  ]);
  if (training === undefined || scenario === undefined || cluster === undefined)
    throw new Error(JSON.stringify(issues));
  return planStep(training, scenario, cluster);
}

export function stepOf(request: ScenarioRequest, spec = eightLayers): EstimatedStep {
  const plan = planOf(request, spec);
  const timeline = timelineOf(plan, 'middle');
  const memory = memoryOf(plan);
  return {
    plan,
    timeline,
    memory,
    alone: timesAlone(plan, 'middle').step,
    reserved: () => reservedMemory(plan, memory.peak),
    messages: messageCosts(plan, timeline),
    exact: true,
  };
}

/** The step with these seconds, and others of the timeline as they were. */
export function lasting(
  step: EstimatedStep,
  times: Partial<
    Record<
      | 'step'
      | 'exposedTime'
      | 'forwardTime'
      | 'backwardTime'
      | 'updateTime'
      | 'hostTime'
      | 'exposedInputTime',
      number
    >
  >,
): EstimatedStep {
  const given = Object.fromEntries(Object.entries(times).map(([name, time]) => [name, seconds(time)]));
  return { ...step, timeline: { ...step.timeline, ...given } };
}
