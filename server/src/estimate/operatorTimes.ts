/** GPU time of every operator, forward and backward, from its kernels. */

import type { LoweredGraph, LoweredOperator } from '../frameworks/behaviour.ts';
import type { GpuProfile } from '../hardware/clusterProfile.ts';
import { type KernelTime, type KernelWork, kernelTime } from '../hardware/kernelTime.ts';

/** [middle, low, high], in seconds. */
export type TimeTriple = readonly [number, number, number];

export interface PassTime {
  readonly device: TimeTriple;
  readonly launches: number;
  /** GPU time by what bounds it, middle values. */
  readonly byBound: Readonly<Record<KernelTime['bound'], number>>;
}

export interface OperatorTime {
  readonly forward: PassTime;
  readonly backward: PassTime;
}

/** Aligned with the operators of the graph; an operator of unknown cost takes no time here and is listed elsewhere. */
export function operatorTimes(gpu: GpuProfile, lowered: LoweredGraph): readonly OperatorTime[] {
  return lowered.operators.map((operator) =>
    operator === undefined
      ? nothing
      : { forward: passTime(gpu, operator.forward), backward: backwardOf(gpu, operator) },
  );
}

export function passTime(gpu: GpuProfile, kernels: readonly KernelWork[]): PassTime {
  if (kernels.length === 0) return noPass;
  const device: [number, number, number] = [0, 0, 0];
  const byBound = { compute: 0, memory: 0, launch: 0, none: 0 };
  let launches = 0;
  for (const kernel of kernels) {
    const { time, low, high, bound } = kernelTime(gpu, kernel);
    device[0] += time;
    device[1] += low;
    device[2] += high;
    byBound[bound] += time;
    launches += kernel.launches;
  }
  return { device, launches, byBound };
}

const backwardOf = (gpu: GpuProfile, operator: LoweredOperator): PassTime =>
  passTime(gpu, [...operator.backwardData, ...operator.backwardWeight]);

const noPass: PassTime = {
  device: [0, 0, 0],
  launches: 0,
  byBound: { compute: 0, memory: 0, launch: 0, none: 0 },
};

const nothing: OperatorTime = { forward: noPass, backward: noPass };
