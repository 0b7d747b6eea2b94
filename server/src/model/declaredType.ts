/** Types of values as a file declares them: what it leaves out stays out. */

import type { ElementType } from './elementType.ts';

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
