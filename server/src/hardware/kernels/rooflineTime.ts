/** Time of a kernel that no curve was measured of: the share of each roof that its class reaches. */

import { elementwiseCompute, sharesOf } from '../assumedShares.ts';
import type { GpuProfile } from '../clusterProfile.ts';
import { computePath, sustained, vectorPeak } from '../computePath.ts';
import type { KernelWork } from '../kernelWork.ts';
import type { BodyTime } from './bodyTime.ts';

export function rooflineTime(gpu: GpuProfile, work: KernelWork): BodyTime {
  const path = computePath(gpu, work.dtype);
  const shares = sharesOf(work.class, gpu);
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
  const time = at(0);
  return {
    time,
    low: at(2),
    high: at(1),
    bound: time === 0 ? 'none' : time === memoryTime / shares.memory[0] ? 'memory' : 'compute',
    basis: 'roofline',
    distance: Number.POSITIVE_INFINITY,
    origin: undefined,
  };
}
