/** How tensors lie in memory: the distance between neighbours along each axis, in elements. */

import { itemAt } from '../../model/at.ts';

export interface Strided {
  readonly sizes: readonly number[];
  readonly strides: readonly number[];
}

/** How a tensor of known sizes lies. */
export function knownLayout({ layout }: Pick<ViewLayout, 'layout'>, name: string): Strided {
  const lies = layout(name);
  if (lies === undefined) throw new RangeError(`the sizes of ${name} are not known`);
  return lies;
}

interface ViewLayout {
  readonly layout: (name: string) => Strided | undefined;
}

/** A tensor that lies in the order of its axes. */
export function contiguous(sizes: readonly number[]): Strided {
  const strides: number[] = [];
  let stride = 1;
  for (const size of sizes.toReversed()) {
    strides.unshift(stride);
    stride *= size;
  }
  return { sizes, strides };
}

export function liesInOrder({ sizes, strides }: Strided): boolean {
  const own = contiguous(sizes).strides;
  return strides.every((stride, axis) => stride === own[axis] || sizes[axis] === 1);
}

export const permuted = ({ sizes, strides }: Strided, order: readonly number[]): Strided => ({
  sizes: order.map((axis) => itemAt(sizes, axis)),
  strides: order.map((axis) => itemAt(strides, axis)),
});

/** A tensor repeated along axes of size 1 and along new ones before its own, where it has stride 0. */
export function expanded({ sizes, strides }: Strided, target: readonly number[]): Strided {
  const added = target.length - sizes.length;
  const steps = target.map((size, axis) => {
    const own = strides[axis - added];
    return own !== undefined && size !== 1 && sizes[axis - added] === size ? own : 0;
  });
  return { sizes: target, strides: steps };
}

/**
 * The strides that describe the same elements in another shape, `undefined` where none do and a reshape copies. Axes that lie one in the
 * other make a run, and each run must be cut into axes of the target by itself (PyTorch 2.13 aten/src/ATen/TensorUtils.cpp,
 * `computeStride`).
 */
export function stridesOfView(
  { sizes, strides }: Strided,
  target: readonly number[],
): readonly number[] | undefined {
  const result = target.map(() => 1);
  let next = target.length - 1;
  let run = 1;
  let innermost = strides.at(-1) ?? 1;
  for (let axis = sizes.length - 1; axis >= 0; axis -= 1) {
    run *= itemAt(sizes, axis);
    const outer = strides[axis - 1];
    if (outer !== undefined && (sizes[axis - 1] === 1 || outer === run * innermost)) continue;
    let covered = 1;
    while (next >= 0 && (covered < run || target[next] === 1)) {
      result[next] = covered * innermost;
      covered *= itemAt(target, next);
      next -= 1;
    }
    if (covered !== run) return undefined;
    run = 1;
    innermost = outer ?? 1;
  }
  return next < 0 ? result : undefined;
}

/**
 * The strides of what an operator computes element by element, of these sizes. It lies dense, its axes in the order in which those of its
 * operands lie, of which the first decides that tells two axes apart (PyTorch 2.13 aten/src/ATen/TensorIterator.cpp,
 * `reorder_dimensions`).
 */
export function elementwiseStrides(operands: readonly Strided[], sizes: readonly number[]): Strided {
  const steps = operands.map((operand) => expanded(operand, sizes).strides);
  const isBefore = (inner: number, outer: number): boolean | undefined => {
    for (const strides of steps) {
      const [one = 0, other = 0] = [strides[inner], strides[outer]];
      if (one === 0 || other === 0) continue;
      if (one !== other) return one < other;
      if (itemAt(sizes, inner) > itemAt(sizes, outer)) return false;
    }
    return undefined;
  };
  /** Axes from the innermost outwards. */
  const order = sizes.map((_, axis) => sizes.length - 1 - axis);
  for (let at = 1; at < order.length; at += 1) {
    let moved = at;
    for (let inner = at - 1; inner >= 0; inner -= 1) {
      const [first = 0, second = 0] = [order[inner], order[moved]];
      const stays = isBefore(first, second);
      if (stays === true) break;
      if (stays === undefined) continue;
      order[inner] = second;
      order[moved] = first;
      moved = inner;
    }
  }
  const strides = sizes.map(() => 1);
  let stride = 1;
  for (const axis of order) {
    strides[axis] = stride;
    stride *= itemAt(sizes, axis);
  }
  return { sizes, strides };
}

/**
 * Whether images lie channels last, so far that what is made of them lies so too (PyTorch 2.13 c10/core/MemoryFormat.h,
 * `is_channels_last_strides_2d_s4`): channels innermost, then columns, rows and images, gaps between them included.
 */
export function suggestsChannelsLast({ sizes, strides }: Strided): boolean {
  if (sizes.length !== 4 || strides[1] === 0) return false;
  let least = 0;
  for (const axis of [1, 3, 2, 0]) {
    const [size = 1, stride = 1] = [sizes[axis], strides[axis]];
    if (size === 0 || stride < least) return false;
    // Where both orders are the same, it is that of the axes.
    if (axis === 0 && least === strides[1]) return false;
    least = size > 1 ? stride * size : stride;
  }
  return true;
}
