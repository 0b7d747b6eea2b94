/** Time of a kernel as whole training steps show it. */

import type { GpuProfile } from './clusterProfile.ts';
import { computePath } from './computePath.ts';
import { findCorrection, type SustainedMatmuls, sustainedMatmuls } from './corrections.ts';
import { curvesOf } from './curves.ts';
import type { KernelEnvironment } from './kernelEnvironment.ts';
import { isMatmulKind, kernelKind } from './kernelKind.ts';
import type { BodyTime } from './kernels/bodyTime.ts';
import type { KernelWork } from './kernelWork.ts';
import { leastTime } from './leastTime.ts';

/**
 * The time as whole training steps show it, where they were measured on a GPU no less alike than that of the curve: one
 * kernel by itself does not show what its neighbours leave in the caches, or which kernel a library takes.
 */
export function corrected(gpu: GpuProfile, work: KernelWork, body: BodyTime): BodyTime {
  const environment = work.environment && environmentOf(gpu, work, work.environment);
  if (environment === undefined) return body;
  const kind = kernelKind(work);
  const correction = findCorrection(gpu, environment);
  if (correction === undefined || correction.distance > body.distance) {
    const matmuls = isMatmulKind(kind) ? sustainedOn(gpu, work, environment) : undefined;
    if (matmuls === undefined) return body;
    const factor = 1 + (matmuls.factor - 1) * activeShare(gpu, work, body.time);
    return { ...stretched(gpu, work, body, { ...matmuls, factor }), origin: matmuls };
  }
  const factor = correction.factors.get(kind);
  if (factor === undefined) return body;
  return {
    ...stretched(gpu, work, body, { factor, ratio: correction.ratio }),
    basis: correction.nearness,
    distance: correction.distance,
    origin: correction,
  };
}

function stretched(
  gpu: GpuProfile,
  work: KernelWork,
  body: BodyTime,
  { factor, ratio }: Pick<SustainedMatmuls, 'factor' | 'ratio'>,
): BodyTime {
  const least = leastTime(gpu, work);
  const time = Math.max(body.time * factor, least);
  return {
    ...body,
    time,
    low: Math.max(least, time * Math.min(1, ratio.low)),
    high: time * Math.max(1, ratio.high),
  };
}

/**
 * How much of the time of a matmul the GPU draws as much power as one at its limit: what reaches half of the peak does all the time.
 * Matmuls that wait for memory, as those of a decode step, draw less. That it is half is an assumption: large ones reach more.
 */
export function activeShare(gpu: GpuProfile, { dtype, flops: matmuls }: KernelWork, time: number): number {
  const peak = computePath(gpu, dtype).peak / gpu.sustainedCompute.value;
  return time === 0 ? 1 : Math.min(1, matmuls / (enough * peak) / time);
}

const enough = 0.5;

/**
 * Where a GPU multiplies without a pause it reaches its limit of power and lowers its clock, and what travels beside a
 * matmul takes from it: one matmul by itself shows neither.
 */
function sustainedOn(
  gpu: GpuProfile,
  { dtype }: KernelWork,
  { olderMatmuls }: KernelEnvironment,
): SustainedMatmuls | undefined {
  const { unit } = computePath(gpu, dtype);
  const curve = unit === 'tensor' ? curvesOf(gpu).matmul.tensor.tn : undefined;
  return curve && sustainedMatmuls(curve.gpu, { older: olderMatmuls === true, fp8: dtype === 'fp8' });
}

/**
 * TF32 convolutions run on the kernels of half precision at half their rate (cuDNN 8 release notes: the same
 * implicit-GEMM engines), so what steps in mixed precision show of them holds.
 */
function environmentOf(
  gpu: GpuProfile,
  { class: kernelClass, dtype, flops: matmuls }: KernelWork,
  environment: KernelEnvironment,
): KernelEnvironment {
  if (environment.mixed || dtype !== 'tf32' || kernelClass !== 'convolution' || matmuls === 0) {
    return environment;
  }
  return computePath(gpu, dtype).actual === 'tf32' ? { ...environment, mixed: true } : environment;
}
