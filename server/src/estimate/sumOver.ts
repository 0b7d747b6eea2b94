import { floatAt, itemAt } from '../model/at.ts';

/** The entries of a column at these places, added up. */
export function sumOver(operators: readonly number[], column: Float64Array): number {
  let total = 0;
  for (let position = 0; position < operators.length; position += 1) {
    total += floatAt(column, itemAt(operators, position));
  }
  return total;
}
