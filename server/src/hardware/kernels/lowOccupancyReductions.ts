/** Sums by few thread blocks, which leave most of a GPU idle and wait for what they load. */

import type { Bound } from '../../model/estimate.ts';
import {
  channelLoads,
  columnSumLoads,
  ownBatchNorm,
  rowSums,
  sharedColumnSumLoads,
} from '../assumedShares.ts';
import type { GpuProfile } from '../clusterProfile.ts';
import type { KernelWork } from '../kernelWork.ts';
import { type BodyTime, ofCycles, stretchedTo } from './bodyTime.ts';

/**
 * Few blocks leave most multiprocessors idle, and each of the others loads no faster than its threads wait: what bounds sums
 * of columns is the rows, however many columns there are. AMD's kernels share the rows out.
 */
export function columnReductionFloor(
  gpu: GpuProfile,
  { columnSums, environment }: KernelWork,
  body: BodyTime,
): BodyTime {
  const { clock, vendor, multiprocessors } = gpu;
  if (columnSums === undefined || clock === undefined || vendor !== 'NVIDIA') return body;
  const { blocks, elements, rows } = columnSums;
  const sharesRows = environment?.sharesRows === true;
  if (sharesRows && rows > manyRows && blocks < multiprocessors.value / 2) return body;
  const loads = sharesRows ? sharedColumnSumLoads : columnSumLoads;
  const cycles = elements / Math.min(blocks, multiprocessors.value);
  return atLeast(body, (rate) => cycles / clock.value / loads[rate]);
}

/** From which several blocks share rows out, if few columns leave half of a GPU idle (PyTorch 2.8 layer_norm_kernel.cu). */
const manyRows = 65_536;

/**
 * Forward of a layer normalization and the gradient of its rows: a block waits for the sums of its row, and of short rows that is
 * most of the time.
 */
export function normalizedRowsFloor(
  gpu: GpuProfile,
  { normalized, bytes }: KernelWork,
  body: BodyTime,
): BodyTime {
  const { clock, vendor, multiprocessors, memoryBandwidth } = gpu;
  if (normalized === undefined || clock === undefined || vendor !== 'NVIDIA') return body;
  const { memory, cycles } = rowSums[normalized.pass];
  const waiting = (normalized.rows * cycles) / multiprocessors.value / clock.value;
  const time = (memory * bytes) / memoryBandwidth.value + waiting;
  return time <= body.time ? body : stretchedTo(time, body);
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
  if (channelSums.ownPlanes !== undefined) return body;
  const { pass, channels, loads } = channelSums;
  const rounds = Math.ceil(channels / (3 * multiprocessors.value));
  const moved = bytes / memoryBandwidth.value;
  return atLeast(body, (rate) => moved + (rounds * loads) / clock.value / channelLoads[pass][rate]);
}

/**
 * Batch normalization by PyTorch's own kernels, which it takes in bf16, and cuDNN's otherwise (aten/src/ATen/native/
 * Normalization.cpp, `use_cudnn`). Its gradient is one kernel with a block for each channel; forward is one such kernel for the sums
 * and one for the rest, with blocks for each image and channel.
 */
export function ownBatchNormTime(
  gpu: GpuProfile,
  { channelSums, bytes, environment }: KernelWork,
): BodyTime | undefined {
  const { clock, vendor, multiprocessors, memoryBandwidth } = gpu;
  if (channelSums?.ownPlanes === undefined || environment === undefined) return undefined;
  if (clock === undefined || vendor !== 'NVIDIA') return undefined;
  const factors = ownBatchNorm[environment.layout][channelSums.pass];
  const rounds = Math.ceil(channelSums.channels / (4 * multiprocessors.value));
  const time =
    factors.microseconds * 1e-6 +
    (factors.memory * bytes) / memoryBandwidth.value +
    (rounds * channelSums.loads * factors.loads) / clock.value +
    (channelSums.ownPlanes * factors.planes) / multiprocessors.value / clock.value;
  const bounded = { time, bound: 'memory' } as const;
  return gpu.name === ownBatchNormGpu
    ? ofCycles(bounded, { low: 0.85, high: 1.2 }, 'measured')
    : ofCycles(bounded, { low: 0.7, high: 1.4 });
}

const ownBatchNormGpu = 'h200-sxm';

/** `timeAt` takes the bound of a rate: the lower it is, the longer the time. What is waited for is memory, not arithmetic. */
function atLeast(body: BodyTime, timeAt: (rate: Bound) => number): BodyTime {
  const time = timeAt('middle');
  if (time <= body.time) return body;
  return { ...body, time, low: timeAt('high'), high: Math.max(timeAt('low'), body.high), bound: 'memory' };
}
