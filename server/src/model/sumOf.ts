/** The sum of a column, in its order; a loop, because callbacks over columns of 9,000 show in the time of a step. */

import { floatAt } from './at.ts';
export function sumOf(column: Float64Array): number {
  let sum = 0;
  for (let index = 0; index < column.length; index += 1) sum += floatAt(column, index);
  return sum;
}
