/**
 * Time of a kernel on a GPU.
 *
 * A machine that was measured itself has its own rates (`measuredKernels.ts`). Elsewhere:
 *
 * Matmuls and convolutions of known shape, element-wise kernels and kernels over rows follow curves that were fitted
 * to measurements (`curves.ts`, `kernels/`). The rest is a roofline with the share of each roof that its class reaches:
 *
 *   t = max(FLOPs / (peak · e), operations / (vector peak · e), bytes / (bandwidth · e)) + launches · t_launch
 *
 * after Williams, Waterman, Patterson, "Roofline" (CACM 52(4), 2009); the shares e and the launch time are data
 * with their sources (`efficiency.json`). Every time carries the low and high bound that the spread of its curve on
 * rows it has not seen gives, or the measured spread of its class.
 */

import { type Seconds, seconds } from '../model/units.ts';
import { launchTimes, recurrentLaunchTimes } from './assumedShares.ts';
import type { GpuProfile } from './clusterProfile.ts';
import { corrected } from './correctedTime.ts';
import { doubtOfRuns, type KernelDoubt, kernelDoubt } from './kernelDoubt.ts';
import type { BodyTime, TimeBasis, TimeOrigin } from './kernels/bodyTime.ts';
import { dequantizationTime } from './kernels/dequantization.ts';
import { instructionFloor } from './kernels/instructionBound.ts';
import { listKernelTime } from './kernels/listKernel.ts';
import {
  channelReductionFloor,
  columnReductionFloor,
  normalizedRowsFloor,
  ownBatchNormTime,
} from './kernels/lowOccupancyReductions.ts';
import { matrixKernelTime } from './kernels/matrixKernelTime.ts';
import { poolingTime } from './kernels/poolingTime.ts';
import { rooflineTime } from './kernels/rooflineTime.ts';
import { rowKernelTime } from './kernels/rowKernelTime.ts';
import type { KernelWork } from './kernelWork.ts';
import { measuredKernelTime } from './measuredKernels.ts';

export interface KernelTime {
  readonly time: Seconds;
  readonly low: Seconds;
  readonly high: Seconds;
  /** How far it may be off as a part of a step (`kernelDoubt.ts`). */
  readonly doubt: KernelDoubt;
  readonly bound: 'compute' | 'memory' | 'launch' | 'none';
  readonly basis: TimeBasis;
  /** The measurements it follows; absent for a roofline. */
  readonly origin: TimeOrigin | undefined;
}

/** Zero for work that launches nothing. */
export function kernelTime(gpu: GpuProfile, work: KernelWork): KernelTime {
  if (work.launches === 0 && work.flops === 0 && work.bytes === 0) return noTime;
  const known = (): KernelTime => knownTime(gpu, work);
  const measured = gpu.kernels === undefined ? undefined : measuredKernelTime(gpu.kernels, work, known);
  return measured === undefined
    ? known()
    : { ...measured, doubt: doubtOfRuns(measured), basis: 'measured', origin: undefined };
}

/** As far as the GPU is known without measurements on this machine. */
function knownTime(gpu: GpuProfile, work: KernelWork): KernelTime {
  const body = corrected(gpu, work, bodyTime(gpu, work));
  const launches = work.class === 'recurrent' ? recurrentLaunchTimes : launchTimes;
  const launch = launches.middle * work.launches;
  return {
    time: seconds(body.time + launch),
    low: seconds(body.low + launches.low * work.launches),
    high: seconds(body.high + launches.high * work.launches),
    doubt: kernelDoubt(work, body),
    bound: launch > body.time ? 'launch' : body.bound,
    basis: body.basis,
    origin: body.origin,
  };
}

/** Without launches, and as if the kernel ran by itself: what corrections are fitted to. */
export const uncorrectedTime = (gpu: GpuProfile, work: KernelWork): Seconds =>
  seconds(bodyTime(gpu, work).time);

/** Matmuls of tensors without elements have no tiles to be timed by; what moves beside them still takes its time. */
const bodyTime = (gpu: GpuProfile, work: KernelWork): BodyTime => {
  const body =
    dequantizationTime(gpu, work) ??
    ownBatchNormTime(gpu, work) ??
    poolingTime(gpu, work) ??
    (work.flops === 0 ? undefined : matrixKernelTime(gpu, work)) ??
    rowKernelTime(gpu, work) ??
    rooflineTime(gpu, work);
  return floors.reduce((time, floor) => floor(gpu, work, time), body);
};

/** What bounds a kernel besides, each over those before. */
const floors: readonly ((gpu: GpuProfile, work: KernelWork, body: BodyTime) => BodyTime)[] = [
  normalizedRowsFloor,
  columnReductionFloor,
  channelReductionFloor,
  instructionFloor,
  listKernelTime,
];

const noTime: KernelTime = {
  time: seconds(0),
  low: seconds(0),
  high: seconds(0),
  doubt: { cause: 'steps', place: 'own', seen: { low: 0, high: 0 } },
  bound: 'none',
  basis: 'measured',
  origin: undefined,
};

/** What the GPU needs for a kernel that does nothing: no batch makes it longer. */
export const emptyKernelTime = seconds(launchTimes.middle);
