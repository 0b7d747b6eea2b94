/**
 * Matmuls that a compiler pads with zeros, so that their rows begin where tensor cores load from (`unalignedMatmul.ts`).
 *
 * Inductor times a matmul of ragged sides as it is and padded, and keeps what is faster (PyTorch 2.13,
 * torch/_inductor/fx_passes/pad_mm.py, `can_pad`, `is_mm_compute_bound`, `is_padded_faster`). What it pads in half precision is written
 * by kernels that stand there anyway: casts of weights and of gradients. In fp32 it copies weights too, which is not counted.
 */

import type { MatmulShape } from '../../operators/definition.ts';
import type { GpuProfile } from '../clusterProfile.ts';
import type { ComputePath } from '../computePath.ts';

/** The sides that Inductor would try, each to the next whole 16 bytes; `undefined` where it leaves the matmul as it is. */
export function paddedShape(
  gpu: GpuProfile,
  path: ComputePath,
  shape: MatmulShape,
  bytesPerElement: number,
): MatmulShape | undefined {
  const step = wholeLoad / bytesPerElement;
  const whole = (side: number): number => (side === 1 ? side : Math.ceil(side / step) * step);
  const padded = { ...shape, m: whole(shape.m), n: whole(shape.n), k: whole(shape.k) };
  const isWhole = padded.m === shape.m && padded.n === shape.n && padded.k === shape.k;
  return isWhole || !isComputeBound(gpu, path, shape) ? undefined : padded;
}

/** A padded matmul must be faster by this factor: Inductor's guess of what moving its operands takes. */
export const leastGain = 1.1;

/** Bytes that rows must be apart by: 8 halves, 4 of fp32. */
const wholeLoad = 16;

/** Multiply-adds for each element that moves, against half of what the GPU's data sheet says of FLOPs and bandwidth. */
function isComputeBound(gpu: GpuProfile, path: ComputePath, { m, n, k }: MatmulShape): boolean {
  const isEarly = gpu.architecture !== 'hopper' && !gpu.architecture.startsWith('blackwell');
  if (path.requested === 'bf16' && isEarly && k > m && k > n) return true;
  const peak = path.peak / gpu.sustainedCompute.value;
  return (m * n * k) / (m * k + n * k + m * n) > (0.5 * peak) / gpu.memoryBandwidth.value;
}
