/** Where the scores of a vocabulary are in the way: a loss that is computed with its projection, part by part. */

import { scoresForParts } from '../../frameworks/pytorch/scoresInParts.ts';
import { hasOption, optionValues } from '../../frameworks/registry.ts';
import { memoryOf } from '../memory/memoryOf.ts';
import { runtimeReserve } from '../memory/reservedMemory.ts';
import type { StepMemory } from '../memory/stepMemory.ts';
import type { StepPlan } from '../plan/stepPlan.ts';
import { recost } from '../recost.ts';
import { needsText } from './whatFits.ts';

/** `batch`: the largest found that fits as it is. */
export function scoresAdvice(plan: StepPlan, memory: StepMemory, batch: number): readonly string[] {
  const { scenario, training } = plan;
  const { framework, mode } = scenario;
  const isWhole = optionValues(framework).get('cross-entropy') === 'whole';
  if (mode !== 'training' || !hasOption(framework.name, 'cross-entropy') || !isWhole) return [];
  // Costing again takes as long as costing: not where scores, their logarithms and gradients in fp32 are a small part, nor where what
  // stays does not fit.
  const wide = 3 * 4 * scoresForParts(training);
  const stays = memory.parameters + memory.optimizerState + memory.communicationBuffers;
  if (wide < memory.peak / 20 || stays > memory.capacity - runtimeReserve) return [];
  const after = recost(plan, {
    framework: { ...framework, options: { ...framework.options, 'cross-entropy': 'fused-linear' } },
  });
  if (after === undefined) return [];
  const less = memoryOf(after);
  const needs = less.peak < memory.peak ? needsText(after, less, batch) : undefined;
  return needs === undefined
    ? []
    : [
        `compute the loss with its projection, part by part (cross-entropy=fused-linear, as Liger Kernel does), which ${needs}`,
      ];
}
