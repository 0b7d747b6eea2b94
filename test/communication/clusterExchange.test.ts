import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { collectiveTime } from '../../server/src/communication/collectiveTime.ts';
import { placeGroup } from '../../server/src/communication/groupPlacement.ts';
import type { ServerOperation } from '../../server/src/communication/operation.ts';
import { operationTime } from '../../server/src/communication/operationTime.ts';
import { placeGpus } from '../../server/src/communication/placement.ts';
import type { ClusterProfile } from '../../server/src/hardware/clusterProfile.ts';
import { builtInClusters, findCluster } from '../../server/src/hardware/clusters.ts';
import { bytes, bytesPerSecond, seconds } from '../../server/src/model/units.ts';

function cluster(name: string): ClusterProfile {
  const found = findCluster(name);
  if (found === undefined) throw new Error(name);
  return found;
}

describe('parameter servers of a cluster', () => {
  const vgg = bytes(553e6);
  const exchanged = (more: Partial<ServerOperation>, nodes = 16) =>
    operationTime(cluster('k80-10gbe'), placeGpus(4 * nodes, nodes), {
      kind: 'server',
      way: 'push and pull',
      bytes: vgg,
      servers: nodes,
      busiestShare: 1 / nodes,
      colocated: true,
      senders: 'nodes',
      ...more,
    });

  test('fc6 of VGG-16, whole on one server, takes 15 pushes through one port', () => {
    const { time, bound, description } = exchanged({ busiestShare: 411 / 553 });
    expect(time).toBeGreaterThan((15 * 411e6) / 1.2e9);
    expect(bound).toBe('server');
    expect(description).toBe('push and pull over 10 GbE, 16 co-located servers');
  });

  test('split over all servers it is a ring between the nodes', () => {
    const { time, startup } = exchanged({});
    expect((time - startup) / (((2 * 15) / 16) * (553e6 / 1.2e9))).toBeCloseTo(1, 2);
  });

  test('GPUs that push one by one send so many times as much', () => {
    const [node, gpus] = [exchanged({}), exchanged({ senders: 'gpus' })];
    expect((gpus.time - gpus.startup) / (node.time - node.startup)).toBeCloseTo(4, 9);
  });

  test('one node by itself has nothing to send to its own server', () => {
    expect(exchanged({}, 1).time).toBe(0);
    expect(exchanged({ colocated: false }, 1).time).toBeGreaterThan(553e6 / 1.25e9);
  });

  test('one of many asynchronous workers waits for its own bytes, and keeps the server for as long', () => {
    const operation = {
      kind: 'server',
      way: 'push',
      bytes: vgg,
      servers: 1,
      busiestShare: 1,
      colocated: false,
      senders: 'nodes',
    } as const;
    const alone = operationTime(cluster('k80-10gbe'), placeGpus(64, 16), operation, false);
    expect(alone.time - alone.startup).toBeCloseTo(alone.serverTime, 9);
    const all = operationTime(cluster('k80-10gbe'), placeGpus(64, 16), operation);
    expect((all.time - all.startup) / alone.serverTime).toBeCloseTo(16, 9);
  });
});

describe('copies and headers', () => {
  const place = placeGpus(64, 16);

  test('GPUs that share a link to the host copy at their share of its rate', () => {
    const copy = { kind: 'copy', way: 'to host', bytes: bytes(1e8) } as const;
    const [own, shared] = [1, 2].map((sharing) =>
      operationTime(cluster('k80-10gbe'), place, { ...copy, sharing }),
    );
    expect(((shared?.time ?? 0) - 10e-6) / ((own?.time ?? 0) - 10e-6)).toBeCloseTo(2, 9);
    expect(operationTime(cluster('cpu-10gbe'), place, { ...copy, sharing: 1 }).time).toBe(0);
  });

  test.each([
    // A wait may be over at once and is never longer; work is off as a measured link is.
    [{ kind: 'fixed', time: seconds(2e-3), what: 'a cycle' }, 'start-up', [0, 2e-3, 2e-3]],
    [{ kind: 'fixed', time: seconds(2e-3), isWork: true, what: 'Python' }, 'host', [1.6e-3, 2e-3, 2.8e-3]],
    [
      { kind: 'host pass', bytes: bytes(1e9), rate: bytesPerSecond(1e10), what: 'a sum' },
      'host',
      [0.08, 0.1, 0.14],
    ],
    [
      {
        kind: 'host pass',
        bytes: bytes(1e9),
        rate: bytesPerSecond(1e10),
        what: 'gRPC',
        at: { servers: 4, busiestShare: 0.5 },
      },
      'server',
      [0.08, 0.1, 0.14],
    ],
  ] as const)('%j is bound by %s', (operation, bound, times) => {
    const found = operationTime(cluster('k80-10gbe'), place, operation);
    expect(found.bound).toBe(bound);
    expect([found.low, found.time, found.high]).toEqual(times.map((time) => expect.closeTo(time, 9)));
  });

  test('rank 0 takes the headers of 63 workers one by one: 126 messages', () => {
    const latency = cluster('k80-10gbe').network?.latency.value ?? Number.NaN;
    const { time, bound } = operationTime(cluster('k80-10gbe'), place, {
      kind: 'gather at rank 0',
      bytes: bytes(0),
    });
    expect(time).toBeCloseTo(126 * latency, 12);
    expect(bound).toBe('start-up');
  });
});

