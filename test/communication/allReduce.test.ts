import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type CollectiveTime, collectiveTime } from '../../server/src/communication/collectiveTime.ts';
import { type Placement, placeGpus } from '../../server/src/communication/placement.ts';
import type { ClusterProfile } from '../../server/src/hardware/clusterProfile.ts';
import { builtInClusters, findCluster } from '../../server/src/hardware/clusters.ts';
import { type Bytes, bytes, bytesPerSecond, seconds } from '../../server/src/model/units.ts';

function cluster(name: string): ClusterProfile {
  const found = findCluster(name);
  if (found === undefined) throw new Error(name);
  return found;
}

const allReduceTime = (profile: ClusterProfile, placement: Placement, size: Bytes): CollectiveTime =>
  collectiveTime(profile, placement, { kind: 'all-reduce', bytes: size });

/** The same cluster without latencies. */
function withoutLatency(profile: ClusterProfile): ClusterProfile {
  const none = { value: seconds(0), source: 'test' };
  return {
    ...profile,
    link: profile.link && { ...profile.link, latency: none },
    network: profile.network && { ...profile.network, latency: none },
  };
}

describe('all-reduce', () => {
  test('on one GPU takes no time', () => {
    for (const profile of builtInClusters) {
      expect(allReduceTime(profile, placeGpus(1, 1), bytes(1e9)).time).toBe(0);
    }
  });

  test('8 A100, 1 GiB: launch 20 µs, ring 8.4 µs + 14 · 1.4 · 3.4 µs + 14/8 · 2^30 B / 235 GB/s', () => {
    const { time, algorithm, protocol, bound } = allReduceTime(
      cluster('dgx-a100'),
      placeGpus(8, 1),
      bytes(2 ** 30),
    );
    expect(time).toBeCloseTo(20e-6 + 8.4e-6 + 14 * 1.4 * 3.4e-6 + ((14 / 8) * 2 ** 30) / 235e9, 12);
    expect([algorithm, protocol, bound]).toEqual(['ring', 'Simple', 'link']);
  });

  test('8 A100, 1 KiB: LL, start-up decides', () => {
    const { time, protocol, bound } = allReduceTime(cluster('dgx-a100'), placeGpus(8, 1), bytes(1024));
    expect(time).toBeCloseTo(20e-6 + 6.6e-6 + 14 * 1.4 * 0.6e-6 + ((14 / 8) * 1024) / 87.7e9, 12);
    expect([protocol, bound]).toEqual(['LL', 'start-up']);
  });

  test('16 nodes of 8 over InfiniBand, a large message: flat ring, 224 link steps and 30 network steps', () => {
    const { time, algorithm, bound } = allReduceTime(cluster('dgx-a100'), placeGpus(128, 16), bytes(2 ** 34));
    expect([algorithm, bound]).toEqual(['ring', 'network']);
    expect(time).toBeCloseTo(
      20e-6 + 1.4 * (8.4e-6 + 224 * 3.4e-6 + 30 * 14e-6) + ((2 * 127) / 128) * (2 ** 34 / 192e9),
      9,
    );
  });

  // arXiv 2005.13247 benchmark: one fused message of ResNet-50, bus bandwidth 1.20 to 1.22 GB/s from 8 GPUs to 32.
  test.each([2, 4, 8])('4 GPUs on each of %i nodes over 10 GbE reach the measured bus bandwidth', (nodes) => {
    const { busBandwidth } = allReduceTime(
      cluster('k80-10gbe'),
      placeGpus(4 * nodes, nodes),
      bytes(102228128),
    );
    expect(busBandwidth / 1e9).toBeGreaterThan(1.1);
    expect(busBandwidth / 1e9).toBeLessThanOrEqual(1.22);
  });

  // nccl-tests on healthy systems, out of place, messages of 16 MiB and more: the prediction's range holds them.
  test.each([
    ['dgx-a100', 8, 1, 2 ** 24, 226.0],
    ['dgx-a100', 8, 1, 2 ** 26, 584.5],
    ['dgx-a100', 8, 1, 2 ** 30, 8159.5],
    ['dgx-h100', 8, 1, 2 ** 24, 123.8],
    ['dgx-h100', 8, 1, 2 ** 26, 324.7],
    ['dgx-h100', 8, 1, 2 ** 30, 4029.4],
    ['dgx-h100', 64, 8, 2 ** 30, 5808],
    ['dgx-h100', 64, 8, 2 ** 33, 43980],
  ])('%s, %i GPUs on %i nodes, %i bytes: measured %f µs', (name, gpus, nodes, size, measured) => {
    const { low, high } = allReduceTime(cluster(name), placeGpus(gpus, nodes), bytes(size));
    expect(measured).toBeGreaterThan(low * 1e6);
    expect(measured).toBeLessThan(high * 1e6);
  });
});

describe('what holds for every message', () => {
  const large = builtInClusters.filter(({ network }) => network !== undefined);
  const anyCase = fc.record({
    profile: fc.constantFrom(...large),
    nodes: fc.integer({ min: 1, max: 128 }),
    size: fc.integer({ min: 1, max: 2 ** 34 }),
  });

  test('more bandwidth or half the bytes never costs time; the bound of the ring is kept', () => {
    fc.assert(
      fc.property(anyCase, ({ profile, nodes, size }) => {
        const gpus = nodes * profile.gpusPerNode.value;
        const place = placeGpus(gpus, nodes);
        const { time, low, high, busBandwidth } = allReduceTime(profile, place, bytes(size));
        expect(low).toBeLessThanOrEqual(time);
        expect(time).toBeLessThanOrEqual(high);
        const { link, network } = profile;
        const faster: ClusterProfile = {
          ...profile,
          link: link && {
            ...link,
            busBandwidth: { ...link.busBandwidth, value: bytesPerSecond(link.busBandwidth.value * 2) },
            inSwitchReduction: link.inSwitchReduction && {
              ...link.inSwitchReduction,
              value: bytesPerSecond(link.inSwitchReduction.value * 2),
            },
          },
          network: network && {
            ...network,
            nodeBandwidth: {
              ...network.nodeBandwidth,
              value: bytesPerSecond(network.nodeBandwidth.value * 2),
            },
          },
        };
        expect(allReduceTime(faster, place, bytes(size)).time).toBeLessThanOrEqual(time);
        expect(allReduceTime(profile, place, bytes(size / 2)).time).toBeLessThanOrEqual(time);
        if (nodes === 1) {
          const bound = Math.max(link?.busBandwidth.value ?? 0, link?.inSwitchReduction?.value ?? 0);
          expect(busBandwidth).toBeLessThanOrEqual(profile.gpusPerNode.value === 1 ? 0 : bound * (1 + 1e-9));
        }
      }),
    );
  });

  test('without latency, large messages are at the bandwidth bound of the slowest link', () => {
    for (const profile of large) {
      if (profile.link === undefined) continue;
      const bare = withoutLatency(profile);
      const size = 2 ** 44;
      const { busBandwidth } = allReduceTime(bare, placeGpus(profile.gpusPerNode.value, 1), bytes(size));
      const { busBandwidth: own, inSwitchReduction, groups } = profile.link;
      const isDivided = groups !== undefined && profile.gpusPerNode.value > groups.size.value;
      const bound = (isDivided ? groups.acrossBandwidth : (inSwitchReduction ?? own)).value;
      expect(busBandwidth / bound, profile.name).toBeGreaterThan(0.99999);
      expect(busBandwidth / bound, profile.name).toBeLessThanOrEqual(1 + 1e-9);
    }
  });
});
