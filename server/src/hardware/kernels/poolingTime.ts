/** Pooling by windows, whose kernels are bound by instructions: for each entry of a window, and in backward for each input. */

import { windowPooling } from '../assumedShares.ts';
import type { GpuProfile } from '../clusterProfile.ts';
import type { KernelWork } from '../kernelWork.ts';
import { leastTime } from '../leastTime.ts';
import { type BodyTime, ofCycles } from './bodyTime.ts';

/** By PyTorch's own kernels (aten/src/ATen/native/cuda/DilatedMaxPool2d.cu, AveragePool2d.cu); `undefined` for other pooling. */
export function poolingTime(gpu: GpuProfile, work: KernelWork): BodyTime | undefined {
  const { clock, vendor, multiprocessors, memoryBandwidth } = gpu;
  const { pooling, operations, bytes, environment } = work;
  if (pooling === undefined || environment === undefined || clock === undefined || vendor !== 'NVIDIA')
    return undefined;
  const factors = windowPooling[environment.layout][`${pooling.kind} ${pooling.pass}`];
  const memory = (factors.memory * bytes) / memoryBandwidth.value;
  const cycles = factors.entries * operations + factors.inputs * pooling.inputs;
  const compute = cycles / multiprocessors.value / clock.value;
  const time = Math.max(factors.microseconds * 1e-6 + memory + compute, leastTime(gpu, work));
  return ofCycles({ time, bound: memory > compute ? 'memory' : 'compute' }, { low: 0.75, high: 1.35 });
}
