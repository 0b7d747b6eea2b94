/** Where most weights are frozen, in fp32 beside copies that autocast makes: the same in half precision, as fine-tuning loads them. */

import { takesOption } from '../../frameworks/registry.ts';
import { totalElements } from '../../model/totalElements.ts';
import type { StepMemory } from '../memory/stepMemory.ts';
import type { StepPlan } from '../plan/stepPlan.ts';
import { lessWithOption } from './whatFits.ts';

const option = 'weights';

/** `batch`: the largest found that fits as it is. What is trained loses precision with them, so that it must be little. */
export function halfWeightsAdvice(plan: StepPlan, memory: StepMemory, batch: number): readonly string[] {
  const { framework, mode, precision } = plan.scenario;
  const { parameters, frozen } = plan.training.analysis;
  const isHalf = precision === 'bf16' || precision === 'fp16';
  if (mode !== 'training' || !isHalf || framework.options[option] === 'half') return [];
  if (!takesOption(framework, option, 'half')) return [];
  if (totalElements(frozen) < leastFrozen * totalElements(parameters)) return [];
  const less = lessWithOption(plan, memory, batch, { [option]: 'half' });
  return less === undefined
    ? []
    : [`load the frozen weights in half precision (${option}=half), which ${less.needs}`];
}

/** Frozen weights for each that is trained: adapters have a hundred and more. */
const leastFrozen = 10;
