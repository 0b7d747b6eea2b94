/** The host of a machine as the program of a benchmark meets it. */

import { eagerLaunch } from '../../frameworks/pytorch/eagerLaunch.ts';
import type { ClusterProfile } from '../../hardware/clusterProfile.ts';
import { estimateOf } from '../../model/estimate.ts';
import { seconds } from '../../model/units.ts';

/**
 * A model of modules takes its host longer than the program that a benchmark runs, which calls functions alone. Source: ResNet-50 on
 * an H200, 23 ms for 578 launches beside 20 (measured/steps-eager.csv and benchmarks in the same hour).
 */
export const programIsFaster = 1.16;

/** The machine for a prediction that stands beside a benchmark. A processor launches nothing. */
export function hostOfProgram(cluster: ClusterProfile): ClusterProfile {
  if (cluster.gpu.architecture === 'cpu') return cluster;
  const { host } = cluster;
  const usual = host?.launch?.time ?? eagerLaunch;
  const time = estimateOf((bound) => seconds(usual[bound] / programIsFaster));
  const source = `${host?.launch?.source ?? 'assumption: eager PyTorch'}; functions without modules`;
  return {
    ...cluster,
    host: {
      title: 'host',
      cores: undefined,
      memory: undefined,
      gpusPerHostLink: undefined,
      ...host,
      launch: { time, source },
    },
  };
}
