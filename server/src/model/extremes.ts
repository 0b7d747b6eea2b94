/** The largest and smallest of any number of numbers: `Math.max(...)` of a hundred thousand overflows the stack. */

/** `-Infinity` where there are none. */
export const largestOf = (numbers: readonly number[]): number =>
  numbers.reduce((largest, number) => Math.max(largest, number), Number.NEGATIVE_INFINITY);

/** `Infinity` where there are none. */
export const smallestOf = (numbers: readonly number[]): number =>
  numbers.reduce((smallest, number) => Math.min(smallest, number), Number.POSITIVE_INFINITY);
