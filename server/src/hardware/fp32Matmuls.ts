/**
 * What matmuls in fp32 reach on the lanes of a multiprocessor, beside GPUs whose kernels were measured.
 *
 * A multiprocessor issues an instruction for 128 lanes in a cycle. Where it has 64 lanes of fp32 (Volta, Turing, A100), loads and
 * addresses go beside the multiply-adds; where it has 128 they take the place of some. In Ampere of cards, Ada and Blackwell of
 * workstations half of the lanes also do the integers (NVIDIA, GA102 whitepaper, "2x FP32 throughput").
 */

import type { GpuProfile } from './clusterProfile.ts';
import { vectorPeak } from './computePath.ts';
import efficiency from './efficiency.json';

/** Share of its peak that a large matmul in fp32 reaches, beside one on A100; 1 where nothing says otherwise. */
export function fp32MatmulShare(gpu: GpuProfile): number {
  const { fp32Matmuls } = efficiency;
  switch (gpu.architecture) {
    case 'hopper':
      return fp32Matmuls.hopper;
    case 'blackwell':
      return fp32Matmuls.blackwell;
    case 'ampere':
      return lanesOf(gpu) > 96 ? fp32Matmuls['half-integer-lanes'] : 1;
    case 'ada':
    case 'blackwell-rtx':
      return fp32Matmuls['half-integer-lanes'];
    default:
      return 1;
  }
}

/** Multiply-adds of fp32 that a multiprocessor does in a cycle. */
const lanesOf = (gpu: GpuProfile): number =>
  vectorPeak(gpu) / (2 * gpu.multiprocessors.value * (gpu.clock?.value ?? Number.POSITIVE_INFINITY));
