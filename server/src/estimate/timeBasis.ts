/** Where the times of a step come from: curves of its own GPU, those of another, or a roofline alone. */

import type { TimeShares } from '../model/stepCost.ts';
import { sumOf } from '../model/sumOf.ts';
import { passTimesOf, type StepPlan } from './plan/stepPlan.ts';

export function basisOf(plan: StepPlan): { readonly basis?: TimeShares } {
  // What was measured is not predicted by a curve.
  if (plan.measured !== undefined) return {};
  const { updateTimes, scenario } = plan;
  const times = passTimesOf(plan);
  const passes =
    scenario.mode === 'training' ? [times.forward, times.backward, updateTimes] : [times.forward];
  const sum = (column: 'onOwn' | 'onOther' | 'onRoofline'): number =>
    passes.reduce((total, pass) => total + sumOf(pass[column]), 0);
  const [measured, transferred, assumed] = [sum('onOwn'), sum('onOther'), sum('onRoofline')];
  const whole = measured + transferred + assumed;
  if (whole === 0) return {};
  return {
    basis: { measured: measured / whole, transferred: transferred / whole, assumed: assumed / whole },
  };
}
