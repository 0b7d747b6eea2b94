/** Kernels of one tensor, as an optimizer of PyTorch launches them one after another. */

import type { KernelWork } from '../../hardware/kernelWork.ts';
import type { Dtype } from '../../model/dtype.ts';
import { bytes, flops } from '../../model/units.ts';

/** Passes over `elements` that move `size` bytes of each. */
export const passOver = (
  elements: number,
  size: number,
  launches = 1,
  kernelClass: KernelWork['class'] = 'elementwise',
): KernelWork => ({
  class: kernelClass,
  dtype: 'fp32',
  flops: flops(0),
  operations: elements,
  bytes: bytes(elements * size),
  launches,
});

/** The norm of a tensor, or those of its rows or columns: a reduction that reads it once. */
export const normOf = (elements: number, size: number): KernelWork =>
  passOver(elements, size, 1, 'reduction');

/** m×k by k×n. */
export function product(m: number, n: number, k: number, dtype: Dtype, bytesPerElement: number): KernelWork {
  const work = flops(2 * m * n * k);
  return {
    class: 'matmul',
    dtype,
    flops: work,
    operations: 0,
    bytes: bytes((m * k + k * n + m * n) * bytesPerElement),
    launches: 1,
    matmuls: [{ shape: { kind: 'matmul', layout: 'nn', batch: 1, m, n, k }, count: 1 }],
    bytesPerElement,
  };
}
