/** What one GPU computes in a step, without communication and input: what a benchmark measures as the step. */

import type { StepCost } from '../model/stepCost.ts';
import { type Seconds, sum } from '../model/units.ts';

/** `null` as soon as one part is unknown. */
export function computeOfStep({ totals, scenario }: StepCost): Seconds | null {
  const { forward, backward, update } = totals.time;
  if (scenario.mode === 'inference') return forward;
  return forward === null || backward === null || update === null ? null : sum([forward, backward, update]);
}
