/** Steps laid out over GPUs of small specs, and the same with times by hand, for what is said of layouts. */

import { openLayerSpec } from '../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { type LaidOutStep, layOutStep } from '../../server/src/estimate/parallel/laidOutStep.ts';
import type { Scenario, ScenarioRequest } from '../../server/src/model/scenario.ts';
import { seconds } from '../../server/src/model/units.ts';
import type { MeshAxis } from '../../server/src/parallel/division.ts';

export function laidOutStep(spec: string, request: ScenarioRequest): LaidOutStep {
  const { training, scenario, cluster, issues } = estimateModel(openLayerSpec(spec, 'm.layers.yaml'), [
    request,
  ]);
  if (training === undefined || scenario?.parallel === undefined || cluster === undefined)
    throw new Error(JSON.stringify(issues));
  const step = layOutStep(training, scenario, scenario.parallel, cluster);
  if (step === undefined) throw new Error('not laid out');
  return step;
}

/** A step of `time` seconds, of which each of its passes waits so long for collectives of an axis, in one of them. */
export function exchanging(
  step: LaidOutStep,
  axis: MeshAxis,
  { time, inPass }: { readonly time: number; readonly inPass: number },
): LaidOutStep {
  const stages = step.plan.stages.map((stage) => {
    const [first, ...others] = stage.collectives.filter((each) => each.axis === axis);
    const rest = stage.collectives.filter((each) => each.axis !== axis);
    const none = others.map((each) => ({ ...each, time: seconds(0) }));
    return {
      ...stage,
      collectives: first === undefined ? rest : [{ ...first, time: seconds(inPass) }, ...none, ...rest],
    };
  });
  return { ...step, plan: { ...step.plan, stages }, times: { ...step.times, step: time } };
}

export const withThresholds = (step: LaidOutStep, thresholds: Scenario['thresholds']): LaidOutStep => ({
  ...step,
  scenario: { ...step.scenario, ...(thresholds === undefined ? {} : { thresholds }) },
});
