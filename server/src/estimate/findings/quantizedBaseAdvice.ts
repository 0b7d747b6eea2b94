/** Where adapters are trained beside frozen layers, which are most of the memory: these layers in 4 bits, as QLoRA keeps them. */

import { quantizeBase } from '../../analysis/adapters/quantizeBase.ts';
import { takesOtherLinearLayers } from '../../frameworks/registry.ts';
import { isNarrow } from '../../model/dtype.ts';
import { memoryOf } from '../memory/memoryOf.ts';
import type { StepMemory } from '../memory/stepMemory.ts';
import { planStep } from '../plan/planStep.ts';
import type { StepPlan } from '../plan/stepPlan.ts';
import { needsText } from './whatFits.ts';

const base = 'nf4';

/** `batch`: the largest found that fits as it is. */
export function quantizedBaseAdvice(plan: StepPlan, memory: StepMemory, batch: number): readonly string[] {
  const { training, scenario, cluster } = plan;
  const { lora, framework, precision, parallel } = scenario;
  if (parallel !== undefined && parallel.tensor > 1) return [];
  if (
    lora === undefined ||
    lora.base !== undefined ||
    !takesOtherLinearLayers(framework) ||
    isNarrow(precision)
  )
    return [];
  // Costing again takes as long as costing: not where weights are a small part.
  if (memory.parameters < memory.capacity / 10) return [];
  const analysis = quantizeBase(training.analysis, base);
  const after = planStep({ ...training, analysis }, { ...scenario, lora: { ...lora, base } }, cluster);
  const less = memoryOf(after);
  const needs = less.peak < memory.peak ? needsText(after, less, batch) : undefined;
  return needs === undefined
    ? []
    : [`keep the frozen linear layers in 4 bits (\`lora\` with base=${base}), which ${needs}`];
}
