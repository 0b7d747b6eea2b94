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
  gpusPerNode: 8,
  batch: 5,
  precision: 'fp32',
  framework: 'pytorch-ddp',
  fixedByModel: ['batch', 'precision'],
};
const clusters = [
  { name: 'dgx-a100', title: 'DGX A100', gpu: 'A100', gpusPerNode: 8, links: 'NVLink 3', kind: 'cluster' },
  { name: 't4', title: 'T4', gpu: 'T4', gpusPerNode: 1, links: '', kind: 'gpu' },
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
  ['GPUs', commands.chooseGpus, { entered: ' 4 ' }, [['gpus', 4, workspace]], '16', 0],
  ['batch', commands.chooseBatch, { entered: '7' }, [['batch', 7, workspace]], '5', 1],
  ['batch that is no number', commands.chooseBatch, { entered: '0' }, [], '5', 0],
  [
    'batch left to the model',
    commands.chooseBatch,
    { entered: '', workspace: false },
    [['batch', undefined, global]],
    '5',
    1,
  ],
  ['batch of the workspace that is not set', commands.chooseBatch, { entered: '' }, [], '5', 1],
  [
    'precision',
    commands.choosePrecision,
    { picked: 'bf16' },
    [['precision', 'bf16', workspace]],
    undefined,
    1,
  ],
  [
    'framework',
    commands.chooseFramework,
    { picked: 'horovod' },
    [['framework', 'horovod', workspace]],
    undefined,
    0,
  ],
  [
    'cluster',
    commands.chooseCluster,
    { picked: 'DGX A100' },
    [['cluster', 'dgx-a100', workspace]],
    undefined,
    0,
  ],
  [
    'cluster, without a workspace',
    commands.chooseCluster,
    { picked: 'DGX A100', workspace: false },
    [['cluster', 'dgx-a100', global]],
    undefined,
    0,
  ],
  [
    'a single GPU, whose counts are given up',
    commands.chooseCluster,
    { picked: 'T4', workspace: false },
    [
      ['gpus', undefined, global],
      ['nodes', undefined, global],
      ['cluster', 't4', global],
    ],
    undefined,
    0,
  ],
  [
    'batch, from the cluster picker',
    commands.chooseCluster,
    { picked: 'Batch per GPU…', entered: '9' },
    [['batch', 9, workspace]],
    '5',
    1,
  ],
  [
    'GPUs, from the cluster picker',
    commands.chooseCluster,
    { picked: 'GPUs…', entered: '2' },
    [['gpus', 2, workspace]],
    '16',
    0,
  ],
  ['nothing', commands.chooseCluster, {}, [], undefined, 0],
] as const)('%s', async (_, command, answers, written, offered, told) => {
  Object.assign(editor, answers);
  await editor.commands.get(command)?.();
  expect(editor).toMatchObject({ written, offered });
  // A layer spec that sets the same goes first, which is said.
  expect(editor.told).toHaveLength(told);
});
