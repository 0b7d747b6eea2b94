/** Where gradients are in the way on one GPU: an update during backward, which frees each gradient when it is complete. */

import { takesOption } from '../../frameworks/registry.ts';
import { runtimeReserve } from '../memory/reservedMemory.ts';
import type { StepMemory } from '../memory/stepMemory.ts';
import { passesOf, type StepPlan } from '../plan/stepPlan.ts';
import { lessWithOption } from './whatFits.ts';

const option = 'optimizer-in-backward';

/** `batch`: the largest found that fits as it is. */
export function inBackwardAdvice(plan: StepPlan, memory: StepMemory, batch: number): readonly string[] {
  const { framework, mode, gpus } = plan.scenario;
  if (mode !== 'training' || gpus > 1 || passesOf(plan.scenario) > 1) return [];
  if (framework.options[option] === 'true' || !takesOption(framework, option, 'true')) return [];
  // Costing again takes as long as costing: not where gradients are a small part, nor where what stays does not fit.
  const stays = memory.parameters + memory.optimizerState + memory.communicationBuffers;
  if (memory.gradients < memory.capacity / 10 || stays > memory.capacity - runtimeReserve) return [];
  const less = lessWithOption(plan, memory, batch, { [option]: 'true' });
  return less === undefined
    ? []
    : [`update each parameter during backward and free its gradient (${option}=true), which ${less.needs}`];
}
