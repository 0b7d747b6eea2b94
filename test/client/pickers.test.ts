/** Every picker writes its own setting, with the value that was chosen, to where settings of this window belong. */

import { beforeEach, expect, test } from 'vitest';
import { registerClusterPicker } from '../../client/src/clusterPicker.ts';
import { registerFrameworkPicker } from '../../client/src/frameworkPicker.ts';
import { commands, listClusters, type ScenarioSummary } from '../../server/src/protocol.ts';
import { editor } from './vscode.ts';

const summary: ScenarioSummary = {
  cluster: 'dgx-h100',
  clusterTitle: 'DGX H100',
  gpus: 16,
  devices: '16 GPUs',
  device: 'GPU',
  gpusPerNode: 8,
  batch: 5,
  globalBatch: 80,
  precision: 'fp32',
  framework: 'pytorch-ddp',
  fixedByModel: ['batch', 'precision'],
};
const clusters = [
  {
    name: 'dgx-a100',
    title: 'DGX A100',
    gpu: 'A100',
    gpusPerNode: 8,
    links: 'NVLink 3',
    isNetworked: true,
    kind: 'cluster',
  },
  {
    name: 'odd',
    title: 'Nodes of 6',
    gpu: 'V100',
    gpusPerNode: 6,
    links: 'NVLink 2',
    isNetworked: true,
    kind: 'cluster',
  },
  {
    name: 'box',
    title: 'One box',
    gpu: 'A100',
    gpusPerNode: 8,
    links: 'NVLink 3',
    isNetworked: false,
    kind: 'cluster',
  },
  { name: 't4', title: 'T4', gpu: 'T4', gpusPerNode: 1, links: '', isNetworked: false, kind: 'gpu' },
];
const frameworks = [{ name: 'horovod', documentation: 'Horovod', overlaps: 'gradients' }];

beforeEach(() => {
  Object.assign(editor, { entered: undefined, picked: undefined, offered: undefined, workspace: true });
  Object.assign(editor, { written: [], told: [] });
  editor.commands.clear();
  const client = { sendRequest: async (method: string) => (method === listClusters ? clusters : frameworks) };
  const estimates = { active: () => ({ summary }) };
  registerClusterPicker(client as never, Promise.resolve(), estimates as never);
  registerFrameworkPicker(client as never, Promise.resolve(), estimates as never);
});

const [global, workspace] = [1, 2];

test.each([
  ['GPUs', commands.chooseGpus, { entered: ' 4 ' }, [['gpus', 4, workspace]], '16'],
  ['batch', commands.chooseBatch, { entered: '7' }, [['batch', 7, workspace]], '5'],
  ['batch that is no number', commands.chooseBatch, { entered: '0' }, [], '5'],
  [
    'batch left to the model',
    commands.chooseBatch,
    { entered: '', workspace: false },
    [['batch', undefined, global]],
    '5',
  ],
  [
    'batch of the workspace left to the model',
    commands.chooseBatch,
    { entered: '' },
    [['batch', undefined, workspace]],
    '5',
  ],
  ['precision', commands.choosePrecision, { picked: 'bf16' }, [['precision', 'bf16', workspace]], undefined],
  [
    'framework',
    commands.chooseFramework,
    { picked: 'horovod' },
    [['framework', 'horovod', workspace]],
    undefined,
  ],
  [
    'cluster',
    commands.chooseCluster,
    { picked: 'DGX A100' },
    [['cluster', 'dgx-a100', workspace]],
    undefined,
  ],
  [
    'cluster, without a workspace',
    commands.chooseCluster,
    { picked: 'DGX A100', workspace: false },
    [['cluster', 'dgx-a100', global]],
    undefined,
  ],
  [
    'a single GPU, whose counts are given up',
    commands.chooseCluster,
    { picked: 'T4', workspace: false },
    [
      ['cluster', 't4', global],
      ['gpus', undefined, global],
      ['nodes', undefined, global],
    ],
    undefined,
  ],
  [
    'a cluster whose nodes 16 GPUs do not fill',
    commands.chooseCluster,
    { picked: 'Nodes of 6' },
    [
      ['cluster', 'odd', workspace],
      ['gpus', undefined, workspace],
      ['nodes', undefined, workspace],
    ],
    undefined,
  ],
  [
    'a single node, smaller than 16 GPUs',
    commands.chooseCluster,
    { picked: 'One box' },
    [
      ['cluster', 'box', workspace],
      ['gpus', undefined, workspace],
    ],
    undefined,
  ],
  [
    'batch, from the cluster picker',
    commands.chooseCluster,
    { picked: 'Batch per GPU…', entered: '9' },
    [['batch', 9, workspace]],
    '5',
  ],
  [
    'GPUs, from the cluster picker',
    commands.chooseCluster,
    { picked: 'GPUs…', entered: '2' },
    [['gpus', 2, workspace]],
    '16',
  ],
  ['nothing', commands.chooseCluster, {}, [], undefined],
] as const)('%s', async (_, command, answers, written, offered) => {
  Object.assign(editor, answers);
  await editor.commands.get(command)?.();
  expect(editor).toMatchObject({ written, offered });
});

test('on nodes that compute with their processors, those are counted', async () => {
  const client = { sendRequest: async () => clusters };
  const onCpus = { ...summary, devices: '16 CPU nodes', device: 'CPU node', gpusPerNode: 1 };
  editor.commands.clear();
  registerClusterPicker(client as never, Promise.resolve(), { active: () => ({ summary: onCpus }) } as never);
  for (const [command, asked] of [
    [commands.chooseGpus, /^Number of CPU nodes/],
    [commands.chooseBatch, /^Samples per CPU node/],
  ] as const) {
    await editor.commands.get(command)?.();
    expect(editor.asked).toMatch(asked);
  }
});
