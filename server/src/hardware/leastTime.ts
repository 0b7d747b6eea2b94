/** What no kernel can be faster than. */

import { type Seconds, seconds } from '../model/units.ts';
import type { AttentionShape } from '../operators/definition.ts';
import type { GpuProfile } from './clusterProfile.ts';
import { computePath } from './computePath.ts';
import { savedByTransforms } from './kernels/convolutionTime.ts';
import type { KernelWork } from './kernelWork.ts';

/**
 * What no kernel can be faster than: everything multiplied at the peak, everything moved once at the bandwidth. Winograd's
 * F(4×4, 3×3) multiplies a quarter as often (Lavin, Gray, arXiv 1509.09308, section 4.1), Fourier transforms less. Batch normalization is charged
 * with three tensors forward and five backward, of which a persistent kernel moves two and three.
 */
export function leastTime(gpu: GpuProfile, work: KernelWork): Seconds {
  const nominal = computePath(gpu, work.dtype).peak / gpu.sustainedCompute.value;
  let saved = 1;
  for (const { shape } of work.matmuls ?? []) {
    if (shape.kind === 'convolution') saved = Math.max(saved, savedByTransforms(shape));
  }
  const moved = work.class === 'normalization' && work.rowLength === undefined ? 3 / 5 : 1;
  // Kernels skip the half of the scores that a causal mask hides, which FLOPs count.
  if (work.attention?.causal === true) saved = skippedByMask(work.attention);
  return seconds(Math.max(work.flops / nominal / saved, (work.bytes * moved) / gpu.memoryBandwidth.value));
}

/** Counted scores over those that a query sees: w each, or fewer at the begin of a sequence, w − w²/2k on average. */
const skippedByMask = ({ keys, window = keys }: AttentionShape): number => 1 / (1 - window / (2 * keys));
