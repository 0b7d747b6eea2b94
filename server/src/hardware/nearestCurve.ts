/** Which measured GPU stands for one that was not measured. */

import type { GpuProfile } from './clusterProfile.ts';
import { findGpu } from './gpus.ts';

/** How near the GPU is on which a curve was measured. */
export type Nearness = 'measured' | 'architecture' | 'generation';

/** An entry, and how unlike the GPU is that it was measured on: 0 for the GPU itself. */
export interface Nearest<Entry> {
  readonly entry: Entry;
  readonly nearness: Nearness;
  readonly distance: number;
}

/**
 * The entry of the GPU itself; else of its architecture, the most alike in size; else of the generation nearest in
 * time among GPUs of its kind. `undefined` for a CPU, and where nothing of its kind was measured.
 */
export function nearestCurve<Entry extends { readonly gpu: string }>(
  gpu: GpuProfile,
  entries: readonly Entry[],
): Nearest<Entry> | undefined {
  const own = entries.find((entry) => entry.gpu === gpu.name);
  if (own !== undefined) return { entry: own, nearness: 'measured', distance: 0 };
  const generation = generations.get(gpu.architecture);
  if (generation === undefined) return undefined;
  let best: Nearest<Entry> | undefined;
  let least = Number.POSITIVE_INFINITY;
  for (const entry of entries) {
    const other = findGpu(entry.gpu);
    const otherGeneration = other && generations.get(other.architecture);
    if (other === undefined || otherGeneration === undefined) continue;
    // A step of generations outweighs any difference in size.
    const distance = 10 * Math.abs(otherGeneration - generation) + difference(gpu, other);
    if (distance >= least) continue;
    least = distance;
    const nearness = other.architecture === gpu.architecture ? 'architecture' : 'generation';
    best = { entry, nearness, distance };
  }
  return best;
}

/**
 * How many times larger one GPU is, and how many times more each of its multiprocessors does in a cycle, as logarithms:
 * a curve is a share of the peak, which another clock leaves as it is.
 */
function difference(left: GpuProfile, right: GpuProfile): number {
  const size = left.multiprocessors.value / right.multiprocessors.value;
  const rate = peakOf(left) / peakOf(right) / size;
  return Math.abs(Math.log(size)) + Math.abs(Math.log(rate));
}

const peakOf = (gpu: GpuProfile): number =>
  ((gpu.peak.get('fp16') ?? gpu.peak.get('fp32'))?.value ?? 1) / (gpu.clock?.value ?? 1);

/**
 * In order of time, but that Ada and Blackwell of workstations stand by Ampere, whose tensor core instructions they have and
 * whose kernels libraries run on them (CUTLASS: kernels of `Sm80` serve SM 89 and 120; Hopper and Blackwell of data centers
 * have instructions of their own, which only their own kernels use). AMD's
 * stand beside the NVIDIA ones of their years; no curve was measured on them.
 */
const generations: ReadonlyMap<string, number> = new Map([
  ['kepler', 0],
  ['maxwell', 1],
  ['pascal', 2],
  ['volta', 3],
  ['turing', 3.5],
  ['ampere', 5],
  ['cdna', 4.5],
  ['cdna2', 5],
  ['ada', 5],
  ['blackwell-rtx', 5.2],
  ['hopper', 6],
  ['cdna3', 6.5],
  ['blackwell', 7],
]);
