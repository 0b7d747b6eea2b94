/** Multidirectional broadcasting (ONNX docs/Broadcasting.md), as in NumPy. */

import { broadcastDimensions, type Dimension } from '../../model/dimension.ts';

/** The shape all of these broadcast to, or `undefined` where two numbers contradict each other. */
export function broadcastShapes(shapes: readonly (readonly Dimension[])[]): readonly Dimension[] | undefined {
  let result: readonly Dimension[] = [];
  for (const shape of shapes) {
    const together = broadcastPair(result, shape);
    if (together === undefined) return undefined;
    result = together;
  }
  return result;
}

function broadcastPair(
  left: readonly Dimension[],
  right: readonly Dimension[],
): readonly Dimension[] | undefined {
  const rank = Math.max(left.length, right.length);
  const result: Dimension[] = [];
  for (let axis = 0; axis < rank; axis += 1) {
    const dimension = broadcastDimensions(
      dimensionAt(left, axis - rank + left.length),
      dimensionAt(right, axis - rank + right.length),
    );
    if (dimension === undefined) return undefined;
    result.push(dimension);
  }
  return result;
}

/** Axes before the first are 1. Asking an array for a negative index is far slower than comparing. */
const dimensionAt = (shape: readonly Dimension[], axis: number): Dimension =>
  axis < 0 ? 1 : (shape[axis] ?? 1);

/**
 * Position, in a tensor of `shape`, of the element that meets element `index` of a tensor of shape `whole` it is
 * broadcast to; both in row-major order.
 */
export function broadcastPosition(index: number, whole: readonly number[], shape: readonly number[]): number {
  let rest = index;
  let position = 0;
  let stride = 1;
  for (let axis = whole.length - 1; axis >= 0; axis -= 1) {
    const size = whole[axis] ?? 1;
    const coordinate = rest % size;
    rest = Math.floor(rest / size);
    const own = shape[axis - whole.length + shape.length];
    if (own === undefined) continue;
    if (own !== 1) position += coordinate * stride;
    stride *= own;
  }
  return position;
}

/** Two numbers that differ; anything symbolic may still agree. */
export const contradict = (left: Dimension, right: Dimension): boolean =>
  typeof left === 'number' && typeof right === 'number' && left !== right;
