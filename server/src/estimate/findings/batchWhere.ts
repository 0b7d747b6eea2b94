/** The batch from which on something no longer holds. */

/** No advice beyond this: it would be another training run. */
export const largestGrowth = 64;

/**
 * The smallest batch per GPU, up to `largestGrowth` times the present one, at which `holds` of its growth; for what
 * holds from some batch on. `undefined` where it holds at none of them.
 */
export function batchWhere(batch: number, holds: (growth: number) => boolean): number | undefined {
  if (!holds(largestGrowth)) return undefined;
  let low = batch;
  let high = batch * largestGrowth;
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (holds(middle / batch)) high = middle;
    else low = middle;
  }
  return high;
}
