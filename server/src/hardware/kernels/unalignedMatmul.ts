/**
 * Matmuls whose rows do not begin where tensor cores load from. Kernels of Hopper and Blackwell load rows by the tensor memory
 * accelerator, from addresses that are multiples of 16 bytes (CUDA Driver API, `cuTensorMapEncodeTiled`, `globalStrides`). Where a
 * row ends between them, cuBLAS takes kernels of Ampere, which load 4 bytes or 8 at once (`cutlass_80_…_align2`), and
 * where rows have an odd number of halves, 2 bytes. A vocabulary of 50,257 makes the largest matmul of GPT-2 seven times slower.
 */

import type { MatmulShape } from '../../operators/definition.ts';
import { unalignedFlops } from '../assumedShares.ts';
import type { GpuProfile } from '../clusterProfile.ts';
import type { ComputePath } from '../computePath.ts';
import type { MatmulCurve } from '../curves.ts';

/** Bytes that a tensor core's operands are loaded by. */
const wholeLoad = 16;

/** The curve as it is for the rows of this matmul: the same where they are aligned. */
export function curveForRows(
  gpu: GpuProfile,
  path: ComputePath,
  curve: MatmulCurve,
  shape: MatmulShape,
  bytesPerElement: number,
): MatmulCurve {
  const rate = unalignedRate(gpu, path, alignment(shape, bytesPerElement));
  if (rate === undefined || gpu.clock === undefined) return curve;
  const peak = path.peak / gpu.multiprocessors.value / gpu.clock.value;
  const most = Math.max(...curve.tiles.map(([, , share]) => share));
  const slower = Math.min(1, rate / (peak * most));
  return { ...curve, tiles: curve.tiles.map(([m, n, share]) => [m, n, share * slower] as const) };
}

/**
 * Bytes by which all rows of the operands and of the result are apart, at most `wholeLoad`. Rows lie along the depth or along
 * the other side, as the layout says; the result lies as its operand where it is a gradient.
 */
function alignment({ layout, batch, m, n, k }: MatmulShape, bytesPerElement: number): number {
  const left = layout.endsWith('t') ? m : k;
  const right = layout.startsWith('t') ? k : n;
  const rows = [left, right, n, ...(batch > 1 ? [m * k, k * n, m * n] : [])];
  let bytes = wholeLoad;
  while (bytes > bytesPerElement && rows.some((row) => (row * bytesPerElement) % bytes !== 0)) bytes /= 2;
  return bytes;
}

/** FLOP that a multiprocessor does in a cycle; `undefined` where rows are aligned or nothing was measured. */
function unalignedRate({ architecture, vendor }: GpuProfile, { unit, actual }: ComputePath, bytes: number) {
  if (bytes >= wholeLoad || unit !== 'tensor' || vendor !== 'NVIDIA' || !measuredOn.has(architecture))
    return undefined;
  if (actual === 'tf32') return unalignedFlops.tf32;
  if (actual !== 'fp16' && actual !== 'bf16') return undefined;
  return bytes === 2 ? unalignedFlops.single : unalignedFlops.pairs;
}

/** Whose libraries fall back to the kernels of Ampere, and Ampere itself. */
const measuredOn: ReadonlySet<string> = new Set(['ampere', 'ada', 'hopper', 'blackwell', 'blackwell-rtx']);
