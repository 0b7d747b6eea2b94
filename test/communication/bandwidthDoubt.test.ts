/** How far a link's time may be off, by the source of its bandwidth. */

import { expect, test } from 'vitest';
import { bandwidthDoubt, measuredLink } from '../../server/src/communication/bandwidthDoubt.ts';
import { collectiveTime } from '../../server/src/communication/collectiveTime.ts';
import { placeGpus } from '../../server/src/communication/placement.ts';
import type { ClusterProfile } from '../../server/src/hardware/clusterProfile.ts';
import { findCluster } from '../../server/src/hardware/clusters.ts';
import { bytes, bytesPerSecond } from '../../server/src/model/units.ts';

const rate = (source: string) => ({ value: bytesPerSecond(5e9), source });

test.each([
  ['our nccl-tests', 12.5e9, measuredLink],
  ['derived: from another machine', undefined, measuredLink],
  // 5 of 12.5 GB/s: at most 2.5 times as fast.
  ['assumption: half', 12.5e9, { low: 0.4, high: 3 }],
  ['assumption: a tenth', 50e9, { low: 1 / 3, high: 3 }],
  ['assumption: all of it', 5e9, { low: 0.8, high: 3 }],
  ['assumption: no port is known', undefined, { low: 1 / 3, high: 3 }],
] as const)('%s of %s', (source, nominal, expected) => {
  const { low, high } = bandwidthDoubt(rate(source), nominal);
  expect(low).toBeCloseTo(expected.low, 12);
  expect(high).toBe(expected.high);
});

test('a large message over an assumed network may take three times as long, over a measured one 1.4 times', () => {
  const g4dn = findCluster('g4dn-12xlarge');
  if (g4dn?.network === undefined) throw new Error('no network');
  const spreadOf = (source: string, size = 1e9, nodes = 4): number => {
    const cluster: ClusterProfile = {
      ...g4dn,
      network: g4dn.network && { ...g4dn.network, nodeBandwidth: rate(source) },
    };
    const { time, high } = collectiveTime(cluster, placeGpus(4 * nodes, nodes), {
      kind: 'all-reduce',
      bytes: bytes(size),
    });
    return high / time;
  };
  expect(spreadOf('our nccl-tests')).toBeCloseTo(1.4, 2);
  expect(spreadOf('assumption: half')).toBeCloseTo(3, 1);
  // What starts a message up waits on such a network too, but not within a node.
  expect(spreadOf('assumption: half', 8, 2)).toBeCloseTo(3, 1);
  expect(spreadOf('assumption: half', 8, 1)).toBeCloseTo(1.4, 2);
});
