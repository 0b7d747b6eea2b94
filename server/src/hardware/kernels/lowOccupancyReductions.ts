/** Sums by few thread blocks, which leave most of a GPU idle and wait for what they load. */

import type { Bound } from '../../model/estimate.ts';
import { channelLoads, columnSumLoads } from '../assumedShares.ts';
import type { GpuProfile } from '../clusterProfile.ts';
import type { KernelWork } from '../kernelWork.ts';
import type { BodyTime } from './bodyTime.ts';

/**
 * Few blocks leave most multiprocessors idle, and each of the others loads no faster than its threads wait: what bounds sums
 * of columns is the rows, however many columns there are. AMD's kernels share the rows out.
 */
export function columnReductionFloor(gpu: GpuProfile, { columnSums }: KernelWork, body: BodyTime): BodyTime {
  const { clock, vendor, multiprocessors } = gpu;
  if (columnSums === undefined || clock === undefined || vendor !== 'NVIDIA') return body;
  const { blocks, elements } = columnSums;
  const cycles = elements / Math.min(blocks, multiprocessors.value);
  return atLeast(body, (rate) => cycles / clock.value / columnSumLoads[rate]);
}

/**
 * A block that has a channel to itself waits for what its threads loaded before it loads more, and moves no byte meanwhile:
 * of few channels, most of the time is waiting, on a GPU of any bandwidth. Three blocks of 512 threads with 40 registers
 * each are on a multiprocessor at once.
 */
export function channelReductionFloor(
  gpu: GpuProfile,
  { channelSums, bytes }: KernelWork,
  body: BodyTime,
): BodyTime {
  const { clock, vendor, multiprocessors, memoryBandwidth } = gpu;
  if (channelSums === undefined || clock === undefined || vendor !== 'NVIDIA') return body;
  const { pass, channels, loads } = channelSums;
  const rounds = Math.ceil(channels / (3 * multiprocessors.value));
  const moved = bytes / memoryBandwidth.value;
  return atLeast(body, (rate) => moved + (rounds * loads) / clock.value / channelLoads[pass][rate]);
}

/** `timeAt` takes the bound of a rate: the lower it is, the longer the time. What is waited for is memory, not arithmetic. */
function atLeast(body: BodyTime, timeAt: (rate: Bound) => number): BodyTime {
  const time = timeAt('middle');
  if (time <= body.time) return body;
  return { ...body, time, low: timeAt('high'), high: Math.max(timeAt('low'), body.high), bound: 'memory' };
}
