/** What the command asks, in which order, what it sends for it, and what becomes of the layout that is chosen. */

import { beforeEach, expect, test } from 'vitest';
import { registerPlanParallelism } from '../../client/src/planParallelism.ts';
import {
  commands,
  listClusters,
  type PlanLayoutsResult,
  planLayouts,
  type ScenarioSummary,
} from '../../server/src/protocol.ts';
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
  precision: 'bf16',
  framework: 'megatron',
  fixedByModel: [],
};
const clusters = [
  { name: 'dgx-h100', title: 'DGX H100', kind: 'cluster', links: 'NVLink 4' },
  { name: 'dgx-a100', title: 'DGX A100', kind: 'cluster', links: 'NVLink 3' },
  { name: 't4', title: 'T4', kind: 'gpu', links: '' },
];
const change = { gpus: 8, globalBatch: 64, parallel: { tp: 2 } };
const planned: PlanLayoutsResult = {
  kind: 'planned',
  searched: '9 layouts costed, 5 fit',
  layouts: [
    {
      gpus: 8,
      layout: 'tp 2 · dp 4',
      setup: 'pytorch-ddp',
      costs: '1 ms',
      why: '',
      change,
      launchers: [{ launcher: 'Megatron-LM', text: '--tensor-model-parallel-size 2' }],
    },
  ],
};

let sent: unknown[] = [];
let result: PlanLayoutsResult = planned;

beforeEach(() => {
  const document = { uri: { scheme: 'untitled' }, languageId: 'layer-spec' };
  Object.assign(editor, { entered: undefined, picked: undefined, workspace: true, document });
  Object.assign(editor, { answers: [], written: [], told: [], copied: [] });
  editor.commands.clear();
  sent = [];
  result = planned;
  const client = {
    code2ProtocolConverter: { asUri: () => 'untitled:model' },
    onNotification: () => ({ dispose: () => {} }),
    sendRequest: async (method: string, params: unknown) => {
      if (method === listClusters) return clusters;
      if (method !== planLayouts) return null;
      sent.push(params);
      return result;
    },
  };
  const estimates = { active: () => ({ summary }), of: () => undefined };
  registerPlanParallelism(client as never, Promise.resolve(), estimates as never);
});

const run = (...answers: readonly string[]): Promise<void> | undefined => {
  Object.assign(editor, { answers: [...answers] });
  return editor.commands.get(commands.planParallelism)?.();
};

test.each([
  [
    ['DGX H100', '8', '64', 'Whichever is fastest'],
    { cluster: 'dgx-h100', gpus: [8], globalBatch: 64, goal: 'fastest', keepsFramework: false },
  ],
  [
    ['DGX A100', '8, 16,32', ' 512 ', 'Fewest GPUs', 'Only megatron'],
    { cluster: 'dgx-a100', gpus: [8, 16, 32], globalBatch: 512, goal: 'fewest', keepsFramework: true },
  ],
] as const)('asks: %j', async (answers, asked) => {
  await run(...answers);
  expect(sent).toEqual([{ uri: 'untitled:model', ...asked }]);
});

test.each([
  ['a single GPU is no choice', ['T4']],
  ['no number of GPUs', ['DGX H100', '8, 0']],
  ['no batch', ['DGX H100', '8', 'many']],
] as const)('searches nothing: %s', async (_, answers) => {
  await run(...answers);
  expect(sent).toEqual([]);
});

const answered = ['DGX H100', '8', '64', 'Whichever is fastest', 'tp 2 · dp 4'] as const;

test('applies a layout to the scenario', async () => {
  await run(...answered, 'Apply to this model', 'This workspace');
  expect(editor.written).toEqual(Object.entries(change).map(([key, value]) => [key, value, 2]));
});

test('copies a layout in the words of a launcher', async () => {
  await run(...answered, 'Copy for Megatron-LM');
  expect(editor).toMatchObject({ copied: ['--tensor-model-parallel-size 2'], written: [] });
});

test('says why there is none', async () => {
  result = { kind: 'none', message: 'No layout fits; use more GPUs.' };
  await run(...answered);
  expect(editor.told).toEqual(['No layout fits; use more GPUs.']);
});

test('says that a model is needed', async () => {
  editor.document = undefined;
  await run();
  expect(editor.told).toEqual(['Open a model first; the command is about the active editor.']);
});
