/**
 * Time of kernels that are bound by memory: each tensor goes through once, at a share of the nominal bandwidth.
 *
 * Element-wise kernels reach the same share at any size worth noting. Kernels that work row by row (softmax,
 * normalization) reach one that depends on the row: short rows fit into registers, long ones are read again. Their
 * share is interpolated over the logarithm of the row's length.
 */

import type { RowCurve } from '../curves.ts';

/** Seconds, without launch. `columns`: length of a row, where the kernel has rows. */
export function rowCurveTime(
  bandwidth: number,
  curve: RowCurve,
  bytes: number,
  columns: number | undefined,
): number {
  return bytes / (bandwidth * shareAt(curve, columns));
}

function shareAt({ shares }: RowCurve, columns: number | undefined): number {
  const [first] = shares;
  if (first === undefined) return 1;
  if (columns === undefined || columns <= first[0]) return first[1];
  let below = first;
  for (const above of shares) {
    if (columns <= above[0]) {
      const span = Math.log(above[0] / below[0]);
      const part = span === 0 ? 0 : Math.log(columns / below[0]) / span;
      return below[1] + (above[1] - below[1]) * part;
    }
    below = above;
  }
  return below[1];
}
