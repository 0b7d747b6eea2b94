/**
 * Times of mixtures of experts on the GPU whose experts are chosen most often, which all wait for.
 *
 * Work grows with its rows. Weights that are read, and launches, do not: the excess is at most what the rows cause.
 */

import { floatAt } from '../../model/at.ts';
import type { OperatorTimes, PassTimes } from '../plan/operatorTimes.ts';

/** `imbalance`: rows of that GPU over the mean. 1 gives the times as they are. */
export function timesOfBusiest(
  times: OperatorTimes,
  mixtures: readonly number[],
  imbalance: number,
): OperatorTimes {
  if (imbalance === 1 || mixtures.length === 0) return times;
  const busiest = (pass: PassTimes): PassTimes => {
    const grown = (key: keyof PassTimes): Float64Array => {
      const column = pass[key].slice();
      for (const index of mixtures) column[index] = floatAt(column, index) * imbalance;
      return column;
    };
    return {
      middle: grown('middle'),
      low: grown('low'),
      high: grown('high'),
      launches: pass.launches,
      compute: grown('compute'),
      memory: grown('memory'),
      launch: grown('launch'),
      onOwn: grown('onOwn'),
      onOther: grown('onOther'),
      onRoofline: grown('onRoofline'),
      doubtOwn: grown('doubtOwn'),
      doubtOther: grown('doubtOther'),
      doubtRoofline: grown('doubtRoofline'),
      bytes: grown('bytes'),
    };
  };
  return { forward: busiest(times.forward), backward: busiest(times.backward) };
}
