/** One matmul as a kernel is timed. */

import { operandBytes } from '../../server/src/hardware/kernels/gemmTime.ts';
import type { KernelWork } from '../../server/src/hardware/kernelWork.ts';
import type { Dtype } from '../../server/src/model/dtype.ts';
import { bytes, flops } from '../../server/src/model/units.ts';
import type { MatmulShape } from '../../server/src/operators/definition.ts';

export type MatmulSides = Pick<MatmulShape, 'layout' | 'm' | 'n' | 'k'> & Partial<Pick<MatmulShape, 'batch'>>;

/** It reads both operands and writes the result once. */
export function matmulWork(sides: MatmulSides, dtype: Dtype): KernelWork {
  const shape = { kind: 'matmul', batch: 1, ...sides } as const;
  const bytesPerElement = dtype === 'fp32' || dtype === 'tf32' ? 4 : 2;
  return {
    class: 'matmul',
    dtype,
    flops: flops(2 * shape.batch * shape.m * shape.n * shape.k),
    operations: 0,
    bytes: bytes(operandBytes(shape, bytesPerElement)),
    launches: 1,
    bytesPerElement,
    matmuls: [{ shape, count: 1 }],
  };
}
