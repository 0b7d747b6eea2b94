/** Where adapters are trained beside frozen layers, which are most of the memory: these layers in 4 bits, as QLoRA keeps them. */

import { quantizeBase } from '../../analysis/adapters/quantizeBase.ts';
import type { StepMemory } from '../memory/stepMemory.ts';
import { planStep } from '../plan/planStep.ts';
import type { StepPlan } from '../plan/stepPlan.ts';
import { problemsOfBase } from '../scenario/checkAdapters.ts';
import { needsOfLess } from './whatFits.ts';

const base = 'nf4';

/** `batch`: the largest found that fits as it is. */
export function quantizedBaseAdvice(plan: StepPlan, memory: StepMemory, batch: number): readonly string[] {
  const { training, scenario, cluster } = plan;
  const { lora } = scenario;
  if (lora === undefined || lora.base !== undefined) return [];
  const changed = { ...scenario, lora: { ...lora, base } } as const;
  // Costing again takes as long as costing: not where weights are a small part.
  if (problemsOfBase(changed).length > 0 || memory.parameters < memory.capacity / 10) return [];
  const analysis = quantizeBase(training.analysis, base);
  const needs = needsOfLess(planStep({ ...training, analysis }, changed, cluster), memory.peak, batch);
  return needs === undefined
    ? []
    : [`keep the frozen linear layers in 4 bits (\`lora\` with base=${base}), which ${needs}`];
}
