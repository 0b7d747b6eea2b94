/**
 * Time of a kernel on a GPU: a roofline with the share of each roof that its class of kernels reaches.
 *
 *   t = max(FLOPs / (peak · e), operations / (vector peak · e), bytes / (bandwidth · e)) + launches · t_launch
 *
 * after Williams, Waterman, Patterson, "Roofline" (CACM 52(4), 2009); the shares e and the launch time are data
 * with their sources (`efficiency.json`). One share per class is wrong by 30 to 50 % on a single kernel, so
 * every time carries the low and high bound that the measured spread of its class gives.
 */

import {
  type Bytes,
  type Flops,
  type FlopsPerSecond,
  flopsPerSecond,
  type Seconds,
  seconds,
} from '../model/units.ts';
import type { KernelClass } from '../operators/definition.ts';
import type { GpuProfile, Numeric } from './clusterProfile.ts';
import efficiency from './efficiency.json';

/** What is to be done, by one or several launches of one class of kernel. */
export interface KernelWork {
  readonly class: KernelClass;
  /** Number type of the products. */
  readonly numeric: Numeric;
  readonly flops: Flops;
  readonly operations: number;
  readonly bytes: Bytes;
  readonly launches: number;
}

export interface KernelTime {
  readonly time: Seconds;
  readonly low: Seconds;
  readonly high: Seconds;
  readonly bound: 'compute' | 'memory' | 'launch' | 'none';
}

/** How a GPU multiplies numbers of a type: on which unit, at what peak, and as which type where it lacks the type. */
export interface ComputePath {
  readonly requested: Numeric;
  readonly actual: Numeric;
  readonly unit: 'vector' | 'tensor';
  readonly peak: FlopsPerSecond;
}

/**
 * What a GPU does when asked for a number type: its tensor cores where they have it, else the next wider type.
 * Half-precision products without tensor cores run at the fp32 rate, because libraries accumulate in fp32
 * (cuBLAS `CUBLAS_COMPUTE_32F`); bf16 falls to fp32, fp8 to bf16, tf32 to fp32.
 */
export function computePath(gpu: GpuProfile, requested: Numeric): ComputePath {
  let actual = requested;
  while (actual !== 'fp32') {
    const peak = gpu.peak.get(actual);
    if (peak !== undefined && gpu.tensorCores.has(actual)) {
      return { requested, actual, unit: 'tensor', peak: sustained(gpu, peak.value) };
    }
    actual = wider[actual];
  }
  return { requested, actual, unit: 'vector', peak: sustained(gpu, vectorPeak(gpu)) };
}

/** Zero for work that launches nothing. */
export function kernelTime(gpu: GpuProfile, work: KernelWork): KernelTime {
  if (work.launches === 0 && work.flops === 0 && work.bytes === 0) return noTime;
  const path = computePath(gpu, work.numeric);
  const shares = sharesOf(work.class);
  const compute = path.unit === 'tensor' ? shares.tensor : shares.vector;
  const computeTime = work.flops / path.peak;
  const operationTime = work.operations / sustained(gpu, vectorPeak(gpu));
  const memoryTime = work.bytes / gpu.memoryBandwidth.value;
  const at = (index: 0 | 1 | 2) =>
    Math.max(
      computeTime / compute[index],
      operationTime / elementwiseCompute[index],
      memoryTime / shares.memory[index],
    );
  const roof = at(0);
  const launch = launchTimes[0] * work.launches;
  return {
    time: seconds(roof + launch),
    low: seconds(at(2) + launchTimes[1] * work.launches),
    high: seconds(at(1) + launchTimes[2] * work.launches),
    bound:
      launch > roof
        ? 'launch'
        : roof === memoryTime / shares.memory[0]
          ? 'memory'
          : roof > 0
            ? 'compute'
            : 'none',
  };
}

/** FLOP per byte at which a GPU's compute roof meets its memory roof, for products of this type. */
export function ridge(gpu: GpuProfile, numeric: Numeric): number {
  return computePath(gpu, numeric).peak / gpu.memoryBandwidth.value;
}

/** [middle, low, high]. */
type Shares = readonly [number, number, number];

interface ClassShares {
  readonly vector: Shares;
  readonly tensor: Shares;
  readonly memory: Shares;
}

const noTime: KernelTime = { time: seconds(0), low: seconds(0), high: seconds(0), bound: 'none' };

const wider: Readonly<Record<Exclude<Numeric, 'fp32'>, Numeric>> = {
  fp8: 'bf16',
  bf16: 'fp32',
  fp16: 'fp32',
  tf32: 'fp32',
};

function vectorPeak(gpu: GpuProfile): FlopsPerSecond {
  return gpu.peak.get('fp32')?.value ?? flopsPerSecond(0);
}

const sustained = (gpu: GpuProfile, peak: FlopsPerSecond): FlopsPerSecond =>
  flopsPerSecond(peak * gpu.sustainedCompute.value);

const triple = (share: readonly number[]): Shares => [share[0] ?? 1, share[1] ?? 1, share[2] ?? 1];

const elementwiseCompute = triple(efficiency.elementwiseCompute.share);

const launchTimes = triple(efficiency.launch.microseconds.map((value) => value * 1e-6));

const classShares: ReadonlyMap<string, ClassShares> = new Map(
  Object.entries(efficiency.classes).map(([name, entry]) => [
    name,
    {
      vector: 'vector' in entry ? triple(entry.vector.share) : elementwiseCompute,
      tensor: 'tensor' in entry ? triple(entry.tensor.share) : elementwiseCompute,
      memory: triple(entry.memory.share),
    },
  ]),
);

/** Views and shape arithmetic launch nothing; what they are charged with is treated as movement. */
const otherShares: ClassShares = classShares.get('movement') ?? {
  vector: elementwiseCompute,
  tensor: elementwiseCompute,
  memory: [1, 1, 1],
};

const sharesOf = (kernelClass: KernelClass): ClassShares => classShares.get(kernelClass) ?? otherShares;
