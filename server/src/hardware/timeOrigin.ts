/** Where a time comes from, in words: "curves of V100 PCIe 32 GB, 3,005 rows". */

import type { GpuProfile } from './clusterProfile.ts';
import { findGpu } from './gpus.ts';
import type { TimeOrigin } from './kernels/bodyTime.ts';

export function describeOrigin(gpu: GpuProfile, origin: TimeOrigin | undefined): string {
  if (origin === undefined) return `roofline of ${gpu.title}`;
  const title = findGpu(origin.gpu)?.title ?? origin.gpu;
  return 'models' in origin
    ? `curves of ${title}, steps of ${count(origin.models)} models`
    : `curves of ${title}, ${count(origin.rows)} rows`;
}

const count = (value: number): string => String(value).replace(/\B(?=(\d{3})+$)/g, ',');
