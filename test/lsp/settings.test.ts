import { expect, test } from 'vitest';
import {
  readSettings,
  scenarioOfSettings,
  settingsForModel,
  withScenario,
} from '../../server/src/lsp/settings.ts';

const check = (sent: unknown) => {
  const { settings, problems } = readSettings(sent);
  return { scenario: scenarioOfSettings(settings), problems };
};

test('what is not set is not asked for', () => {
  expect(check({ input: {}, workers: {}, run: {}, gpus: null })).toEqual({
    problems: [],
    scenario: {
      cluster: 'dgx-h100',
      optimizer: 'adamw',
      framework: { name: 'pytorch-ddp', options: {} },
      mode: 'training',
    },
  });
});

test.each([
  [{ framework: 'mxnet, servers=4' }, { framework: { name: 'mxnet', options: { servers: '4' } } }],
  [
    { framework: 'pytorch-ddp,compile' },
    { framework: { name: 'pytorch-ddp', options: { compile: 'true' } } },
  ],
  [{ framework: './ours.yaml' }, { framework: { name: './ours.yaml', options: {} } }],
  [
    { input: { 'sample-bytes': 110_000, source: 'local' } },
    { input: { sampleBytes: 110_000, source: 'local' } },
  ],
  [{ workers: { imbalance: 1.1 } }, { workers: { imbalance: 1.1 } }],
  [{ run: { samples: 1_281_167, price: 2.5 } }, { run: { samples: 1_281_167, epochs: 1, price: 2.5 } }],
])('%j', (sent, asked) => {
  const { scenario, problems } = check(sent);
  expect(problems).toEqual([]);
  expect(scenario).toMatchObject(asked);
});

test.each([
  [
    { framework: 'mxnet,=4' },
    /layercost\.framework .*: `=4` has no name: write a name, .*; its default is used$/,
  ],
  [{ gpus: 0 }, /^setting layercost\.gpus has an invalid value \(0\); its default is used$/],
  [
    { run: { epochs: 9 } },
    /^setting layercost\.run .* \(\{"epochs":9\}\): `run` needs `samples`.*; its default is used$/,
  ],
  [{ workers: { imbalance: 0.5 } }, /layercost\.workers .*at least 1; its default is used$/],
  [{ input: { 'sample-byte': 1 } }, /layercost\.input .*did you mean `?sample-bytes/],
])('%j is named in the log, and its default is used', (sent, problem) => {
  const { scenario, problems } = check(sent);
  expect(problems.join('\n')).toMatch(problem);
  expect(scenario).toEqual(check({}).scenario);
});

test.each([
  [
    { cluster: './own.cluster.json' },
    'setting layercost.models["a.onnx"].cluster names a file ("./own.cluster.json"), which only the setting for all models may; it is ignored: give a built-in name here',
  ],
  [
    { framework: './own.framework.yaml,bucket-mb=5' },
    'setting layercost.models["a.onnx"].framework names a file ("./own.framework.yaml,bucket-mb=5"), which only the setting for all models may; it is ignored: give a built-in name here',
  ],
  [{ gpus: 0 }, 'setting layercost.models["a.onnx"].gpus has an invalid value (0); it is ignored'],
  [{ gpu: 8 }, 'setting layercost.models["a.onnx"].gpu is not known; it is ignored'],
])('an entry of one model, %j', (entry, problem) => {
  const { settings } = readSettings({ models: { 'a.onnx': entry } });
  expect(settingsForModel(settings, '/models/a.onnx').problems).toEqual([problem]);
});

test('dimensions of one model add to those of all, and win over them', () => {
  const { settings } = readSettings({ dimensions: { seq: 128, width: 64 } });
  expect(withScenario(settings, { dimensions: { seq: 512, past: 4 } }).settings.dimensions).toEqual({
    seq: 512,
    width: 64,
    past: 4,
  });
  expect(withScenario(settings, { batch: 2 }).settings.dimensions).toEqual({ seq: 128, width: 64 });
});

/** Of `models`, the longest entry that names the end of a path counts, in whole names of folders and files. */
test.each([
  ['/models/nets/a.onnx', 3],
  ['/other/nets/a.onnx', 2],
  ['/models/a.onnx', 1],
  ['a.onnx', 1],
  ['/models/ba.onnx', undefined],
  ['/models/a.onnx.bak', undefined],
  ['/models/b.onnx', 4],
])('%s has a batch of %s', (path, batch) => {
  const { settings } = readSettings({
    models: {
      'a.onnx': { batch: 1 },
      'nets/a.onnx': { batch: 2 },
      'models/nets/a.onnx': { batch: 3 },
      // From the root of the workspace, as paths are mostly written.
      '/b.onnx': { batch: 4 },
      // It names nothing.
      '': { batch: 5 },
    },
  });
  expect(scenarioOfSettings(settingsForModel(settings, path).settings).batch).toBe(batch);
});
