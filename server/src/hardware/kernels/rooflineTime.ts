/** Time of a kernel that no curve was measured of: the share of each roof that its class reaches. */

import type { Bound } from '../../model/estimate.ts';
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
  const timeAt = (share: Bound) =>
    Math.max(
      computeTime / compute[share],
      operationTime / elementwiseCompute[share],
      memoryTime / shares.memory[share],
    );
  const time = timeAt('middle');
  return {
    time,
    low: timeAt('high'),
    high: timeAt('low'),
    bound: time === 0 ? 'none' : time === memoryTime / shares.memory.middle ? 'memory' : 'compute',
    basis: 'roofline',
    distance: Number.POSITIVE_INFINITY,
    origin: undefined,
  };
}
