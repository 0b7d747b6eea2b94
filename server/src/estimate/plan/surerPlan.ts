/** The range of a whole step, in which errors of kernels balance. */

import type { Bound, Estimate, Range } from '../../model/estimate.ts';
import { type Seconds, seconds } from '../../model/units.ts';
import type { GradientTimes } from './gradientTimes.ts';
import { rangeOfCauses } from './independentRange.ts';
import type { PassTimes } from './operatorTimes.ts';
import { timesOf } from './plannedTimes.ts';
import { waitsOf } from './plannedWork.ts';
import { passesOf, type StepPlan } from './stepPlan.ts';
import { spreadTimes, spreadWeights, stepSpread } from './stepSpread.ts';

/**
 * The same plan with the bounds of a whole step, in which errors of kernels balance. What was measured keeps its own.
 */
export function surerAsWhole(plan: StepPlan): StepPlan {
  const { times, updateTimes, wholeUpdateTimes, gradientTimes, ownGradientTimes, behaviour, scenario } = plan;
  const range = stepSpread({
    times,
    passes: passesOf(scenario),
    updateTimes,
    ...(gradientTimes === undefined ? {} : { gradientTimes }),
    isTraining: scenario.mode === 'training',
    launch: behaviour.launch,
    waits: waitsOf(plan),
    isOld: behaviour.isOld === true,
  });
  const { middle } = behaviour.launch;
  const { updateWait, passWait } = behaviour;
  const spread = (pass: PassTimes): PassTimes => spreadTimes(pass, range);
  const handled = (own: GradientTimes): GradientTimes => ({
    last: spread(own.last),
    earlier: spread(own.earlier),
  });
  return {
    ...plan,
    behaviour: {
      ...behaviour,
      launch: spreadOf(middle, range),
      ...(updateWait === undefined ? {} : { updateWait: spreadOf(updateWait.middle, range) }),
      ...(passWait === undefined ? {} : { passWait: spreadOf(passWait.middle, range) }),
    },
    times: {
      forward: spread(times.forward),
      backward: spread(times.backward),
      weight: spreadWeights(times.weight, range),
    },
    updateTimes: { ...updateTimes, ...spread(updateTimes) },
    wholeUpdateTimes: { ...wholeUpdateTimes, ...spread(wholeUpdateTimes) },
    ...(gradientTimes === undefined ? {} : { gradientTimes: handled(gradientTimes) }),
    ...(ownGradientTimes === undefined ? {} : { ownGradientTimes: handled(ownGradientTimes) }),
  };
}

const spreadOf = (middle: Seconds, { low, high }: Range): Estimate<Seconds> => ({
  middle,
  low: seconds(middle * low),
  high: seconds(middle * high),
});

/** The range of a step: 80 % of what is measured should lie between. */
export function stepRange(plan: StepPlan): Range<Seconds> {
  const whole = surerAsWhole(plan);
  const stepWith = (computed: Bound, sent: Bound): Seconds => timesOf(whole, computed, 1, sent).step;
  if (plan.scenario.gpus === 1) return { low: stepWith('low', 'low'), high: stepWith('high', 'high') };
  return rangeOfCauses(stepWith);
}