describe('groups of a job', () => {
  test('across nodes each GPU of DGX A100 has a port, those of a K80 node share one', () => {
    const place = placeGpus(32, 4);
    expect(placeGroup(cluster('dgx-a100'), place, 'across nodes')).toEqual({
      placement: { nodes: 4, gpusPerNode: 1 },
      concurrent: 1,
    });
    expect(placeGroup(cluster('k80-10gbe'), placeGpus(16, 4), 'across nodes').concurrent).toBe(4);
    // Of 6 ports beside 4 GPUs each takes 2, so that one waits for 8 sixths.
    const { network, ...k80 } = cluster('k80-10gbe');
    if (network === undefined) throw new Error('no network');
    const odd = { ...k80, network: { ...network, nics: { ...network.nics, value: 6 } } };
    expect(placeGroup(odd, placeGpus(16, 4), 'across nodes').concurrent).toBeCloseTo(8 / 6, 12);
    expect(placeGroup(cluster('dgx-a100'), place, 'node').placement).toEqual({ nodes: 1, gpusPerNode: 8 });
    expect(placeGroup(cluster('dgx-a100'), place, 'all').placement).toEqual(place);
  });
});

describe('what is asked for', () => {
  test('an algorithm, where it can run', () => {
    const place = placeGpus(32, 8);
    const request = { kind: 'all-reduce', bytes: bytes(1e8) } as const;
    const profile = cluster('k80-10gbe');
    for (const algorithm of ['ring', 'tree', 'two-level ring', 'blueconnect'] as const) {
      expect(collectiveTime(profile, place, { ...request, algorithm }).algorithm).toBe(algorithm);
    }
    expect(collectiveTime(profile, place, { ...request, algorithm: 'nvls' }).algorithm).toBe('ring');
  });

  test('a library: MPI copies through host memory', () => {
    const request = { kind: 'all-reduce', bytes: bytes(1e8) } as const;
    const profile = cluster('k80-10gbe');
    const place = placeGpus(32, 8);
    const mpi = collectiveTime(profile, place, { ...request, library: 'open-mpi' });
    expect(mpi.description).toMatch(/^segmented ring \(MPI\) over PCIe 3.0 ×16 and 10 GbE, 32 GPUs/);
    expect(mpi.time).toBeGreaterThan(collectiveTime(profile, place, request).time);
  });

  test('two collectives at a time share a link; over TCP they fill what one leaves idle', () => {
    const request = { kind: 'all-reduce', bytes: bytes(2 ** 30) } as const;
    for (const [name, factor] of [
      ['dgx-a100', 2],
      ['k80-10gbe', 1.32],
    ] as const) {
      const profile = cluster(name);
      const place = placeGpus(2 * profile.gpusPerNode.value, 2);
      const alone = collectiveTime(profile, place, request);
      const shared = collectiveTime(profile, place, { ...request, concurrent: 2 });
      expect((shared.time - shared.startup) / (alone.time - alone.startup)).toBeCloseTo(factor, 9);
    }
  });

  test('every cluster gives every collective a finite time, a range and a reason', () => {
    for (const profile of builtInClusters) {
      const nodes = profile.network === undefined ? 1 : 4;
      const place = placeGpus(nodes * profile.gpusPerNode.value, nodes);
      for (const kind of [
        'all-reduce',
        'reduce-scatter',
        'all-gather',
        'broadcast',
        'reduce',
        'all-to-all',
      ] as const) {
        const { time, low, high, bound } = collectiveTime(profile, place, { kind, bytes: bytes(1e7) });
        expect(Number.isFinite(time), `${profile.name} ${kind}`).toBe(true);
        expect(low).toBeLessThanOrEqual(time);
        expect(high).toBeGreaterThanOrEqual(time);
        expect(bound === 'none').toBe(place.nodes * place.gpusPerNode === 1);
      }
    }
  });
});

