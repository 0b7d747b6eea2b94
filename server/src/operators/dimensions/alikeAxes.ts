/** Axes that several dimension maps compare. */

import { type Dimension, equalDimensions } from '../../model/dimension.ts';

/** Whether both have an axis, of one size. */
export const isAlike = (left: Dimension | undefined, right: Dimension | undefined): boolean =>
  left !== undefined && right !== undefined && equalDimensions(left, right);

export const axisOutside = 'the axis lies outside the input';
