/**
 * The cluster of nanotron's study by its own table of collectives (`measured/collectives.csv`, nanotron): a step between nodes takes as long as fits that
 * table best. No training step is read.
 */

import { collectiveKinds } from '../../../server/src/communication/collectiveKind.ts';
import { collectiveTime } from '../../../server/src/communication/collectiveTime.ts';
import { placeGpus } from '../../../server/src/communication/placement.ts';
import type { ClusterProfile } from '../../../server/src/hardware/clusterProfile.ts';
import { bytes, microseconds } from '../../../server/src/model/units.ts';
import { type MeasuredRow, numberIn, readMeasured } from '../../measured/readMeasured.ts';
import { machine } from '../scaling/clusters.ts';

export interface StudyCluster {
  readonly cluster: ClusterProfile;
  /** Microseconds of a step between nodes. */
  readonly latency: number;
}

/** `measured`: the folder of the tables. */
export function nanotronCluster(measured: string): StudyCluster {
  const rows = readMeasured(measured, 'collectives.csv').filter(({ source }) => source === 'nanotron');
  const candidates = Array.from({ length: 60 }, (_, index) => 10 * (index + 1)).map((latency) => ({
    latency,
    cluster: withLatency(machine('p5-48xlarge'), latency),
  }));
  const errorOf = ({ cluster }: StudyCluster): number =>
    rows.reduce((total, row) => total + Math.abs(Math.log(ratioOf(row, cluster))), 0);
  return candidates.reduce((best, each) => (errorOf(each) < errorOf(best) ? each : best));
}

function ratioOf(row: MeasuredRow, cluster: ClusterProfile): number {
  const kind = collectiveKinds.find((each) => each === row.collective);
  if (kind === undefined) throw new Error(`no collective is called ${row.collective}`);
  const placement = placeGpus(numberIn(row, 'gpus'), numberIn(row, 'nodes'));
  const { time } = collectiveTime(cluster, placement, { kind, bytes: bytes(numberIn(row, 'bytes')) });
  return (time * 1e6) / numberIn(row, 'microseconds');
}

function withLatency(cluster: ClusterProfile, latency: number): ClusterProfile {
  const { network } = cluster;
  if (network === undefined) return cluster;
  return {
    ...cluster,
    network: { ...network, latency: { value: microseconds(latency), source: 'derived: its collectives' } },
  };
}
