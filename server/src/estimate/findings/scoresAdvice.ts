/** Where the scores of a vocabulary are in the way: a loss that is computed with its projection, part by part. */

import { scoresForParts } from '../../frameworks/pytorch/scoresInParts.ts';
import { hasOption, optionValues } from '../../frameworks/registry.ts';
import { runtimeReserve } from '../memory/reservedMemory.ts';
import type { StepMemory } from '../memory/stepMemory.ts';
import type { StepPlan } from '../plan/stepPlan.ts';
import { lessWithOption } from './whatFits.ts';

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
  const less = lessWithOption(plan, memory, batch, { 'cross-entropy': 'fused-linear' });
  return less === undefined
    ? []
    : [
        `compute the loss with its projection, part by part (cross-entropy=fused-linear, as Liger Kernel does), which ${less.needs}`,
      ];
}
