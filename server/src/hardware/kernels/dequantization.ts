/** Weights of few bits are made whole at a share of the bandwidth that is lower than that of other element-wise kernels. */

import { dequantizedShare } from '../assumedShares.ts';
import type { GpuProfile } from '../clusterProfile.ts';
import type { KernelWork } from '../kernelWork.ts';
import type { BodyTime } from './bodyTime.ts';

/** `undefined` for all other kernels. */
export function dequantizationTime(
  { memoryBandwidth }: GpuProfile,
  { dequantizes, bytes }: KernelWork,
): BodyTime | undefined {
  if (dequantizes !== true) return undefined;
  const time = bytes / memoryBandwidth.value;
  const { middle, low, high } = dequantizedShare;
  return {
    time: time / middle,
    low: time / high,
    high: time / low,
    bound: 'compute',
    basis: 'roofline',
    distance: Number.POSITIVE_INFINITY,
    origin: undefined,
  };
}
