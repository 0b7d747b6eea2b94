/** One launch over the elements of tensors, which multiplies no matrices: a copy, a cast, a sum. */

import type { KernelEnvironment } from '../../hardware/kernelEnvironment.ts';
import type { InstructionBound, KernelWork } from '../../hardware/kernelWork.ts';
import { bytes, flops } from '../../model/units.ts';

/** `size` in bytes, read and written; a copy has no operations. */
export function elementwiseKernel(
  size: number,
  operations = 0,
  environment?: KernelEnvironment,
  instructions?: InstructionBound,
): KernelWork {
  return {
    class: 'elementwise',
    dtype: 'fp32',
    flops: flops(0),
    operations,
    bytes: bytes(size),
    launches: 1,
    ...(instructions === undefined ? {} : { instructions }),
    ...(environment === undefined ? {} : { environment }),
  };
}

/** A cast of so many elements, where there is one. */
export const castBetween = (
  elements: number,
  bytesBefore: number,
  bytesAfter: number,
  environment?: KernelEnvironment,
): readonly KernelWork[] =>
  bytesBefore === bytesAfter ? [] : [castKernel(elements, bytesBefore, bytesAfter, environment)];

/** A cast of so many elements. */
export const castKernel = (
  elements: number,
  bytesBefore: number,
  bytesAfter: number,
  environment?: KernelEnvironment,
): KernelWork =>
  elementwiseKernel(
    elements * (bytesBefore + bytesAfter),
    0,
    environment,
    bytesBefore < bytesAfter ? { elements, kernel: 'widened' } : undefined,
  );
