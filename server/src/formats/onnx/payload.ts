/**
 * Contents of tensors beside the tree, which holds only small ones: kept where a model is converted, and only where the
 * file it comes from writes them out.
 */

import type { TensorLiteral } from '../../model/attribute.ts';
import { countElements } from '../../model/countElements.ts';

export type Payload =
  /** The bytes of `raw_data`. */
  | { readonly kind: 'raw'; readonly bytes: Uint8Array }
  | { readonly kind: 'strings'; readonly texts: readonly string[] }
  /** As many zero bytes, which are nowhere in memory. */
  | { readonly kind: 'zeros'; readonly length: number };

/** By the very object in the tree. */
export type Payloads = ReadonlyMap<TensorLiteral, Payload>;

export const noPayloads: Payloads = new Map();

/** Whether nothing says what the elements of a tensor are: not the tree, not `payloads`, no external file. */
export const isHole = (tensor: TensorLiteral, payloads: Payloads): boolean =>
  tensor.elements === undefined &&
  tensor.external === undefined &&
  !payloads.has(tensor) &&
  !tensor.dimensions.includes(0);

export const elementCount = (tensor: TensorLiteral): number => countElements(tensor.dimensions);
