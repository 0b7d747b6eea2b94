/** One of Q, K, V as batch, heads, length and size per head. */

import { type Dimension, divideExactly, floorDivideDimensions } from '../../model/dimension.ts';

export interface Heads<Size> {
  readonly batch: Size;
  readonly heads: Size;
  readonly length: Size;
  readonly size: Size;
}

/** Four axes [batch, heads, length, size], or three [batch, length, heads·size]; `undefined` where it is neither. */
export function headsOf(shape: readonly Dimension[], heads: number): Heads<Dimension> | undefined {
  const [first, second, third, fourth] = shape;
  if (first === undefined || second === undefined || third === undefined) return undefined;
  if (fourth !== undefined) return { batch: first, heads: second, length: third, size: fourth };
  return heads > 0 ? { batch: first, heads, length: second, size: partOf(third, heads) } : undefined;
}

/** A width divided among this many heads. */
export const partOf = (width: Dimension, heads: number): Dimension =>
  divideExactly(width, heads) ?? floorDivideDimensions(width, heads);

/** The product of sizes that are numbers by now; one that is not makes it 0. */
export const productOfSizes = (...sizes: readonly (Dimension | undefined)[]): number =>
  sizes.reduce<number>((total, size) => total * (typeof size === 'number' ? size : 0), 1);
