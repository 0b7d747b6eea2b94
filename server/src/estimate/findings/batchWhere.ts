/** The batch from which on something no longer holds. */

import type { StepPlan } from '../plan/stepPlan.ts';
import { recost } from '../recost.ts';

/** No advice beyond this: it would be another training run. */
export const largestGrowth = 64;

export interface LargerBatch {
  readonly batch: number;
  /** The step with it; absent where the model fixes its batch, so that the number is an estimate. */
  readonly plan?: StepPlan;
}

/**
 * A batch per GPU, up to `largestGrowth` times the present one, with which a step `holds` when it is costed. Kernels do not
 * grow as their batch does: the batch that would be enough if they did is costed, and the search goes on from there.
 */
export function batchWhere(
  plan: StepPlan,
  holds: (plan: StepPlan, growth: number) => boolean,
): LargerBatch | undefined {
  const most = plan.training.batch * largestGrowth;
  let from = plan;
  for (let tries = 0; tries < mostTries; tries += 1) {
    const { batch: present } = from.training;
    const found = enoughIfProportional(present, most, (growth) => holds(from, growth));
    if (found === undefined) return undefined;
    const batch = Math.min(most, Math.max(found, Math.ceil(present * leastGrowth)));
    const there = recost(plan, { batchPerGpu: batch });
    if (there === undefined) return { batch };
    if (holds(there, 1)) return { batch, plan: there };
    if (batch === most) return undefined;
    from = there;
  }
  return undefined;
}

/** Times that a step is costed for one line of advice. */
const mostTries = 8;
const leastGrowth = 1.02;

/** The smallest batch, from `batch` to `most`, at which `holds` of its growth; for what holds from some batch on. */
function enoughIfProportional(
  batch: number,
  most: number,
  holds: (growth: number) => boolean,
): number | undefined {
  if (!holds(most / batch)) return undefined;
  let low = batch;
  let high = most;
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (holds(middle / batch)) high = middle;
    else low = middle;
  }
  return high;
}
