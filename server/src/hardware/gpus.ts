/**
 * The built-in GPU profiles, each also a one-GPU cluster by its own name.
 *
 * They are checked by the schema in a test, not at every start.
 */

import type { GpuProfile } from './clusterProfile.ts';
import { gpuProfileOfFile } from './profileOfFile.ts';
import a2 from './profiles/gpus/a2.json';
import a10 from './profiles/gpus/a10.json';
import a10g from './profiles/gpus/a10g.json';
import a30 from './profiles/gpus/a30.json';
import a40 from './profiles/gpus/a40.json';
import a100Pcie40gb from './profiles/gpus/a100-pcie-40gb.json';
import a100Pcie80gb from './profiles/gpus/a100-pcie-80gb.json';
import a100Sxm40gb from './profiles/gpus/a100-sxm-40gb.json';
import a100Sxm80gb from './profiles/gpus/a100-sxm-80gb.json';
import a800Sxm80gb from './profiles/gpus/a800-sxm-80gb.json';
import b200 from './profiles/gpus/b200.json';
import b300 from './profiles/gpus/b300.json';
import cpuXeonE52630V4 from './profiles/gpus/cpu-xeon-e5-2630-v4.json';
import cpuXeonGold6148 from './profiles/gpus/cpu-xeon-gold-6148.json';
import gb200 from './profiles/gpus/gb200.json';
import gb300 from './profiles/gpus/gb300.json';
import gh200 from './profiles/gpus/gh200.json';
import gtx1080 from './profiles/gpus/gtx-1080.json';
import gtx1080Ti from './profiles/gpus/gtx-1080-ti.json';
import h20 from './profiles/gpus/h20.json';
import h100Nvl from './profiles/gpus/h100-nvl.json';
import h100Pcie from './profiles/gpus/h100-pcie.json';
import h100Sxm from './profiles/gpus/h100-sxm.json';
import h100Sxm96Gb from './profiles/gpus/h100-sxm-96gb.json';
import h200Sxm from './profiles/gpus/h200-sxm.json';
import h800Sxm from './profiles/gpus/h800-sxm.json';
import k20x from './profiles/gpus/k20x.json';
import k40 from './profiles/gpus/k40.json';
import k80 from './profiles/gpus/k80.json';
import l4 from './profiles/gpus/l4.json';
import l40 from './profiles/gpus/l40.json';
import l40s from './profiles/gpus/l40s.json';
import m40 from './profiles/gpus/m40.json';
import mi100 from './profiles/gpus/mi100.json';
import mi210 from './profiles/gpus/mi210.json';
import mi250 from './profiles/gpus/mi250.json';
import mi250x from './profiles/gpus/mi250x.json';
import mi300x from './profiles/gpus/mi300x.json';
import mi325x from './profiles/gpus/mi325x.json';
import p4 from './profiles/gpus/p4.json';
import p40 from './profiles/gpus/p40.json';
import p100Pcie16gb from './profiles/gpus/p100-pcie-16gb.json';
import p100Sxm2 from './profiles/gpus/p100-sxm2.json';
import rtx2080Ti from './profiles/gpus/rtx-2080-ti.json';
import rtx3090 from './profiles/gpus/rtx-3090.json';
import rtx4090 from './profiles/gpus/rtx-4090.json';
import rtx5090 from './profiles/gpus/rtx-5090.json';
import rtx6000Ada from './profiles/gpus/rtx-6000-ada.json';
import rtx8000 from './profiles/gpus/rtx-8000.json';
import rtxA6000 from './profiles/gpus/rtx-a6000.json';
import rtxPro6000Server from './profiles/gpus/rtx-pro-6000-server.json';
import t4 from './profiles/gpus/t4.json';
import titanRtx from './profiles/gpus/titan-rtx.json';
import titanV from './profiles/gpus/titan-v.json';
import titanXMaxwell from './profiles/gpus/titan-x-maxwell.json';
import titanXPascal from './profiles/gpus/titan-x-pascal.json';
import titanXp from './profiles/gpus/titan-xp.json';
import v100Pcie16gb from './profiles/gpus/v100-pcie-16gb.json';
import v100Pcie32gb from './profiles/gpus/v100-pcie-32gb.json';
import v100Sxm216gb from './profiles/gpus/v100-sxm2-16gb.json';
import v100Sxm232gb from './profiles/gpus/v100-sxm2-32gb.json';

/** In the order of a list for people: by maker and age. */
export const builtInGpus: readonly GpuProfile[] = [
  cpuXeonE52630V4,
  cpuXeonGold6148,
  k20x,
  k40,
  k80,
  m40,
  titanXMaxwell,
  gtx1080,
  titanXPascal,
  gtx1080Ti,
  titanXp,
  p4,
  p40,
  p100Pcie16gb,
  p100Sxm2,
  titanV,
  v100Pcie16gb,
  v100Pcie32gb,
  v100Sxm216gb,
  v100Sxm232gb,
  t4,
  rtx2080Ti,
  titanRtx,
  rtx8000,
  a100Pcie40gb,
  a100Pcie80gb,
  a100Sxm40gb,
  a100Sxm80gb,
  a800Sxm80gb,
  a30,
  a2,
  a10,
  a10g,
  a40,
  rtx3090,
  rtxA6000,
  l4,
  l40,
  l40s,
  rtx4090,
  rtx6000Ada,
  rtx5090,
  rtxPro6000Server,
  h100Pcie,
  h100Nvl,
  h100Sxm,
  h100Sxm96Gb,
  h800Sxm,
  h20,
  gh200,
  h200Sxm,
  b200,
  gb200,
  b300,
  gb300,
  mi100,
  mi210,
  mi250,
  mi250x,
  mi300x,
  mi325x,
].map(gpuProfileOfFile);

export function findGpu(name: string): GpuProfile | undefined {
  return builtInGpus.find((gpu) => gpu.name === name.toLowerCase());
}
