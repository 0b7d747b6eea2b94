/** Types of values as other tools know them, compared with those that analysis infers. */

import { type Dimension, printDimension } from '../../server/src/model/dimension.ts';
import { type ElementType, elementTypes } from '../../server/src/model/elementType.ts';
import { isKnownShape, type ValueType } from '../../server/src/model/graph.ts';

export type TrueType =
  | {
      readonly kind: 'tensor';
      /** `undefined` where it was not recorded. */
      readonly elementType: ElementType | undefined;
      /** `undefined` where not even the rank was recorded; a `null` size neither. Symbols are names. */
      readonly sizes: readonly (number | string | null)[] | undefined;
    }
  | { readonly kind: 'sequence' | 'optional' | 'map'; readonly element: TrueType | undefined };

/** `equal`: all that is true is known. `open`: something is not known. Otherwise the contradiction, in words. */
export type Verdict = 'equal' | 'open' | { readonly contradiction: string };

export function compareTypes(type: ValueType | undefined, truth: TrueType): Verdict {
  if (type === undefined || type.kind === 'unknown') return 'open';
  if (type.kind !== truth.kind) return { contradiction: `${printType(type)} is no ${truth.kind}` };
  if (truth.kind !== 'tensor') {
    if (truth.element === undefined) return 'equal';
    return compareTypes(type.kind === 'map' ? type.value : elementOf(type), truth.element);
  }
  if (type.kind !== 'tensor') return 'open';
  const contradiction = {
    contradiction: `${printType(type)}, but ${truth.elementType}[${truth.sizes?.join(', ') ?? '…'}] is true`,
  };
  const typeIsOpen = truth.elementType !== undefined && type.elementType === 'undefined';
  if (truth.elementType !== undefined && !typeIsOpen && type.elementType !== truth.elementType)
    return contradiction;
  if (truth.sizes === undefined) return typeIsOpen ? 'open' : 'equal';
  if (!isKnownShape(type.shape)) return 'open';
  if (type.shape.length !== truth.sizes.length) return contradiction;
  let isOpen = typeIsOpen;
  for (const [axis, size] of truth.sizes.entries()) {
    const own = type.shape[axis];
    if (typeof size === 'number' && typeof own === 'number' && own !== size) return contradiction;
    if (own === undefined || isLess(own, size)) isOpen = true;
  }
  return isOpen ? 'open' : 'equal';
}

/** A symbol's name is compared too; a number where the truth has a name says more, not less. */
const isLess = (own: Dimension, size: number | string | null): boolean =>
  size !== null && typeof own !== 'number' && printDimension(own) !== size;

const elementOf = (type: ValueType): ValueType | undefined =>
  type.kind === 'sequence' || type.kind === 'optional' ? type.element : undefined;

/** The element type by the name that `TensorProto.DataType` gives it. */
export function elementTypeNamed(name: string): ElementType | undefined {
  const lower = name.toLowerCase();
  if (lower === 'float') return 'float32';
  if (lower === 'double') return 'float64';
  return elementTypes.find((type) => type === lower && type !== 'undefined');
}

const printType = (type: ValueType): string => {
  if (type.kind !== 'tensor') return type.kind;
  return `${type.elementType}[${isKnownShape(type.shape) ? type.shape.map(printDimension).join(', ') : '…'}]`;
};
