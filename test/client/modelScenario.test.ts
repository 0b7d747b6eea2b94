/** What is chosen for one model alone: its entry of `layercost.models`, beside those of others. */

import { beforeEach, expect, test } from 'vitest';
import { applyScenarioChange } from '../../client/src/scenarioSettings.ts';
import type { ScenarioChange } from '../../server/src/protocol.ts';
import { editor } from './vscode.ts';

const [global, workspace] = [1, 2];
const bert = '/window/models/bert.onnx';
const kept = { 'other.onnx': { batch: 4 } };

beforeEach(() => {
  Object.assign(editor, { workspace: true, written: [], answers: [], picked: undefined });
});

const client = {
  sendRequest: async () => ({ kind: 'settings', file: bert }),
  code2ProtocolConverter: { asUri: () => bert },
};
const model = { document: { path: bert, scheme: 'file' }, part: undefined };
const apply = (change: ScenarioChange, scope: 'model' | 'workspace' | 'user') =>
  applyScenarioChange(client as never, model as never, change, scope);
const setFor = (entries: unknown, target = workspace) => editor.written.push(['models', entries, target]);

test.each<[string, object, ScenarioChange, object | undefined]>([
  ['a first entry', kept, { batch: 8 }, { ...kept, 'models/bert.onnx': { batch: 8 } }],
  [
    'a second key of the entry',
    { 'models/bert.onnx': { gpus: 2 } },
    { batch: 8 },
    { 'models/bert.onnx': { gpus: 2, batch: 8 } },
  ],
  [
    'a dimension beside another',
    { 'models/bert.onnx': { dimensions: { seq: 128, past: 4 } } },
    { dimensions: { seq: 512 } },
    { 'models/bert.onnx': { dimensions: { seq: 512, past: 4 } } },
  ],
  [
    'a key taken back',
    { 'models/bert.onnx': { gpus: 2, batch: 8 } },
    { batch: null },
    { 'models/bert.onnx': { gpus: 2 } },
  ],
  ['the last key taken back', { ...kept, 'models/bert.onnx': { batch: 8 } }, { batch: null }, kept],
  ['the last key of all taken back', { 'models/bert.onnx': { batch: 8 } }, { batch: null }, undefined],
])('%s', async (_, before, change, after) => {
  setFor(before);
  await apply(change, 'model');
  expect(editor.written.slice(1)).toEqual([['models', after, workspace]]);
});

test('a file outside of every folder has its entry among the settings of the user, by its path', async () => {
  editor.workspace = false;
  await apply({ batch: 8 }, 'model');
  expect(editor.written).toEqual([['models', { [bert]: { batch: 8 } }, global]]);
});

test('a choice for all takes away what was set for the model alone, and nothing else of it', async () => {
  setFor({ ...kept, 'models/bert.onnx': { gpus: 2, batch: 8 } });
  await apply({ batch: 16 }, 'workspace');
  expect(editor.written.slice(1)).toEqual([
    ['batch', 16, workspace],
    ['models', { ...kept, 'models/bert.onnx': { gpus: 2 } }, workspace],
  ]);
});

test('a choice for all writes no entry of a model that has none', async () => {
  setFor(kept);
  await apply({ batch: 16 }, 'user');
  expect(editor.written.slice(1)).toEqual([['batch', 16, global]]);
});
