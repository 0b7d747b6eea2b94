/** Dimensions of what a layer reads, as the lowering of layers needs them. */

import { type Dimension, multiplyDimensions, printDimension } from '../../model/dimension.ts';
import type { TextSpan } from '../../model/issue.ts';
import type { Tensor } from '../layer-spec/layerDefinition.ts';
import type { CaffeCall } from './layerDefinition.ts';

/** Dimensions of bottom `index`; `undefined` where they are unknown, which was said where that began. */
export const shapeOf = (call: CaffeCall, index = 0): readonly Dimension[] | undefined =>
  call.inputs[index]?.shape;

/** Dimensions of bottom `index` where there are `rank` of them; says so where there are not. */
export function shapeOfRank(
  call: CaffeCall,
  rank: number,
  what: string,
  index = 0,
): readonly Dimension[] | undefined {
  const shape = shapeOf(call, index);
  if (shape === undefined || shape.length === rank) return shape;
  return call.mismatch(
    `${call.layer.type} reads ${what}, but \`${call.layer.bottoms[index]?.text}\` is ${printShape(shape)}`,
    call.layer.bottoms[index]?.span,
  );
}

/** An axis counted from the front; says so where the blob has no such axis. `limit` may be the rank or one more. */
export function axisOf(
  call: CaffeCall,
  axis: number,
  rank: number,
  span: TextSpan | undefined,
  limit = rank,
): number | undefined {
  const found = axis < 0 ? axis + rank : axis;
  if (found >= 0 && found < limit) return found;
  return call.problem(`axis ${axis} lies outside a blob of ${rank} axes`, span);
}

/** The product of dimensions where all are numbers. */
export function fixedProduct(dimensions: readonly Dimension[]): number | undefined {
  let product: Dimension = 1;
  for (const dimension of dimensions) product = multiplyDimensions(product, dimension);
  return typeof product === 'number' && Number.isSafeInteger(product) ? product : undefined;
}

export const fixed = (dimension: Dimension | undefined): number | undefined =>
  typeof dimension === 'number' ? dimension : undefined;

/** `[batch, 3, 227, 227]` */
export const printShape = (shape: Tensor['shape']): string =>
  shape === undefined ? 'of unknown shape' : `[${shape.map(printDimension).join(', ')}]`;
