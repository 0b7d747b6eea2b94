/**
 * Times of mixtures of experts on the GPU whose experts are chosen most often, which all wait for.
 *
 * Work grows with its rows. Weights that are read, and launches, do not: the excess is at most what the rows cause.
 */

import { floatAt } from '../../model/at.ts';
import { columnsBy, mapWeights, type OperatorTimes, type PassTimes } from '../plan/operatorTimes.ts';

/** `imbalance`: rows of that GPU over the mean. 1 gives the times as they are. */
export function timesOfBusiest(
  times: OperatorTimes,
  mixtures: readonly number[],
  imbalance: number,
): OperatorTimes {
  if (imbalance === 1 || mixtures.length === 0) return times;
  const grownColumn = (column: Float64Array): Float64Array => {
    const copy = column.slice();
    for (const index of mixtures) copy[index] = floatAt(copy, index) * imbalance;
    return copy;
  };
  const busiest = (pass: PassTimes): PassTimes =>
    columnsBy((key) => (key === 'launches' ? pass.launches : grownColumn(pass[key])));
  return {
    forward: busiest(times.forward),
    backward: busiest(times.backward),
    weight: { ...mapWeights(times.weight, grownColumn), launches: times.weight.launches },
  };
}
