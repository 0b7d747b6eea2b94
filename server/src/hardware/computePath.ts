/** On which unit of a GPU matmuls of a number type are computed, and at what peak. */

import type { Dtype } from '../model/dtype.ts';
import { type FlopsPerSecond, flopsPerSecond } from '../model/units.ts';
import type { GpuProfile } from './clusterProfile.ts';

/** How a GPU multiplies numbers of a type: on which unit, at what peak, and as which type where it lacks the type. */
export interface ComputePath {
  readonly requested: Dtype;
  readonly actual: Dtype;
  readonly unit: 'vector' | 'tensor';
  readonly peak: FlopsPerSecond;
}

/**
 * What a GPU does when asked for a number type: its tensor cores where they have it, else the next wider type.
 * Half-precision matmuls without tensor cores run at the fp32 rate, because libraries accumulate in fp32
 * (cuBLAS `CUBLAS_COMPUTE_32F`); bf16 falls to fp32, fp8 and nvfp4 to bf16, tf32 to fp32.
 */
export function computePath(gpu: GpuProfile, requested: Dtype): ComputePath {
  let actual = requested;
  while (actual !== 'fp32') {
    const peak = gpu.peak.get(actual);
    if (peak !== undefined && gpu.tensorCores.has(actual)) {
      return { requested, actual, unit: 'tensor', peak: sustained(gpu, peak.value) };
    }
    actual = wider[actual];
  }
  const { matrixFp32 } = gpu;
  return matrixFp32 === undefined
    ? { requested, actual, unit: 'vector', peak: sustained(gpu, vectorPeak(gpu)) }
    : { requested, actual, unit: 'tensor', peak: sustained(gpu, matrixFp32.value) };
}

/** The half precision that a GPU multiplies in: bf16 where it has both; `undefined` where it has neither. */
export const halfPrecision = (gpu: GpuProfile): 'bf16' | 'fp16' | undefined =>
  (['bf16', 'fp16'] as const).find((each) => computePath(gpu, each).actual === each);

/** FLOP per byte at which a GPU's compute roof meets its memory roof, for matmuls of this type. */
export function ridge(gpu: GpuProfile, dtype: Dtype): number {
  return computePath(gpu, dtype).peak / gpu.memoryBandwidth.value;
}

const wider: Readonly<Record<Exclude<Dtype, 'fp32'>, Dtype>> = {
  nvfp4: 'bf16',
  fp8: 'bf16',
  bf16: 'fp32',
  fp16: 'fp32',
  tf32: 'fp32',
};

export function vectorPeak(gpu: GpuProfile): FlopsPerSecond {
  return gpu.peak.get('fp32')?.value ?? flopsPerSecond(0);
}

export const sustained = (gpu: GpuProfile, peak: FlopsPerSecond): FlopsPerSecond =>
  flopsPerSecond(peak * gpu.sustainedCompute.value);
