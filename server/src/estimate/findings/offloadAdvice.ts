/** Where state of the model is in the way, and the framework can keep it in the memory of the host. */

import { takesOption } from '../../frameworks/registry.ts';
import { formatPercent } from '../../model/format.ts';
import { runtimeReserve } from '../memory/reservedMemory.ts';
import type { StepMemory } from '../memory/stepMemory.ts';
import { timesOf } from '../plan/plannedTimes.ts';
import type { StepPlan } from '../plan/stepPlan.ts';
import { lessWithOption } from './whatFits.ts';

/** Each with what it keeps in host memory, less before more. */
const ways = [
  { option: 'offload-optimizer', value: 'cpu', what: 'gradients and optimizer state' },
  { option: 'offload-param', value: 'cpu', what: 'parameters too' },
  { option: 'cpu-offload', value: 'true', what: 'parameters, gradients and optimizer state' },
] as const;

/** `batch`: the largest found that fits as it is; `step`: seconds of the step as it is. */
export function offloadAdvice(
  plan: StepPlan,
  memory: StepMemory,
  batch: number,
  step: number,
): readonly string[] {
  const { framework, mode } = plan.scenario;
  if (mode !== 'training') return [];
  // Costing again takes as long as costing: not where state is a small part.
  if (memory.gradients + memory.optimizerState + memory.parameters < memory.capacity / 4) return [];
  const way = ways.find(
    ({ option, value }) => framework.options[option] !== value && takesOption(framework, option, value),
  );
  if (way === undefined) return [];
  const { option, value, what } = way;
  const staysOnGpu = option === 'offload-optimizer' ? memory.parameters : 0;
  if (staysOnGpu + memory.communicationBuffers > memory.capacity - runtimeReserve) return [];
  const less = lessWithOption(plan, memory, batch, { [option]: value });
  if (less === undefined) return [];
  const longer = step > 0 ? timesOf(less.after, 'middle').step / step - 1 : 0;
  return [
    `keep ${what} in host memory (${option}=${value}), which ${less.needs} and takes ${formatPercent(Math.max(0, longer))} longer at the same batch`,
  ];
}
