/** What a picker lists: each cluster and framework with what a person chooses by. Numbers are those of the profile files. */

import { afterAll, beforeAll, expect, test } from 'vitest';
import { frameworks as builtInFrameworks } from '../../server/src/frameworks/registry.ts';
import { builtInClusters } from '../../server/src/hardware/clusters.ts';
import {
  type ClusterChoice,
  type FrameworkChoiceItem,
  listClusters,
  listFrameworks,
} from '../../server/src/protocol.ts';
import { startTestServer, type TestClient } from './testServer.ts';

let client: TestClient;
let clusters: readonly ClusterChoice[];
beforeAll(async () => {
  client = await startTestServer();
  clusters = await client.connection.sendRequest<readonly ClusterChoice[]>(listClusters);
});
afterAll(() => client.stop());

/** `server/src/hardware/profiles/clusters/NAME.json`; a GPU by itself has one of it, and no links. */
test.each<ClusterChoice>([
  {
    name: 'dgx-a100',
    title: 'DGX A100 (8 × A100 80 GB)',
    gpu: 'A100 SXM 80 GB',
    gpusPerNode: 8,
    links: 'NVLink 3 and NVSwitch, 8 × HDR InfiniBand',
    isNetworked: true,
    kind: 'cluster',
  },
  {
    name: 'rtx-4090-workstation',
    title: 'workstation with 2 × RTX 4090',
    gpu: 'RTX 4090',
    gpusPerNode: 2,
    links: 'PCIe 4.0 ×16 through host memory',
    isNetworked: false,
    kind: 'cluster',
  },
  {
    name: 'cpu-1gbe',
    title: 'CPU node (2 × Xeon E5-2630 v4), 1 GbE',
    gpu: '2 × Xeon E5-2630 v4',
    gpusPerNode: 1,
    links: '1 GbE',
    isNetworked: true,
    kind: 'cluster',
  },
  {
    name: 'rtx-4090',
    title: 'RTX 4090',
    gpu: 'RTX 4090',
    gpusPerNode: 1,
    links: '',
    isNetworked: false,
    kind: 'gpu',
  },
])('the cluster $name', (choice) => {
  expect(clusters.filter(({ name }) => name === choice.name)).toEqual([choice]);
});

test('every cluster and every framework is listed once, in their order', async () => {
  expect(clusters.map(({ name }) => name)).toEqual(builtInClusters.map(({ name }) => name));
  const frameworks = await client.connection.sendRequest<readonly FrameworkChoiceItem[]>(listFrameworks);
  expect(frameworks).toEqual(
    builtInFrameworks.map(({ name, documentation, overlaps }) => ({ name, documentation, overlaps })),
  );
});
