/** Time of an all-reduce by the cluster's own library. */

import type { ClusterProfile } from '../hardware/clusterProfile.ts';
import type { Bytes } from '../model/units.ts';
import { type CollectiveTime, collectiveTime } from './collectiveTime.ts';
import type { Placement } from './placement.ts';

export { type CollectiveTime, noCommunication } from './collectiveTime.ts';

export const allReduceTime = (cluster: ClusterProfile, placement: Placement, size: Bytes): CollectiveTime =>
  collectiveTime(cluster, placement, { kind: 'all-reduce', bytes: size });
