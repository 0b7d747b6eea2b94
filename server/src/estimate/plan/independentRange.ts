/** The range of a time that several causes change, each by itself. */

import type { Bound, Range } from '../../model/estimate.ts';
import { type Seconds, seconds } from '../../model/units.ts';

/** `ranges`: with one cause at its bounds and the others in the middle. Logarithms add as squares, downwards and upwards apart. */
export function independentRange(middle: Seconds, ranges: readonly Range<Seconds>[]): Range<Seconds> {
  if (middle === 0) return { low: middle, high: middle };
  const width = (end: keyof Range): number =>
    Math.hypot(...ranges.map((range) => Math.log(range[end] / middle)));
  return { low: seconds(middle * Math.exp(-width('low'))), high: seconds(middle * Math.exp(width('high'))) };
}

/**
 * The range of a step of several GPUs: what is computed and what is sent are off for reasons of their own. `stepWith`: the step
 * with each of them at a bound.
 */
export const rangeOfCauses = (stepWith: (computed: Bound, sent: Bound) => Seconds): Range<Seconds> =>
  independentRange(stepWith('middle', 'middle'), [
    { low: stepWith('low', 'middle'), high: stepWith('high', 'middle') },
    { low: stepWith('middle', 'low'), high: stepWith('middle', 'high') },
  ]);
