/** The same step with something of its scenario changed: its plan, for advice that says what it would come to. */

import { bindAnalysis } from '../analysis/bindTrainingGraph.ts';
import type { Scenario } from '../model/scenario.ts';
import { memoryOf } from './memory/memoryOf.ts';
import type { StepMemory } from './memory/stepMemory.ts';
import { planStep } from './plan/planStep.ts';
import type { StepPlan } from './plan/stepPlan.ts';

/** `undefined` where another batch cannot be bound, because the model fixes its own. */
export function recost(
  { training, scenario, cluster }: StepPlan,
  change: Partial<Pick<Scenario, 'checkpoint' | 'framework' | 'batchPerGpu' | 'optimizer'>>,
): StepPlan | undefined {
  const changed = { ...scenario, ...change };
  const batch = changed.batchPerGpu;
  if (batch === training.batch) return planStep(training, changed, cluster);
  const { batchSymbol } = training.analysis;
  if (batchSymbol === undefined) return undefined;
  const dimensions = { ...scenario.dimensions, [batchSymbol]: batch };
  const bound = bindAnalysis(training.analysis, new Map(Object.entries(dimensions)), scenario.mode);
  return planStep(bound, { ...changed, dimensions }, cluster);
}

/**
 * The largest batch whose step needs no more than `room`, 0 where none does; `memory` is that of the plan. Memory grows
 * nearly in proportion, so that a first guess is mostly right; it is costed, and lowered from there until it fits.
 */
export function fittingBatch(plan: StepPlan, memory: StepMemory, room: number): number {
  let batch = Math.min(memory.largestBatch(room), plan.training.batch);
  for (let tries = 0; batch > 0 && tries < mostTries; tries += 1) {
    const there = recost(plan, { batchPerGpu: batch });
    if (there === undefined) return batch;
    const needed = memoryOf(there);
    if (needed.peak <= room) return batch;
    batch = Math.min(batch - 1, needed.largestBatch(room));
  }
  return Math.max(0, batch);
}

const mostTries = 6;
