/** Which GPU of a job has the least memory: each holds the same, so that one decides what fits. */

import type { GpuProfile } from '../../hardware/clusterProfile.ts';
import type { StepPlan } from '../plan/stepPlan.ts';

export function tightestGpu({ cluster, faster }: Pick<StepPlan, 'cluster' | 'faster'>): GpuProfile {
  const other = faster?.plan.cluster.gpu;
  return other !== undefined && other.memory.value < cluster.gpu.memory.value ? other : cluster.gpu;
}
