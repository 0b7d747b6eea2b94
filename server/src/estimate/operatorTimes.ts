/** GPU time of every operator, forward and backward, from its kernels. */

import type { LoweredGraph } from '../frameworks/behaviour.ts';
import type { GpuProfile } from '../hardware/clusterProfile.ts';
import { type KernelWork, kernelTime } from '../hardware/kernelTime.ts';

/** Columns aligned with the operators of the graph, in seconds. */
export interface PassTimes {
  readonly middle: Float64Array;
  readonly low: Float64Array;
  readonly high: Float64Array;
  readonly launches: Float64Array;
  /** The middle value by what bounds it. */
  readonly compute: Float64Array;
  readonly memory: Float64Array;
  readonly launch: Float64Array;
  /** Bytes moved. */
  readonly bytes: Float64Array;
}

export interface OperatorTimes {
  readonly forward: PassTimes;
  readonly backward: PassTimes;
}

/** An operator of unknown cost takes no time here; it is listed elsewhere. */
export function operatorTimes(gpu: GpuProfile, lowered: LoweredGraph): OperatorTimes {
  const count = lowered.operators.length;
  const forward = emptyTimes(count);
  const backward = emptyTimes(count);
  for (const [index, operator] of lowered.operators.entries()) {
    if (operator === undefined) continue;
    for (const kernel of operator.forward) addKernel(gpu, forward, index, kernel);
    for (const kernel of operator.backwardData) addKernel(gpu, backward, index, kernel);
    for (const kernel of operator.backwardWeight) addKernel(gpu, backward, index, kernel);
  }
  return { forward, backward };
}

/** The kernels of one piece of work, as columns of length 1. */
export function kernelTimes(gpu: GpuProfile, kernels: readonly KernelWork[]): PassTimes {
  const times = emptyTimes(1);
  for (const kernel of kernels) addKernel(gpu, times, 0, kernel);
  return times;
}

function emptyTimes(count: number): PassTimes {
  const column = () => new Float64Array(count);
  return {
    middle: column(),
    low: column(),
    high: column(),
    launches: column(),
    compute: column(),
    memory: column(),
    launch: column(),
    bytes: column(),
  };
}

function addKernel(gpu: GpuProfile, times: PassTimes, index: number, kernel: KernelWork): void {
  const { time, low, high, bound } = kernelTime(gpu, kernel);
  addTo(times.middle, index, time);
  addTo(times.low, index, low);
  addTo(times.high, index, high);
  addTo(times.launches, index, kernel.launches);
  addTo(times.bytes, index, kernel.bytes);
  if (bound !== 'none') addTo(times[bound], index, time);
}

function addTo(column: Float64Array, index: number, amount: number): void {
  column[index] = (column[index] ?? 0) + amount;
}
