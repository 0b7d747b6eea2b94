/**
 * Kernel times of one machine, as benchmarks on it were fitted (`benchmark/calibration/`): in each kind of kernel
 *
 *   t = FLOPs · t_flop + bytes · t_byte + launches · t_launch
 *
 * They take the place of curves and rooflines for kinds that were measured. Where the GPU has a profile, its curves know how a
 * kernel depends on its shape: what was measured is then one factor for each kind.
 */

import { type Seconds, seconds } from '../model/units.ts';
import { isMatmulClass } from '../operators/definition.ts';
import { kernelKind } from './kernelKind.ts';
import type { MeasuredKernels } from './kernelRates.ts';
import type { KernelWork } from './kernelWork.ts';

export interface MeasuredTime {
  readonly time: Seconds;
  readonly low: Seconds;
  readonly high: Seconds;
  readonly bound: 'compute' | 'memory' | 'launch' | 'none';
}

/** The kind of a kernel by which machines are measured; matmuls by their number type too, batch normalization by its pass. */
export function measuredKind(work: KernelWork): string {
  if (work.purpose === 'update') return work.purpose;
  const kind = kernelKind(work);
  if (work.channelSums !== undefined) return `${kind} ${work.channelSums.pass}`;
  return isMatmulClass(work.class) ? `${kind} ${work.dtype}` : kind;
}

/** `undefined` for a kind that was not measured on the machine. `known`: what the GPU's profile says of the kernel. */
export function measuredKernelTime(
  measured: MeasuredKernels,
  work: KernelWork,
  known: () => Pick<MeasuredTime, 'time' | 'bound'>,
): MeasuredTime | undefined {
  const rates = measured.kinds.get(measuredKind(work));
  if (rates === undefined) return undefined;
  if (rates.ofProfile !== undefined) {
    const { time: before, bound } = known();
    const time = before * rates.ofProfile;
    return {
      time: seconds(time),
      low: seconds(time * Math.min(1, rates.low)),
      high: seconds(time * Math.max(1, rates.high)),
      bound,
    };
  }
  const compute = work.flops * rates.perFlop;
  const memory = work.bytes * rates.perByte;
  const launch = work.launches * rates.perLaunch;
  const time = compute + memory + launch;
  const bounds = { compute, memory, launch };
  return {
    time: seconds(time),
    low: seconds(time * Math.min(1, rates.low)),
    high: seconds(time * Math.max(1, rates.high)),
    bound: time === 0 ? 'none' : largest(bounds),
  };
}

const largest = (bounds: Readonly<Record<'compute' | 'memory' | 'launch', number>>) =>
  bounds.launch > Math.max(bounds.compute, bounds.memory)
    ? 'launch'
    : bounds.memory > bounds.compute
      ? 'memory'
      : 'compute';
