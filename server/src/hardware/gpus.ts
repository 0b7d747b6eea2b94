/**
 * The built-in GPU profiles, each also a one-GPU cluster by its own name.
 *
 * They are checked by the schema in a test, not at every start.
 */

import type { GpuProfile } from './clusterProfile.ts';
import { gpuProfileOfFile } from './profileOfFile.ts';
import a10 from './profiles/gpus/a10.json';
import a100Pcie80gb from './profiles/gpus/a100-pcie-80gb.json';
import a100Sxm40gb from './profiles/gpus/a100-sxm-40gb.json';
import a100Sxm80gb from './profiles/gpus/a100-sxm-80gb.json';
import gtx1080Ti from './profiles/gpus/gtx-1080-ti.json';
import h100Pcie from './profiles/gpus/h100-pcie.json';
import h100Sxm from './profiles/gpus/h100-sxm.json';
import h200Sxm from './profiles/gpus/h200-sxm.json';
import k80 from './profiles/gpus/k80.json';
import l4 from './profiles/gpus/l4.json';
import l40s from './profiles/gpus/l40s.json';
import p100Pcie16gb from './profiles/gpus/p100-pcie-16gb.json';
import p100Sxm2 from './profiles/gpus/p100-sxm2.json';
import rtx3090 from './profiles/gpus/rtx-3090.json';
import rtx4090 from './profiles/gpus/rtx-4090.json';
import rtxA6000 from './profiles/gpus/rtx-a6000.json';
import t4 from './profiles/gpus/t4.json';
import v100Pcie32gb from './profiles/gpus/v100-pcie-32gb.json';
import v100Sxm216gb from './profiles/gpus/v100-sxm2-16gb.json';
import v100Sxm232gb from './profiles/gpus/v100-sxm2-32gb.json';

/** In the order of a list for people: by age, then by name. */
export const builtInGpus: readonly GpuProfile[] = [
  k80,
  p100Pcie16gb,
  p100Sxm2,
  gtx1080Ti,
  v100Pcie32gb,
  v100Sxm216gb,
  v100Sxm232gb,
  t4,
  a100Pcie80gb,
  a100Sxm40gb,
  a100Sxm80gb,
  a10,
  rtx3090,
  rtxA6000,
  l4,
  l40s,
  rtx4090,
  h100Pcie,
  h100Sxm,
  h200Sxm,
].map(gpuProfileOfFile);

export function findGpu(name: string): GpuProfile | undefined {
  return builtInGpus.find((gpu) => gpu.name === name.toLowerCase());
}
