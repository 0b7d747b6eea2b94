/** One launch over the elements of tensors, which multiplies no matrices: a copy, a cast, a sum. */

import type { KernelEnvironment } from '../../hardware/kernelEnvironment.ts';
import type { KernelWork } from '../../hardware/kernelWork.ts';
import { bytes, flops } from '../../model/units.ts';

/** `size` in bytes, read and written; a copy has no operations. */
export function elementwiseKernel(size: number, operations = 0, environment?: KernelEnvironment): KernelWork {
  return {
    class: 'elementwise',
    dtype: 'fp32',
    flops: flops(0),
    operations,
    bytes: bytes(size),
    launches: 1,
    ...(environment === undefined ? {} : { environment }),
  };
}
