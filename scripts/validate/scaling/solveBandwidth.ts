/** The bandwidth of a link at which a step that sets it is predicted as it was measured, whatever else delays that step. */

import type { ScaledRow } from './judged.ts';

/**
 * By bisection between `low` and `high` (GB/s), to one part in four thousand of that range; steps are shorter with more of
 * it. At an end of the range where no bandwidth within it gives the step.
 */
export function solveBandwidth(
  [low, high]: readonly [number, number],
  stepWith: (bandwidth: number) => Pick<ScaledRow, 'predicted' | 'measured'>,
): number {
  let [below, above] = [low, high];
  for (let round = 0; round < 12; round += 1) {
    const middle = (below + above) / 2;
    const { predicted, measured } = stepWith(middle);
    if (predicted > measured) below = middle;
    else above = middle;
  }
  return (below + above) / 2;
}
