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
 * A batch per GPU, up to `largestGrowth` times the present one, with which a step holds when it is costed: where its
 * `margin`, in seconds, is not negative. Kernels do not grow as their batch does: the batch that would be enough if they
 * did is costed first. From there the margins of the last two steps lead on, because a step is nearly linear in its batch.
 */
export function batchWhere(
  plan: StepPlan,
  margin: (plan: StepPlan, growth: number) => number,
): LargerBatch | undefined {
  const most = plan.training.batch * largestGrowth;
  let from = plan;
  /** Of `from`, where a search goes on from it. */
  let missing: number | undefined;
  let next = enoughIfProportional(plan.training.batch, most, (growth) => margin(plan, growth) >= 0);
  for (let tries = 0; tries < mostTries && next !== undefined; tries += 1) {
    const { batch: present } = from.training;
    const batch = Math.min(most, Math.max(next, Math.ceil(present * leastGrowth)));
    const there = recost(plan, { batchPerGpu: batch });
    if (there === undefined) return { batch };
    const reached = margin(there, 1);
    if (reached >= 0) return { batch, plan: there };
    if (batch === most) return undefined;
    const risen = reached - (missing ?? margin(from, 1));
    next =
      risen > 0
        ? Math.ceil(batch - (reached * (batch - present)) / risen)
        : enoughIfProportional(batch, most, (growth) => margin(there, growth) >= 0);
    from = there;
    missing = reached;
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
