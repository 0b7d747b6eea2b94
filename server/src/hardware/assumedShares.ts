/** The shares of its roofs that a GPU reaches where no curve was measured, and what launches take (`efficiency.json`). */

import type { KernelClass } from '../operators/definition.ts';
import type { GpuProfile } from './clusterProfile.ts';
import efficiency from './efficiency.json';

/** [middle, low, high]. */
export type Shares = readonly [number, number, number];

export interface ClassShares {
  readonly vector: Shares;
  readonly tensor: Shares;
  readonly memory: Shares;
}

const triple = (share: readonly number[]): Shares => [share[0] ?? 1, share[1] ?? 1, share[2] ?? 1];

export function sharesOf(kernelClass: KernelClass, gpu: GpuProfile): ClassShares {
  const shares = classShares.get(kernelClass) ?? otherShares;
  const tensor = kernelClass === 'attention' ? attentionShares.get(gpu.architecture) : undefined;
  return tensor === undefined ? shares : { ...shares, tensor };
}

export const elementwiseCompute = triple(efficiency.elementwiseCompute.share);

export const columnSumLoads = triple(efficiency.columnSums.elementsPerCycle);

export const channelLoads = {
  forward: triple(efficiency.channelSums.forward),
  backward: triple(efficiency.channelSums.backward),
};

export const launchTimes = triple(efficiency.launch.microseconds.map((value) => value * 1e-6));

export const recurrentLaunchTimes = triple(
  efficiency.recurrentLaunch.microseconds.map((value) => value * 1e-6),
);

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

/** Fused attention is written for the tensor cores of one architecture; others reach less of their peak with it. */
const attentionShares: ReadonlyMap<string, Shares> = new Map(
  Object.entries(efficiency.fusedAttention).map(([name, { share }]) => [name, triple(share)]),
);
