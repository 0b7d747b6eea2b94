/** Axes: negative ones count from the end, in every ONNX operator since version 11. */

import type { Dimension } from '../../model/dimension.ts';
import type { InferenceContext } from '../definition.ts';

/** The axis in 0 … rank − 1, or `undefined` where it is outside [−rank, rank − 1]. */
export function normalizeAxis(axis: number, rank: number): number | undefined {
  const normalized = axis < 0 ? axis + rank : axis;
  return Number.isInteger(normalized) && normalized >= 0 && normalized < rank ? normalized : undefined;
}

/** All axes normalized, or `undefined` where one is outside. */
export function normalizeAxes(axes: readonly number[], rank: number): readonly number[] | undefined {
  const normalized: number[] = [];
  for (const axis of axes) {
    const one = normalizeAxis(axis, rank);
    if (one === undefined) return undefined;
    normalized.push(one);
  }
  return normalized;
}

/** A list of integers that later versions take as an input and earlier ones as an attribute. */
export type Integers =
  | { readonly kind: 'absent' }
  | { readonly kind: 'known'; readonly values: readonly Dimension[] }
  | { readonly kind: 'unknown' };

/**
 * The list from input `index` where that is present, otherwise from the attribute. Elements may be symbolic.
 *
 * Reading both makes one rule hold for every version: no version of an operator has both.
 */
export function integersOf(context: InferenceContext, index: number, attribute: string): Integers {
  if (context.inputType(index) !== undefined) {
    const content = context.inputContent(index);
    if (content !== undefined) return { kind: 'known', values: content.elements };
    return lengthOf(context, index) === 0 ? { kind: 'known', values: [] } : { kind: 'unknown' };
  }
  const values = context.ints(attribute);
  return values === undefined ? { kind: 'absent' } : { kind: 'known', values };
}

/** The elements as numbers, or `undefined` where one of them is symbolic or unknown. */
export function numbersOf(elements: readonly Dimension[]): readonly number[] | undefined {
  const numbers = elements.filter((element) => typeof element === 'number');
  return numbers.length === elements.length ? numbers : undefined;
}

/** No tensor has more axes; a longer list of them is damage, and no reason to fill memory. */
const mostAxes = 64;

/** Length of a one-dimensional input that lists axes or sizes. */
export function lengthOf(context: InferenceContext, index: number): number | undefined {
  const [length] = context.inputShape(index) ?? [];
  return typeof length === 'number' && length >= 0 && length <= mostAxes ? length : undefined;
}
