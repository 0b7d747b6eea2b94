/** Types of values as a file declares them: what it leaves out stays out. */

import type { Dimension } from './dimension.ts';
import type { ElementType } from './elementType.ts';
import type { ValueType } from './graph.ts';

export type DeclaredType =
  | {
      readonly kind: 'tensor' | 'sparse-tensor';
      readonly elementType: ElementType;
      /** `undefined` where the file gives no shape. */
      readonly shape: readonly DeclaredDimension[] | undefined;
    }
  | { readonly kind: 'sequence' | 'optional'; readonly element: DeclaredType | undefined }
  | { readonly kind: 'map'; readonly key: ElementType; readonly value: DeclaredType | undefined }
  | { readonly kind: 'opaque'; readonly name: string };

/** A number, a symbol's name or an expression over names, or `undefined` where the file says nothing. */
export type DeclaredDimension = number | string | undefined;

/** The type that a declaration means, given what its dimensions mean. */
export function valueTypeOf(
  declared: DeclaredType | undefined,
  dimensionOf: (declared: DeclaredDimension, axis: number) => Dimension,
): ValueType {
  switch (declared?.kind) {
    case undefined:
      return { kind: 'unknown', reason: 'the file gives no type' };
    case 'tensor':
    case 'sparse-tensor':
      return {
        kind: 'tensor',
        elementType: declared.elementType,
        shape: declared.shape?.map(dimensionOf) ?? {
          kind: 'unknown-shape',
          reason: 'the file gives no shape',
        },
      };
    case 'sequence':
    case 'optional':
      return { kind: declared.kind, element: valueTypeOf(declared.element, dimensionOf) };
    case 'map':
      return { kind: 'map', key: declared.key, value: valueTypeOf(declared.value, dimensionOf) };
    case 'opaque':
      return { kind: 'unknown', reason: `opaque type \`${declared.name}\`` };
  }
}
