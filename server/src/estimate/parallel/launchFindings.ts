/** GPUs of a copy that wait for their host: smaller parts of a model have shorter kernels, and as many of them. */

import { capitalized } from '../../model/capitalized.ts';
import { thresholdOf } from '../../model/findingThresholds.ts';
import { formatPercent } from '../../model/format.ts';
import type { Finding } from '../../model/stepCost.ts';
import { seconds } from '../../model/units.ts';
import { compilation, kernelsOf, kernelsText } from '../findings/launchBound.ts';
import { type LaidOutStep, stagesOf } from './laidOutStep.ts';
import { changed, fits, largerMicroBatches, microBatchText, timeOf } from './otherLayouts.ts';
import { hostTimeOf, stepsOfRank } from './parallelTimes.ts';

export function launchBoundLayout(step: LaidOutStep): readonly Finding[] {
  const { plan, times, scenario } = step;
  const share = hostTimeOf(stepsOfRank(plan, times.slowest)) / times.step;
  const [first, ...others] = stagesOf(plan, times.slowest);
  if (first === undefined || share < thresholdOf(scenario.thresholds, 'launch-bound')) return [];
  const kernels = [first, ...others].map((stage) => kernelsOf(stage.plan));
  const launches = kernels.reduce((total, each) => total + each.launches, 0);
  const busy = kernels.reduce((total, each) => total + each.ofModel + each.ofUpdate, 0);
  const ways = [...largerMicroBatchWays(step), ...compiledWays(step)]
    .filter(({ after }) => after.times.step < times.step && fits(after))
    .sort((one, other) => one.after.times.step - other.after.times.step)
    .map(
      ({ text, after }) =>
        `${text}, which takes ${timeOf(after)} a step of as many samples instead of ${timeOf(step)}`,
    );
  return [
    {
      code: 'findings/launch-bound',
      severity: 'information',
      layer: '',
      message: `The GPU waits for the host during ${formatPercent(share)} of the step. In a micro-batch ${kernelsText(launches, seconds(busy / Math.max(1, launches)), first.plan)}`,
      fix: capitalized(
        ways.join('; or ') || 'use fewer GPUs for a copy of the model, so that each has longer kernels',
      ),
    },
  ];
}

interface Way {
  readonly text: string;
  readonly after: LaidOutStep;
}

/** The best of them alone. */
const largerMicroBatchWays = (step: LaidOutStep): readonly Way[] =>
  largerMicroBatches(step)
    .toSorted((one, other) => one.times.step - other.times.step)
    .slice(0, 1)
    .map((after) => ({ text: microBatchText(after), after }));

function compiledWays(step: LaidOutStep): readonly Way[] {
  const { framework } = step.scenario;
  const { advice, option } = compilation(step);
  if (advice === undefined || option === undefined) return [];
  const options = { ...framework.options, [option.name]: option.value };
  const after = changed(step, {}, { framework: { ...framework, options } });
  return after === undefined ? [] : [{ text: advice, after }];
}
