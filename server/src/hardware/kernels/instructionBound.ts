/** Element-wise kernels that have more to do for each element than memory takes to move it are bound by instructions. */

import { instructionCycles } from '../assumedShares.ts';
import type { GpuProfile } from '../clusterProfile.ts';
import type { KernelWork } from '../kernelWork.ts';
import { type BodyTime, stretchedTo } from './bodyTime.ts';

export function instructionFloor(gpu: GpuProfile, { instructions }: KernelWork, body: BodyTime): BodyTime {
  const { clock, vendor, multiprocessors } = gpu;
  if (instructions === undefined || clock === undefined || vendor !== 'NVIDIA') return body;
  const cycles = instructions.elements * instructionCycles[instructions.kernel];
  const time = cycles / multiprocessors.value / clock.value;
  return time <= body.time ? body : { ...stretchedTo(time, body), bound: 'compute' };
}
