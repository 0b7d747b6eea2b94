/** Attributes of classical models: lists of any kind, counted, and labels that are integers or strings. */

import { countElements } from '../../model/countElements.ts';
import type { ElementType } from '../../model/elementType.ts';
import type { InferenceContext } from '../definition.ts';

type Attributes = Pick<InferenceContext, 'attribute'>;

/** How many elements a list or tensor attribute has; `undefined` where it is absent or no list. */
export function lengthOfList(context: Attributes, name: string): number | undefined {
  const attribute = context.attribute(name);
  switch (attribute?.kind) {
    case 'ints':
    case 'floats':
    case 'strings':
      return attribute.value.length;
    case 'tensor':
      return countElements(attribute.value.dimensions);
    default:
      return undefined;
  }
}

/** Those of the attributes that are given. */
export const givenOf = (context: Attributes, names: readonly string[]): readonly string[] =>
  names.filter((name) => context.attribute(name) !== undefined);

/** Exactly one of these attributes has to be given; what is wrong otherwise, in words. */
export function onlyOneOf(context: Attributes, names: readonly string[]): string | undefined {
  const given = givenOf(context, names);
  if (given.length === 1) return undefined;
  const found = given.length === 0 ? 'none is' : `${given.join(' and ')} are`;
  return `exactly one of ${names.join(', ')} must be given, but ${found}`;
}

/** Element type of class labels, and how many there are. */
export function labelsOf(
  context: Attributes,
  integers: string,
  strings: string,
): { readonly elementType: ElementType; readonly count: number | undefined } {
  const count = lengthOfList(context, strings);
  return count === undefined || count === 0
    ? { elementType: 'int64', count: lengthOfList(context, integers) }
    : { elementType: 'string', count };
}
