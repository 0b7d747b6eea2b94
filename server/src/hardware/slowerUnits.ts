/**
 * Tensor cores that are slower than those a curve was measured on. GeForce boards, A10G and L40 multiply half precision with
 * fp32 accumulation at half of the rate that the same multiprocessor has on the boards whose kernels were measured.
 *
 * The time of a kernel has a part that the unit bounds, and a part that it does not: loads, and what a tile begins and ends with.
 * A kernel that reaches the share e of the full rate takes 1/e, of which 1 is the unit's. On a unit of rate r, at most 1,
 * that part takes 1/r and the rest as long as before. Of the rate r it reaches
 *
 *   e' = (1/r) / (1/r + 1/e − 1) = e / (e + r · (1 − e))
 *
 * A depth k₀ by which tiles are charged what they take besides their products stands for a time, so k₀' = k₀ · r · e'/e.
 */

import type { GpuProfile } from './clusterProfile.ts';
import { findGpu } from './gpus.ts';

/** Shares and depths of a curve, as they are on the slower unit. */
export interface SlowerUnit {
  /** `measured`: share of the nominal peak. */
  readonly share: (measured: number) => number;
  /** `of`: the share of the peak that is reached beside it. */
  readonly depth: (measured: number, of: number) => number;
}

/** `undefined` where the unit is no slower than that of `source`, the GPU of a curve, or not of the same maker. */
export function slowerUnit(gpu: GpuProfile, source: string): SlowerUnit | undefined {
  const measuredOn = findGpu(source);
  const rate = measuredOn === undefined ? undefined : rateBeside(gpu, measuredOn);
  if (measuredOn === undefined || rate === undefined || rate >= 1) return undefined;
  // What a limit of power takes from the peak is no part of a kernel.
  const sustained = measuredOn.sustainedCompute.value;
  const share = (measured: number): number => {
    const reached = Math.min(1, measured / sustained);
    return (sustained * reached) / (reached + rate * (1 - reached));
  };
  return { share, depth: (measured, of) => (measured * rate * share(of)) / of };
}

/** What a multiprocessor does in a cycle, beside one of the other GPU. */
function rateBeside(gpu: GpuProfile, other: GpuProfile): number | undefined {
  const [own, others] = [perCycle(gpu), perCycle(other)];
  return own === undefined || others === undefined ? undefined : own / others;
}

/** FLOP of half precision by one multiprocessor of NVIDIA. */
function perCycle({ vendor, clock, peak, multiprocessors }: GpuProfile): number | undefined {
  const half = peak.get('fp16');
  if (vendor !== 'NVIDIA' || half === undefined || clock === undefined) return undefined;
  return half.value / clock.value / multiprocessors.value;
}
