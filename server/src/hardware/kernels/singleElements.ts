/** Element-wise kernels that take elements one at a time are bound by instructions, not by memory. */

import { singleElementCycles } from '../assumedShares.ts';
import type { GpuProfile } from '../clusterProfile.ts';
import type { KernelWork } from '../kernelWork.ts';
import type { BodyTime } from './bodyTime.ts';

export function singleElementFloor(gpu: GpuProfile, { singly }: KernelWork, body: BodyTime): BodyTime {
  const { clock, vendor, multiprocessors } = gpu;
  if (singly === undefined || clock === undefined || vendor !== 'NVIDIA') return body;
  const cycles = singly.elements * singleElementCycles[singly.because];
  const time = cycles / multiprocessors.value / clock.value;
  if (time <= body.time) return body;
  const stretch = time / body.time;
  return { ...body, time, low: body.low * stretch, high: body.high * stretch, bound: 'compute' };
}
