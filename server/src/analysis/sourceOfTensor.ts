/** The parameter that an exporter has stored a tensor for. */

import type { TensorLiteral } from '../model/attribute.ts';

/** The name of the parameter that a tensor was stored for. */
export function sourceOf({ name, origin }: TensorLiteral): string {
  const folded = origin?.foldedFrom?.length === 1 ? origin.foldedFrom[0] : undefined;
  return origin?.parameter ?? folded ?? name;
}