describe('whatever is asked', () => {
  const versions = ['2.3', '2.4', '2.5.7', '2.8.4', '2.12', '2.18', '2.20', '2.21', '2.30'] as const;
  const kinds = ['all-reduce', 'reduce-scatter', 'all-gather', 'broadcast', 'reduce', 'all-to-all'] as const;
  const anyCase = fc.record({
    profile: fc.constantFrom(...builtInClusters.filter(({ network }) => network !== undefined)),
    nodes: fc.integer({ min: 1, max: 600 }),
    size: fc.integer({ min: 1, max: 2 ** 34 }),
    kind: fc.constantFrom(...kinds),
    library: fc.constantFrom(...versions),
  });

  test('fewer bytes or a faster network never cost time with NCCL', () => {
    fc.assert(
      fc.property(
        anyCase,
        fc.double({ min: 0.01, max: 1, noNaN: true }),
        ({ profile, nodes, size, kind, library }, share) => {
          const place = placeGpus(nodes * profile.gpusPerNode.value, nodes);
          const { time } = collectiveTime(profile, place, { kind, library, bytes: bytes(size) });
          const fewer = collectiveTime(profile, place, { kind, library, bytes: bytes(size * share) }).time;
          expect(fewer).toBeLessThanOrEqual(time);
          const { network } = profile;
          if (network === undefined) return;
          const nodeBandwidth = {
            ...network.nodeBandwidth,
            value: bytesPerSecond(network.nodeBandwidth.value / share),
          };
          const faster = { ...profile, network: { ...network, nodeBandwidth } };
          expect(
            collectiveTime(faster, place, { kind, library, bytes: bytes(size) }).time,
          ).toBeLessThanOrEqual(time);
        },
      ),
      { numRuns: 500 },
    );
  });
});

describe('links in groups and switches in layers', () => {
  const given = (value: number) => ({ value, source: 'test' });

  test('GPUs of two groups have what joins the groups', () => {
    const profile = cluster('p2-8xlarge');
    if (profile.link === undefined) throw new Error('p2 has no link');
    const grouped: ClusterProfile = {
      ...profile,
      link: {
        ...profile.link,
        groups: {
          size: given(4),
          acrossBandwidth: { value: profile.link.busBandwidth.value, source: 'test' },
        },
      },
    };
    const slower: ClusterProfile = {
      ...grouped,
      link: {
        ...profile.link,
        groups: {
          size: given(4),
          acrossBandwidth: { ...profile.link.busBandwidth, value: bytesPerSecond(1e9) },
        },
      },
    };
    const time = (one: ClusterProfile, gpus: number) =>
      collectiveTime(one, placeGpus(gpus, 1), { kind: 'all-reduce', bytes: bytes(1e8) }).time;
    expect(time(slower, 4)).toBe(time(grouped, 4));
    expect(time(slower, 8)).toBeGreaterThan(4 * time(grouped, 8));
  });

  test('beyond one switch the uplinks are shared', () => {
    const profile = cluster('dgx-a100');
    if (profile.network === undefined) throw new Error('dgx-a100 has no network');
    const tapered: ClusterProfile = {
      ...profile,
      network: { ...profile.network, oversubscription: { ratio: given(3), nodesPerSwitch: given(16) } },
    };
    const bus = (one: ClusterProfile, nodes: number) =>
      collectiveTime(one, placeGpus(8 * nodes, nodes), { kind: 'all-reduce', bytes: bytes(2 ** 36) })
        .busBandwidth;
    expect(bus(tapered, 16)).toBe(bus(profile, 16));
    expect(bus(profile, 32) / bus(tapered, 32)).toBeCloseTo(3, 1);
  });
});
