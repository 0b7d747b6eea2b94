/** The server over a real connection. Few and whole: features have their tests in `test/language`. */

import { afterEach, expect, it } from 'vitest';
import type { ExportPython, MeasuredState } from '../../server/src/lsp/platform.ts';
import { seconds } from '../../server/src/model/units.ts';
import {
  type BenchmarkResult,
  type ClusterChoice,
  type ConfigSpecResult,
  compareResults,
  type ExportProgressParams,
  type ExportPythonResult,
  exportProgress,
  exportPython,
  type FrameworkChoiceItem,
  listClusters,
  listFrameworks,
  listResults,
  makeReport,
  type ReportResult,
  removeResult,
  runBenchmark,
  type ScenarioChange,
  type TryScenarioResult,
  trustGranted,
  tryScenario,
  writeConfigSpec,
} from '../../server/src/protocol.ts';
import { encodeModel } from '../support/onnxBytes.ts';
import {
  layersAddress,
  readsFiles,
  startTestServer,
  type TestClient,
  type TestServerOptions,
  textAddress,
} from './testServer.ts';

const spec = `name: small
inputs:
  x: float32[batch, 512]
layers:
  - a: Linear(512, 512)
  - b: ReLU()
`;
const specUri = 'file:///models/small.layers.yaml';

let client: TestClient | undefined;
async function start(options?: TestServerOptions): Promise<TestClient> {
  client = await startTestServer(options);
  return client;
}
afterEach(async () => {
  await client?.stop();
  client = undefined;
});

const model = (channels: number): Uint8Array =>
  encodeModel({
    graph: {
      name: 'tiny',
      inputs: { x: `float[N,${channels}]` },
      outputs: { y: 'float[N,4]' },
      initializers: [{ name: 'w', type: `float[${channels},4]` }],
      nodes: [{ type: 'MatMul', name: '/fc/MatMul', inputs: ['x', 'w'], outputs: ['y'] }],
    },
  });

it('says what it can do', async () => {
  const { capabilities } = await start();
  expect(capabilities).toMatchObject({
    hoverProvider: true,
    inlayHintProvider: { resolveProvider: true },
    codeLensProvider: {},
    documentSymbolProvider: true,
    foldingRangeProvider: true,
    workspace: { textDocumentContent: { schemes: ['onnx-text', 'onnx-layers'] } },
  });
});

it('marks a dim that nothing reads when the file is saved, not while it is typed', async () => {
  const { open, change, connection } = await start({ pullsDiagnostics: true });
  const textDocument = { uri: specUri };
  const unused = async (): Promise<readonly string[]> => {
    const { items } = await connection.sendRequest<{ items: readonly { code: string; message: string }[] }>(
      'textDocument/diagnostic',
      { textDocument },
    );
    return items.flatMap(({ code, message }) => (code === 'spec/unused' ? [message] : []));
  };
  await open(specUri, 'layer-spec', spec);
  await change(specUri, 2, `dims: { d: 8 }\n${spec}`);
  expect(await unused()).toEqual([]);
  await connection.sendNotification('textDocument/didSave', { textDocument });
  expect(await unused()).toEqual(['nothing reads the dimension `d`']);
  await change(specUri, 3, `dims: { d: 8, e: 9 }\n${spec}`);
  expect(await unused()).toEqual(['nothing reads the dimension `d`']);
});

it('takes the language from the name of a file that an editor opens as YAML', async () => {
  const { open, hints } = await start();
  await open(specUri, 'yaml', spec);
  expect(await hints(specUri)).toHaveLength(2);
});

it('annotates a layer spec', async () => {
  const { open, hints, connection, diagnostics, estimates } = await start();
  await open(specUri, 'layer-spec', spec);
  const shown = await hints(specUri);
  expect(shown.map(({ line }) => line)).toEqual([4, 5]);
  expect(shown[0]?.text).toMatch(/^1\.05 MFLOP · \S+ µs/);
  const textDocument = { uri: specUri };
  expect(
    await connection.sendRequest('textDocument/hover', { textDocument, position: { line: 4, character: 5 } }),
  ).toMatchObject({ contents: { kind: 'markdown', value: expect.stringContaining('a · Linear') } });
  expect(await connection.sendRequest('textDocument/codeLens', { textDocument })).toMatchObject([
    {
      command: {
        title: expect.stringMatching(/^step \S+ \S+ · \S+ MiB of 79\.2 GiB$/),
        command: 'layercost.showReport',
        arguments: [specUri],
      },
    },
    {
      command: {
        title: 'dgx-h100 · 8 GPUs · batch 1 · bf16 · pytorch-ddp',
        command: 'layercost.chooseCluster',
      },
    },
    { command: { title: expect.stringMatching(/ parameters · /), command: 'layercost.showReport' } },
  ]);
  expect(await connection.sendRequest('textDocument/documentSymbol', { textDocument })).toMatchObject([
    { name: 'a' },
    { name: 'b' },
  ]);
  const published = await diagnostics(specUri, 1);
  expect(published.every(({ source, code }) => source === 'layercost' && typeof code === 'string')).toBe(
    true,
  );
  expect(estimates.at(-1)).toMatchObject({
    uri: specUri,
    state: 'exact',
    summary: { gpus: 8, precision: 'bf16', framework: 'pytorch-ddp' },
  });
});

it('renames a block in the files that call it, and finds it there', async () => {
  const { open, connection, files, hints } = await start();
  const blocks = 'blocks:\n  mlp(d):\n    - fc: Linear(d, d)\n';
  files.set('file:///models/parts/b.yaml', new TextEncoder().encode(blocks));
  const spec = 'include: parts/b.yaml\ninputs:\n  x: float32[8, 16]\nlayers:\n  - a: mlp(16)\n';
  await open('file:///models/one.layers.yaml', 'layer-spec', spec);
  await open('file:///models/two.layers.yaml', 'layer-spec', spec);
  await hints('file:///models/one.layers.yaml');
  await hints('file:///models/two.layers.yaml');
  const params = {
    textDocument: { uri: 'file:///models/one.layers.yaml' },
    position: { line: 4, character: 9 },
  };
  const word = { start: { line: 4, character: 7 }, end: { line: 4, character: 10 } };
  expect(await connection.sendRequest('textDocument/prepareRename', params)).toEqual(word);
  const call = [{ range: word, newText: 'ffn' }];
  expect(await connection.sendRequest('textDocument/rename', { ...params, newName: 'ffn' })).toEqual({
    changes: {
      'file:///models/parts/b.yaml': [
        { range: { start: { line: 1, character: 2 }, end: { line: 1, character: 5 } }, newText: 'ffn' },
      ],
      'file:///models/one.layers.yaml': call,
      'file:///models/two.layers.yaml': call,
    },
  });
  const context = { includeDeclaration: false };
  expect(await connection.sendRequest('textDocument/references', { ...params, context })).toHaveLength(2);
  expect(await connection.sendRequest('textDocument/definition', params)).toMatchObject([
    { targetUri: 'file:///models/parts/b.yaml' },
  ]);
});

it('renames a block in closed files of the workspace, and finds it there', async () => {
  const { open, connection, files } = await start();
  const put = (path: string, text: string): string => {
    const uri = `file:///models/${path}`;
    files.set(uri, new TextEncoder().encode(text));
    return uri;
  };
  const blocks = 'blocks:\n  mlp(d, ratio=4):\n    - fc: Linear(d, ratio*d)\n';
  const own = put('parts/b.yaml', blocks);
  const spec = 'inputs:\n  x: float32[8, 16]\nlayers:\n  - a: mlp(16, ratio=2)\n';
  const beside = put('one.layers.yaml', `include: parts/b.yaml\n${spec}`);
  put('more/two.layers.yml', `include: middle.yaml\n${spec}`);
  const middle = put('more/middle.yaml', 'include: ../parts/b.yaml\nblocks:\n  pair:\n    - a: mlp(8)\n');
  put('more/stranger.layers.yaml', spec);
  put('node_modules/three.layers.yaml', `include: ../parts/b.yaml\n${spec}`);
  put('notes.yaml', 'mlp: true\n');
  await open(own, 'layer-spec', blocks);
  const params = { textDocument: { uri: own }, position: { line: 1, character: 3 } };
  const renamed = await connection.sendRequest<{ changes: Record<string, unknown[]> }>(
    'textDocument/rename',
    {
      ...params,
      newName: 'ffn',
    },
  );
  // What includes the middle file sees its blocks, and not those that it includes.
  expect(Object.keys(renamed.changes).sort()).toEqual([middle, beside, own]);
  expect(renamed.changes[beside]).toEqual([
    { range: { start: { line: 4, character: 7 }, end: { line: 4, character: 10 } }, newText: 'ffn' },
  ]);
  const context = { includeDeclaration: true };
  const found = await connection.sendRequest<{ uri: string }[]>('textDocument/references', {
    ...params,
    context,
  });
  expect(found.map(({ uri }) => uri).sort()).toEqual([middle, beside, own]);
  const parameter = { textDocument: { uri: own }, position: { line: 1, character: 10 } };
  const places = await connection.sendRequest<{ uri: string }[]>('textDocument/references', {
    ...parameter,
    context,
  });
  expect(places.map(({ uri }) => uri).sort()).toEqual([beside, own, own]);
});

it('proposes files to include, folder by folder', async () => {
  const { open, connection, files } = await start();
  for (const path of ['mine.layers.yaml', 'parts/mlp.layers.yaml', 'parts/notes.txt', 'other.yaml'])
    files.set(`file:///models/${path}`, new Uint8Array());
  const uri = 'file:///models/mine.layers.yaml';
  await open(uri, 'layer-spec', 'include:\n  - \n  - parts/\nlayers: []\n');
  const propose = async (line: number, character: number): Promise<readonly string[]> => {
    const params = { textDocument: { uri }, position: { line, character } };
    const found = await connection.sendRequest<{ label: string }[]>('textDocument/completion', params);
    return found.map(({ label }) => label);
  };
  expect(await propose(1, 4)).toEqual(['parts/', 'other.yaml']);
  expect(await propose(2, 10)).toEqual(['mlp.layers.yaml']);
});

it('costs every model of a layer spec, and reports the one that is asked for', async () => {
  const { open, hints, connection, estimates } = await start();
  const uri = 'file:///models/sizes.layers.yaml';
  await open(
    uri,
    'layer-spec',
    `inputs:
  x: float32[8, d]
layers:
  - fc: Linear(d, d)
models:
  small: { dims: { d: 512 } }
  large: { dims: { d: 1024 } }
`,
  );
  expect((await hints(uri)).map(({ line, text }) => [line, text.replace(/ · [^|]*(?= |$)/g, '')])).toEqual([
    [3, 'small 8.39 MFLOP | large 33.6 MFLOP'],
  ]);
  expect(await connection.sendRequest('textDocument/codeLens', { textDocument: { uri } })).toMatchObject([
    { command: { arguments: [uri, 'small'] } },
    {},
    { command: { arguments: [uri, 'large'] } },
    {},
    { command: { arguments: [uri, 'small'] } },
    { command: { arguments: [uri, 'large'] } },
  ]);
  const report = await connection.sendRequest<ReportResult>(makeReport, {
    uri,
    page: 'report',
    format: 'text',
    model: 'large',
  });
  expect(report.name).toBe('sizes.layers.yaml#large');
  const asked = { uri, page: 'scaling', format: 'markdown', model: 'large' };
  const scaling = await connection.sendRequest<ReportResult>(makeReport, asked);
  expect(scaling.text).toMatch(/^# sizes\.layers\.yaml#large: scaling\n\ndgx-h100: batch 8 per GPU/);
  expect(scaling.text.match(/^\| \d+ /gm)).toEqual([1, 2, 4, 8, 16, 32, 64].map((gpus) => `| ${gpus} `));
  expect(estimates.at(-1)?.models).toMatchObject([
    { name: 'small', firstLine: 5, lastLine: 5, state: 'exact' },
    { name: 'large', firstLine: 6, lastLine: 6, state: 'exact' },
  ]);
});

it('serves what a text says, and refuses a rename in words', async () => {
  const { open, connection } = await start();
  await open(specUri, 'layer-spec', spec);
  const textDocument = { uri: specUri };
  const ask = <Result>(method: string, line: number, character: number, more = {}): Promise<Result> =>
    connection.sendRequest(`textDocument/${method}`, {
      textDocument,
      position: { line, character },
      ...more,
    });
  const completions = await ask<{ label: string }[]>('completion', 4, 15);
  expect(completions.map(({ label }) => label)).toContain('in_features=');
  expect(await ask('signatureHelp', 4, 15)).toMatchObject({ activeParameter: 0 });
  expect(await ask('definition', 4, 5)).toMatchObject([{ targetUri: specUri }]);
  expect(await ask('references', 4, 5, { context: { includeDeclaration: true } })).toHaveLength(1);
  expect(await ask('documentHighlight', 4, 5)).toHaveLength(1);
  expect(await ask('prepareRename', 4, 5)).toMatchObject({ start: { line: 4, character: 4 } });
  expect(await ask('rename', 4, 5, { newName: 'fc' })).toMatchObject({
    changes: { [specUri]: [{ newText: 'fc' }] },
  });
  await expect(ask('rename', 4, 5, { newName: 'b' })).rejects.toThrow('`b` is already a layer here');
  expect(await ask('formatting', 0, 0, { options: {} })).toEqual([]);
  expect(await connection.sendRequest('workspace/symbol', { query: 'b' })).toMatchObject([
    { name: 'b', location: { uri: specUri } },
  ]);
  expect(await ask('semanticTokens/full', 0, 0)).toMatchObject({ data: expect.any(Array) });
  expect(await ask('selectionRange', 0, 0, { positions: [{ line: 4, character: 15 }] })).toMatchObject([
    { parent: { parent: {} } },
  ]);
});

it('annotates ONNX text as it is written', async () => {
  const { open, change, hints, connection, diagnostics, estimates } = await start();
  const uri = 'file:///models/small.onnxtxt';
  const text = `<ir_version: 10, opset_import: ["" : 21]>
small (float[N,512] x) => (float[N,512] y)
<float[512,512] w = {...}>
{
  [first] h = MatMul (x, w)
  [second]
  y = Relu (h)
}
`;
  await open(uri, 'onnx-text', text);
  const shown = await hints(uri);
  expect(shown.map(({ line }) => line)).toEqual([4, 5]);
  expect(shown[0]?.text).toMatch(/^1\.05 MFLOP · \S+ µs/);
  const textDocument = { uri };
  expect(
    await connection.sendRequest('textDocument/hover', { textDocument, position: { line: 6, character: 5 } }),
  ).toMatchObject({ contents: { value: expect.stringContaining('second · ') } });
  expect(await connection.sendRequest('textDocument/codeLens', { textDocument })).toMatchObject([
    {},
    {},
    { command: { title: expect.stringContaining('262 k parameters') } },
  ]);
  expect(estimates.at(-1)).toMatchObject({ uri, state: 'exact' });

  await change(uri, 2, text.replace('Relu (h)', 'Relu [h)'));
  expect((await hints(uri)).map(({ line }) => line)).toContain(4);
  expect((await diagnostics(uri, 2)).filter(({ severity }) => severity === 1)).toMatchObject([
    {
      code: 'onnx/text-syntax',
      range: { start: { line: 6, character: 11 }, end: { line: 6, character: 12 } },
    },
  ]);
  await change(uri, 3, text.replace('(x, w)', '(x, v)'));
  expect((await diagnostics(uri, 3)).filter(({ severity }) => severity === 1)).toMatchObject([
    { code: 'graph/undefined-value', range: { start: { line: 4 } } },
  ]);
});

it('annotates the nodes of an ONNX text that are right', async () => {
  const { open, hints, diagnostics } = await start();
  const uri = 'file:///models/broken.onnxtxt';
  await open(
    uri,
    'onnx-text',
    `<ir_version: 10, opset_import: ["" : 21]>
g (float[4,8] x) => (float[4,8] c)
{
  a = Relu (x)
  b = Sigmoid [a)
  c = Tanh (b)
  d = Neg (a)
}
`,
  );
  expect((await hints(uri)).map(({ line }) => line)).toEqual(expect.arrayContaining([3, 6]));
  expect((await diagnostics(uri, 1)).filter(({ severity }) => severity === 1)).toMatchObject([
    { code: 'onnx/text-syntax', range: { start: { line: 4, character: 14 } } },
  ]);
});

it('annotates a Caffe net, with the sizes of its data from the settings', async () => {
  const { open, hints, diagnostics } = await start({ settings: { dimensions: { features: 16 } } });
  const uri = 'file:///models/train_val.prototxt';
  const net = `layer { name: "d" type: "HDF5Data" top: "x" top: "t" hdf5_data_param { batch_size: 4 } }
layer {
  name: "fc" type: "InnerProduct" bottom: "x" top: "fc"
  inner_product_param { num_output: 10 }
}
layer { name: "s" type: "Softmx" bottom: "fc" top: "s" }
`;
  await open(uri, 'caffe-prototxt', net);
  // 2 · 4 samples · 16 features · 10 outputs.
  expect(await hints(uri)).toMatchObject([
    { line: 1, text: expect.stringMatching(/^2\.56 kFLOP · /) },
    { line: 5, text: 'cost unknown' },
  ]);
  expect(await diagnostics(uri, 1)).toMatchObject([{ code: 'caffe/unknown-layer' }]);
});

it('follows typing and answers for the newest text only', async () => {
  const { open, change, hints, diagnostics } = await start();
  await open(specUri, 'layer-spec', spec);
  await change(specUri, 2, spec.replace('Linear(512, 512)', 'Linear(512, '));
  await change(specUri, 3, spec.replace('Linear(512, 512)', 'Linear(512, 2048)'));
  expect((await hints(specUri))[0]?.text).toMatch(/^4\.19 MFLOP/);
  expect((await diagnostics(specUri, 3)).filter(({ severity }) => severity === 1)).toEqual([]);
});

it('answers what was asked before a change as well as what is asked after it', async () => {
  const { open, change, hints } = await start();
  await open(specUri, 'layer-spec', spec);
  const before = hints(specUri);
  await change(specUri, 2, spec.replaceAll('512', '256'));
  const between = hints(specUri);
  await change(specUri, 3, spec.replaceAll('512', '128'));
  const answers = await Promise.all([before, between, hints(specUri)]);
  for (const answer of answers) expect(answer[0]?.text).toMatch(/^65\.5 kFLOP/);
});

it('asks an editor to request hints again where anything but its typing changed them', async () => {
  const { open, change, changeSettings, hints, estimates } = await start();
  const refreshes = (): number => client?.hintRefreshes ?? Number.NaN;
  await open(specUri, 'layer-spec', spec);
  await expect.poll(refreshes).toBe(1);
  await change(specUri, 2, spec.replaceAll('512', '256'));
  await expect.poll(() => estimates.length).toBe(2);
  await hints(specUri);
  expect(refreshes()).toBe(1);
  await changeSettings({ batch: 2 });
  await expect.poll(refreshes).toBe(2);
  // A key that is typed before the settings have taken effect hides nothing of them.
  await changeSettings({ batch: 4 });
  await change(specUri, 3, spec.replaceAll('512', '128'));
  await expect.poll(refreshes).toBe(3);
  // Four samples, each of which takes 65.5 kFLOP.
  expect((await hints(specUri))[0]?.text).toMatch(/^262 kFLOP/);
});

it('keeps the last good numbers while a line is half written', async () => {
  const { open, change, hints, diagnostics } = await start();
  await open(specUri, 'layer-spec', spec);
  const before = await hints(specUri);
  await change(specUri, 2, spec.replace('  - b:', '  - new: Lin(\n  - b:'));
  const after = await hints(specUri);
  expect(after.map(({ line }) => line)).toEqual([4, 6]);
  expect(after.map(({ text }) => text)).toEqual(before.map(({ text }) => text));
  expect((await diagnostics(specUri, 2)).some(({ severity }) => severity === 1)).toBe(true);
});

it('annotates anew when settings change; a wrong value falls back and is named in the log', async () => {
  const { open, hints, changeSettings, connection, log } = await start();
  await open(specUri, 'layer-spec', spec);
  const before = await hints(specUri);
  await changeSettings({ cluster: 'k80-10gbe', gpus: 4, precision: 'fp31' });
  const after = await hints(specUri);
  expect(after).not.toEqual(before);
  const lenses = await connection.sendRequest('textDocument/codeLens', { textDocument: { uri: specUri } });
  expect(JSON.stringify(lenses)).toContain('k80-10gbe · 4 GPUs · batch 1 · fp32');
  expect(log.join('\n')).toContain('layercost.precision has an invalid value ("fp31")');
});

it('lets a layer spec override the settings', async () => {
  const { open, connection } = await start({ settings: { cluster: 'k80-10gbe', gpus: 4, batch: 2 } });
  await open(specUri, 'layer-spec', `${spec}scenario: { cluster: dgx-a100, gpus: 16 }\n`);
  const lenses = await connection.sendRequest('textDocument/codeLens', { textDocument: { uri: specUri } });
  expect(JSON.stringify(lenses)).toContain('dgx-a100 · 16 GPUs · batch 2 · bf16');
});

it('shows no hints when they are switched off', async () => {
  const { open, hints } = await start({ settings: { hints: { enabled: false } } });
  await open(specUri, 'layer-spec', spec);
  expect(await hints(specUri)).toEqual([]);
});

it('shows the kinds of hints that are switched on', async () => {
  const { open, hints, changeSettings } = await start({ settings: { hints: { shape: true } } });
  await open(specUri, 'layer-spec', spec);
  expect((await hints(specUri)).slice(0, 2).map(({ text }) => text)).toEqual([
    '[1, 512]',
    expect.stringContaining('FLOP'),
  ]);
  await changeSettings({ hints: { cost: false, shape: true } });
  expect((await hints(specUri)).map(({ text }) => text)).toEqual(['[1, 512]', '[1, 512]']);
});

it('explains a hint when it is pointed at', async () => {
  const { open, connection } = await start();
  await open(specUri, 'layer-spec', spec);
  const range = { start: { line: 0, character: 0 }, end: { line: 9, character: 0 } };
  const [hint] = await connection.sendRequest<readonly { tooltip?: unknown }[]>('textDocument/inlayHint', {
    textDocument: { uri: specUri },
    range,
  });
  expect(hint?.tooltip).toBeUndefined();
  expect(await connection.sendRequest('inlayHint/resolve', hint)).toMatchObject({
    tooltip: { kind: 'markdown', value: expect.stringContaining('a · Linear') },
  });
});

it('answers an editor that asks for diagnostics, and sends it none', async () => {
  const { open, change, connection, capabilities } = await start({ pullsDiagnostics: true });
  expect(capabilities).toMatchObject({ diagnosticProvider: {} });
  let sent = 0;
  connection.onNotification('textDocument/publishDiagnostics', () => {
    sent += 1;
  });
  await open(specUri, 'layer-spec', spec);
  await change(specUri, 2, spec.replace('Linear(512, 512)', 'Linear(511, 512)'));
  const textDocument = { uri: specUri };
  expect(await connection.sendRequest('textDocument/diagnostic', { textDocument })).toMatchObject({
    kind: 'full',
    items: expect.arrayContaining([expect.objectContaining({ code: 'shape/mismatch' })]),
  });
  expect(sent).toBe(0);
});

it('takes a cluster of one’s own by its path, and reads it again when it changes', async () => {
  const { open, connection, files, registered, diagnostics } = await start({
    settings: { cluster: 'clusters/mine.json' },
  });
  const address = 'file:///models/clusters/mine.json';
  const profile = (title: string): Uint8Array =>
    new TextEncoder().encode(JSON.stringify({ name: 'mine', title, gpu: 'a100-sxm-80gb', gpusPerNode: 1 }));
  files.set(address, profile('First'));
  await open(specUri, 'layer-spec', spec);
  const lenses = async (): Promise<string> =>
    JSON.stringify(await connection.sendRequest('textDocument/codeLens', { textDocument: { uri: specUri } }));
  expect(await lenses()).toContain('mine · 1 GPU');
  await expect
    .poll(() => JSON.stringify(registered))
    .toContain('{"baseUri":"file:///models/clusters","pattern":"mine.json"}');
  files.set(address, new TextEncoder().encode('{ "name": "mine", "gpu": "no-such-gpu", "gpusPerNode": 1 }'));
  await connection.sendNotification('workspace/didChangeWatchedFiles', {
    changes: [{ uri: address, type: 2 }],
  });
  expect(await lenses()).toBe('[]');
  await expect
    .poll(async () => (await diagnostics(specUri, 1)).map(({ message }) => message).join('\n'))
    .toMatch(/^mine\.json: line 1, column \d+: "gpu": no built-in GPU is called/m);
});

it('takes a framework of one’s own by its path, and says at its place what is wrong with it', async () => {
  const { open, connection, files, diagnostics } = await start({
    settings: { framework: './ours.yaml', gpus: 8 },
  });
  const address = 'file:///models/ours.yaml';
  const write = (text: string): Map<string, Uint8Array> => files.set(address, new TextEncoder().encode(text));
  write('name: ours\ntitle: our trainer\ngradients: { messages: one, over: all-reduce }\n');
  await open(specUri, 'layer-spec', spec);
  const text = (await connection.sendRequest(makeReport, {
    uri: specUri,
    page: 'report',
    format: 'text',
  })) as {
    text?: string;
  };
  expect(text.text).toContain('ours');
  write('name: ours\ntitle: our trainer\ngradients: { messages: two }\n');
  await connection.sendNotification('workspace/didChangeWatchedFiles', {
    changes: [{ uri: address, type: 2 }],
  });
  await expect
    .poll(async () => (await diagnostics(specUri, 1)).map(({ message }) => message).join('\n'))
    .toMatch(/^ours\.yaml: line 3, column \d+/m);
});

it('tries another scenario that is written nowhere: its totals, then its page', async () => {
  const { open, connection } = await start({ settings: { cluster: 'dgx-a100', gpus: 8, batch: 4 } });
  await open(specUri, 'layer-spec', spec);
  const page = (change: ScenarioChange): Promise<ReportResult> =>
    connection.sendRequest(makeReport, { uri: specUri, page: 'report', format: 'html', change });
  const tried = (change: ScenarioChange): Promise<TryScenarioResult> =>
    connection.sendRequest(tryScenario, { uri: specUri, change });
  const now = await page({});
  const larger = await page({ batch: 64, gpus: 16 });
  expect(now.tried?.values).toMatchObject({ batch: '4', gpus: '8' });
  expect(larger.tried).toMatchObject({
    values: expect.objectContaining({ batch: '64', gpus: '16' }),
    label: expect.stringContaining('batch 64'),
    fits: true,
  });
  expect(larger.text).toMatch(/16 × A100/);
  expect(larger.text).toMatch(/data-written="4"/);
  const { rows } = await tried({ batch: 64, gpus: 16 });
  for (const { value } of rows) expect(larger.text).toContain(`<b>${value}</b>`);
  expect((await tried({})).rows).not.toEqual(rows);
  expect(await tried({ cluster: 'nowhere' })).toEqual({
    rows: [],
    sentence: '',
    refusal: expect.stringContaining('`nowhere`'),
  });
});

it('refuses a report where nothing could be costed, and says why', async () => {
  const { open, connection } = await start();
  await open(
    specUri,
    'layer-spec',
    // A dimension that nothing reads is told, and is no reason.
    'name: empty\ndims: { unread: 3 }\ninputs:\n  x: float32[batch, 8]\nlayers:\n  - a: Nothing()\n',
  );
  const answer = await connection.sendRequest<ReportResult>(makeReport, {
    uri: specUri,
    page: 'report',
    format: 'text',
  });
  expect(answer.refusal).toMatch(/^empty has no report, because no part of it could be costed: .*Nothing/);
  const [, reason = ''] = answer.refusal?.split('costed: ') ?? [];
  expect(answer.text).toBe(`# empty\n\nThe model cannot be costed.\n\n- ${reason}\n`);
});

it('offers quick fixes with the diagnostics they are for', async () => {
  const { open, connection } = await start();
  await open(specUri, 'layer-spec', spec.replace('Linear(512, 512)', 'Linaer(512, 512)'));
  const place = { line: 4, character: 8 };
  const params = {
    textDocument: { uri: specUri },
    range: { start: place, end: place },
    context: { diagnostics: [] },
  };
  expect(await connection.sendRequest('textDocument/codeAction', params)).toMatchObject([
    {
      title: 'Change to `Linear`',
      kind: 'quickfix',
      isPreferred: true,
      diagnostics: [{ code: 'spec/unknown-layer' }],
      edit: { changes: { [specUri]: [{ newText: 'Linear' }] } },
    },
  ]);
});

it('costs included blocks, and again when their file changes', async () => {
  const { open, change, connection, hints, files, registered } = await start();
  const address = 'file:///models/blocks/mlp.layers.yaml';
  const blocks = (width: number): string => `blocks:\n  mlp:\n    - up: Linear(512, ${width})\n`;
  files.set(address, new TextEncoder().encode(blocks(512)));
  const text = `include: blocks/mlp.layers.yaml\ninputs:\n  x: float32[batch, 512]\nlayers:\n  - a: mlp()\n`;
  await open(specUri, 'layer-spec', text);
  expect((await hints(specUri))[0]?.text).toContain('1.05 MFLOP');
  const position = { line: 4, character: 8 };
  const asked = { textDocument: { uri: specUri }, position };
  expect(await connection.sendRequest('textDocument/definition', asked)).toMatchObject([
    { targetUri: address, targetSelectionRange: { start: { line: 1, character: 2 } } },
  ]);
  const completions = await connection.sendRequest<readonly { label: string }[]>(
    'textDocument/completion',
    asked,
  );
  expect(completions[0]?.label).toBe('mlp');
  await expect.poll(() => JSON.stringify(registered)).toContain('mlp.layers.yaml');
  files.set(address, new TextEncoder().encode(blocks(1024)));
  await connection.sendNotification('workspace/didChangeWatchedFiles', {
    changes: [{ uri: address, type: 2 }],
  });
  expect((await hints(specUri))[0]?.text).toContain('2.10 MFLOP');
  await open(address, 'layer-spec', blocks(2048));
  await expect.poll(async () => (await hints(specUri))[0]?.text).toContain('4.19 MFLOP');
  await change(address, 2, blocks(4096));
  await expect.poll(async () => (await hints(specUri))[0]?.text).toContain('8.39 MFLOP');
});

it('makes text of a binary model whose bytes the client hands over, and annotates it', async () => {
  const { open, hints, connection, files } = await start();
  const address = 'vscode-vfs://host/models/tiny model.onnx';
  files.set(address, model(8));
  const uri = textAddress(address);
  const { text } = await connection.sendRequest<{ text: string }>('workspace/textDocumentContent', { uri });
  expect(text).toContain('MatMul');
  await open(uri, 'onnx-text', text);
  const line = text.split('\n').findIndex((content) => content.includes('MatMul'));
  expect(await hints(uri)).toEqual([{ line, text: expect.stringMatching(/^128 FLOP · /) }]);
});

it('shows a binary model as layers with the costs of its graph, at the same places as its text', async () => {
  const { open, hints, connection, files, reads, settingsAsked } = await start();
  const address = 'vscode-vfs://host/models/tiny.onnx';
  files.set(address, model(8));
  const uri = layersAddress(address);
  const { text } = await connection.sendRequest<{ text: string }>('workspace/textDocumentContent', { uri });
  const line = text.split('\n').findIndex((content) => /^ {2}- \w+: Linear\(/.test(content));
  await open(uri, 'layer-spec', text);
  expect(await hints(uri)).toEqual([{ line, text: expect.stringMatching(/^128 FLOP · /) }]);
  const counterpart = (from: string, at: number): Promise<{ line: number }> =>
    connection.sendRequest('layercost/findCounterpart', { model: address, from, line: at });
  const there = await counterpart('layers', line);
  expect(there.line).toBeGreaterThan(0);
  expect(await counterpart('text', there.line)).toEqual({ line });
  const spec = await connection.sendRequest('layercost/writeLayerSpec', { model: address });
  expect(spec).toEqual({ text, problems: [] });
  // The file is read once for all of these, and its settings are those of the file.
  expect(reads).toEqual([address]);
  expect(new Set(settingsAsked)).toEqual(new Set([address]));
});

it('asks the editor for the text again when the file changes', async () => {
  const { open, hints, connection, files, refreshedContent } = await start();
  const address = 'vscode-vfs://host/tiny.onnx';
  files.set(address, model(8));
  const uri = textAddress(address);
  const content = (): Promise<{ text: string }> =>
    connection.sendRequest('workspace/textDocumentContent', { uri });
  await open(uri, 'onnx-text', (await content()).text);
  await hints(uri);
  files.set(address, model(16));
  await connection.sendNotification('workspace/didChangeWatchedFiles', {
    changes: [{ uri: address, type: 2 }],
  });
  await expect.poll(() => refreshedContent).toEqual([uri]);
  const { text } = await content();
  await connection.sendNotification('textDocument/didChange', {
    textDocument: { uri, version: 2 },
    contentChanges: [{ text }],
  });
  expect((await hints(uri))[0]?.text).toMatch(/^256 FLOP/);
});

it.each([
  ['an empty file', new Uint8Array(), 'file/empty'],
  ['a cut-off file', model(8).subarray(0, 60), 'file/truncated'],
  ['random bytes', new Uint8Array([0xff, 0xfe, 0x12, 0x99, 0x80, 0x80, 0xff]), 'file/'],
  ['no file', undefined, 'file/unreadable'],
])('shows %s as a text that says why, with a diagnostic', async (_, bytes, code) => {
  const { open, connection, files, diagnostics, problems } = await start();
  const address = 'vscode-vfs://host/bad.onnx';
  if (bytes !== undefined) files.set(address, bytes);
  const uri = textAddress(address);
  const { text } = await connection.sendRequest<{ text: string }>('workspace/textDocumentContent', { uri });
  expect(text).toMatch(/^# bad\.onnx cannot be shown\n# \S/);
  await open(uri, 'onnx-text', text);
  const [first] = await diagnostics(uri, 1);
  expect(first).toMatchObject({
    severity: 1,
    code: expect.stringContaining(code),
    range: { start: { line: 0 } },
  });
  expect(problems).toEqual([]);
});

it('lists clusters and frameworks, and renders reports', async () => {
  const { open, connection } = await start();
  const clusters = await connection.sendRequest<readonly ClusterChoice[]>(listClusters);
  expect(clusters.find(({ name }) => name === 'dgx-a100')).toMatchObject({ kind: 'cluster', gpusPerNode: 8 });
  expect(clusters.some(({ kind }) => kind === 'gpu')).toBe(true);
  const frameworks = await connection.sendRequest<readonly FrameworkChoiceItem[]>(listFrameworks);
  expect(frameworks.map(({ name }) => name)).toContain('caffe-mpi');
  await open(specUri, 'layer-spec', spec);
  const report = (format: string): Promise<ReportResult> =>
    connection.sendRequest(makeReport, { uri: specUri, page: 'report', format });
  expect((await report('markdown')).text).toMatch(/^# small\n/);
  expect((await report('text')).text).toMatch(/^small \(layer-spec\)/);
  const page = await report('html');
  expect(page.text).toMatch(
    /^<!doctype html>[\s\S]*<svg class="chart timeline"[\s\S]*<svg class="chart scaling"/,
  );
  const named = new Set(page.layerLines?.flatMap(({ layers }) => layers));
  const shown = [...page.text.matchAll(/<tr data-layer="([^"]+)"/g)].map(([, name]) => name ?? '');
  expect(shown.length).toBeGreaterThan(0);
  for (const name of shown) expect(named).toContain(name);
});

it('writes the layer spec of a config', async () => {
  const { connection } = await start();
  const ask = (config: object): Promise<ConfigSpecResult> =>
    connection.sendRequest(writeConfigSpec, { text: JSON.stringify(config), name: 'config.json' });
  expect((await ask({ model_type: 'llama' })).spec).toMatch(/^ {2}- layers: decoder\(\) \* 32$/m);
  expect(await ask({ model_type: 'lama' })).toEqual({ problem: expect.stringContaining('"llama"') });
});

it('writes the layer spec of a GGUF file from its header', async () => {
  const { connection } = await start({ platform: readsFiles });
  const ask = (file: URL): Promise<ConfigSpecResult> =>
    connection.sendRequest(writeConfigSpec, { weights: file.href, name: 'model.gguf' });
  const known = await ask(new URL('../formats/gguf/models/llama.gguf', import.meta.url));
  expect(known.spec).toMatch(/^ {2}- layers: decoder\(\) \*/m);
  const other = await ask(new URL('server.test.ts', import.meta.url));
  expect(other).toEqual({ problem: expect.stringContaining('is no whole GGUF file') });
});

const fakeDevice = { kind: 'cpu', name: 'a fake', torch: '9.9', precision: 'fp32' } as const;

const measuredOnT4 = (): MeasuredState => ({
  kind: 'current',
  device: {
    ...fakeDevice,
    kind: 'cuda',
    name: 'Tesla T4',
    memoryBytes: 14.6 * 2 ** 30,
    precision: 'fp16',
  },
  measurements: {
    origin: 'Tesla T4, torch 9.9, 2026-11-21',
    layers: new Map([['a', { forward: seconds(1e-3), backward: seconds(2e-3) }]]),
    step: seconds(4e-3),
  },
});

it('predicts once where the GPU that ran is that of the scenario', async () => {
  const { open, hints } = await start({
    settings: { cluster: 't4', gpus: 1, precision: 'fp16' },
    platform: { results: { ...noResults, measuredOf: () => measuredOnT4 } },
  });
  await open(specUri, 'layer-spec', spec);
  const [hint] = await hints(specUri);
  expect(hint?.text).toMatch(/µs · measured 3\.00 ms on Tesla T4/);
  expect(hint?.text).not.toContain('predicted');
});

it('predicts for the GPU that ran, beside what was measured on it', async () => {
  const { open, connection, hints } = await start({
    settings: { cluster: 'dgx-a100', gpus: 8 },
    platform: {
      results: { ...noResults, measuredOf: () => measuredOnT4 },
    },
  });
  await open(specUri, 'layer-spec', spec);
  expect((await hints(specUri))[0]?.text).toMatch(/measured 3\.00 ms on Tesla T4, predicted [\d.]+ µs/);
  const lenses = JSON.stringify(
    await connection.sendRequest('textDocument/codeLens', { textDocument: { uri: specUri } }),
  );
  expect(lenses).toMatch(/measured 4\.00 ms on Tesla T4, predicted [\d.]+ (?:µs|ms)/);
  const report: ReportResult = await connection.sendRequest(makeReport, {
    uri: specUri,
    page: 'report',
    format: 'text',
  });
  expect(report.text).toContain('Measured on Tesla T4, torch 9.9, 2026-11-21. Predicted for T4, as ran.');
  expect(report.text).toMatch(/^a +Linear +[\d.]+ µs +1\.00 ms +[\d.]+× +[\d.]+ µs +2\.00 ms +[\d.]+×$/m);
});

it('runs the benchmark in trusted workspaces only, shows its progress and its times', async () => {
  const layers = new Map([['a', { forward: seconds(1e-3), backward: seconds(2e-3) }]]);
  const { open, change, connection, progress, hints } = await start({
    initialization: { trusted: false },
    platform: {
      benchmark: async (measured, { onProgress }) => {
        onProgress('layer a', 0.5);
        return {
          kind: 'done',
          summary: 'measured',
          unsaved: (estimate) =>
            estimate.cost?.totals.flops.forward === measured.cost?.totals.flops.forward
              ? { kind: 'current', device: fakeDevice, measurements: { origin: 'a fake', layers } }
              : { kind: 'stale', reason: 'the width differs' },
        };
      },
    },
  });
  await open(specUri, 'layer-spec', spec);
  const run = (): Promise<BenchmarkResult> => connection.sendRequest(runBenchmark, { uri: specUri });
  expect(await run()).toMatchObject({
    kind: 'failed',
    message: expect.stringContaining('not trusted'),
    remedy: 'trust',
  });
  expect(progress).toEqual([]);
  await connection.sendNotification(trustGranted);
  expect(await run()).toEqual({ kind: 'done', summary: 'measured' });
  expect(progress).toMatchObject([{ uri: specUri, message: 'layer a', fraction: 0.5 }]);
  expect((await hints(specUri))[0]?.text).toContain('measured 3.00 ms on a fake');
  const lens = async (): Promise<string> =>
    JSON.stringify(await connection.sendRequest('textDocument/codeLens', { textDocument: { uri: specUri } }));
  await change(specUri, 2, `# a note\n${spec}`);
  expect((await hints(specUri))[0]?.text).toContain('measured 3.00 ms');
  expect(await lens()).not.toContain('stale');
  await change(specUri, 3, spec.replaceAll('512', '256'));
  expect((await hints(specUri))[0]?.text).not.toContain('measured');
  expect(await lens()).toContain('benchmark is stale: the width differs');
});

it('shows what files keep of a model, also of a run that failed, and forgets what is removed', async () => {
  let kept: MeasuredState | undefined;
  const asked: unknown[] = [];
  const layers = new Map([['a', { forward: seconds(1e-3), backward: seconds(2e-3) }]]);
  const { open, connection, hints } = await start({
    platform: {
      results: {
        ...noResults,
        measuredOf: (...of) => {
          asked.push(of);
          return kept && (() => kept ?? { kind: 'stale', reason: '' });
        },
        remove: () => {
          kept = undefined;
        },
      },
      benchmark: async (_, { uri, model }) => {
        asked.push([uri, model]);
        kept = { kind: 'current', device: fakeDevice, measurements: { origin: 'a file', layers } };
        return { kind: 'failed', message: 'it hung' };
      },
    },
  });
  await open(specUri, 'layer-spec', spec);
  expect((await hints(specUri))[0]?.text).not.toContain('measured');
  expect(await connection.sendRequest(runBenchmark, { uri: specUri })).toEqual({
    kind: 'failed',
    message: 'it hung',
  });
  expect((await hints(specUri))[0]?.text).toContain('measured 3.00 ms on a file');
  expect(new Set(asked.map((each) => JSON.stringify(each)))).toEqual(
    new Set([JSON.stringify([specUri, null])]),
  );
  await connection.sendRequest(removeResult, { uri: specUri, id: 'a' });
  expect((await hints(specUri))[0]?.text).not.toContain('measured');
});

const noResults = {
  measuredOf: () => undefined,
  list: () => [],
  compare: () => undefined,
  remove: () => {},
} as const;

it('lists kept results with whether they are of the model, and compares two', async () => {
  const listed = { id: 'a', file: 'file:///a.json', title: 'small: step 1 ms', measuredWith: 'a CPU' };
  const removed: string[] = [];
  const { open, connection, files } = await start({
    platform: {
      results: {
        ...noResults,
        list: (file, { opened }) => [{ ...listed, file, stale: `not of ${opened.name}` }],
        compare: (file, first, second) =>
          first === 'a' ? `${first} beside ${second} of ${file}` : undefined,
        remove: (file, id) => removed.push(file, id),
      },
    },
  });
  await open(specUri, 'layer-spec', spec);
  expect(await connection.sendRequest(listResults, { uri: specUri })).toEqual({
    results: [{ ...listed, file: specUri, stale: 'not of small' }],
  });
  // Results of a binary model are kept beside it, not beside its text.
  const address = 'vscode-vfs://host/models/tiny.onnx';
  files.set(address, model(8));
  const uri = textAddress(address);
  const { text } = await connection.sendRequest<{ text: string }>('workspace/textDocumentContent', { uri });
  await open(uri, 'onnx-text', text);
  expect(await connection.sendRequest(listResults, { uri })).toEqual({
    results: [{ ...listed, file: address, stale: 'not of tiny' }],
  });
  expect(await connection.sendRequest(compareResults, { uri, first: 'a', second: 'b' })).toEqual({
    text: `a beside b of ${address}`,
  });
  await connection.sendRequest(removeResult, { uri, id: 'a' });
  expect(removed).toEqual([address, 'a']);
  const compare = (first: string): Promise<unknown> =>
    connection.sendRequest(compareResults, { uri: specUri, first, second: 'b' });
  expect(await compare('a')).toEqual({ text: `a beside b of ${specUri}` });
  expect(await compare('gone')).toEqual({});
});

it('has no results where no files are kept', async () => {
  const { open, connection } = await start();
  await open(specUri, 'layer-spec', spec);
  expect(await connection.sendRequest(listResults, { uri: specUri })).toEqual({ results: [] });
});

it.each([
  ['', undefined, ''],
  ['', '/envs/torch/bin/python', '/envs/torch/bin/python'],
  ['/opt/python', '/envs/torch/bin/python', '/opt/python'],
])('runs with setting %j and the interpreter %s of the editor', async (setting, python, wanted) => {
  const used: string[] = [];
  const { open, connection } = await start({
    initialization: { trusted: true },
    settings: { benchmark: { python: setting } },
    platform: {
      benchmark: async (_, { python: chosen }) => {
        used.push(chosen);
        return { kind: 'failed', message: 'no torch', remedy: 'python' };
      },
    },
  });
  await open(specUri, 'layer-spec', spec);
  expect(
    await connection.sendRequest(runBenchmark, { uri: specUri, ...(python === undefined ? {} : { python }) }),
  ).toEqual({ kind: 'failed', message: 'no torch', remedy: 'python' });
  expect(used).toEqual([wanted]);
});

it('exports a model of Python in trusted workspaces only, with the inputs and the interpreter that were given', async () => {
  const asked: Parameters<ExportPython>[0][] = [];
  const { connection } = await start({
    initialization: { trusted: false },
    settings: { benchmark: { python: '/opt/python' } },
    platform: {
      exportPython: async (wish) => {
        asked.push(wish);
        wish.onProgress('tracing');
        const archive = 'file:///w/.layercost/exports/train.Net.pt2';
        return { kind: 'done', archive, notes: ['a note'], inputs: 'x=float32[batch, 64]' };
      },
    },
  });
  const run = (inputs?: string): Promise<ExportPythonResult> =>
    connection.sendRequest(exportPython, {
      uri: 'file:///w/train.py',
      name: 'Net',
      ...(inputs === undefined ? {} : { inputs }),
    });
  expect(await run()).toMatchObject({ kind: 'failed', remedy: 'trust' });
  await connection.sendNotification(trustGranted);
  expect(await run('x')).toMatchObject({
    kind: 'failed',
    remedy: 'inputs',
    message: expect.stringContaining('"x" is not a parameter'),
  });
  expect(asked).toEqual([]);
  expect(await run('x=float32[batch, 64]')).toEqual({
    kind: 'done',
    archive: 'file:///w/.layercost/exports/train.Net.pt2',
    notes: ['a note'],
    inputs: 'x=float32[batch, 64]',
  });
  expect(asked).toMatchObject([
    {
      uri: 'file:///w/train.py',
      name: 'Net',
      inputs: { x: 'float32[batch, 64]' },
      python: '/opt/python',
    },
  ]);
});

it('sends the progress of an export, logs what it prints, and ends it when it is cancelled', async () => {
  let aborted = false;
  const { connection, log } = await start({
    platform: {
      exportPython: ({ signal, onProgress, onLog }) =>
        new Promise((resolve) => {
          signal.addEventListener('abort', () => {
            aborted = true;
            resolve({ kind: 'failed', message: 'the export was ended' });
          });
          onLog('torch 2.13\n');
          onProgress('tracing');
        }),
    },
  });
  const { CancellationTokenSource } = await import('vscode-languageserver/node');
  const source = new CancellationTokenSource();
  const progress: ExportProgressParams[] = [];
  connection.onNotification(exportProgress, (params: ExportProgressParams) => {
    progress.push(params);
    source.cancel();
  });
  const asked = { uri: 'file:///w/train.py', name: 'Net' };
  await expect(connection.sendRequest(exportPython, asked, source.token)).rejects.toThrow(/cancel/);
  expect(aborted).toBe(true);
  expect(progress).toEqual([{ uri: 'file:///w/train.py', message: 'tracing' }]);
  expect(log.slice(1)).toEqual(['export: torch 2.13', 'export: the export was ended']);
});

it('says where no process can be started for an export', async () => {
  const { connection } = await start({ initialization: { trusted: true } });
  expect(
    await connection.sendRequest(exportPython, { uri: 'file:///w/train.py', name: 'Net' }),
  ).toMatchObject({ kind: 'failed', message: expect.stringContaining('no process can be started') });
});

/** Curves: of the scenario that is written, and of each other that was tried. Text and Markdown have the first alone. */
it.each([
  ['scaling', 'html', [], 1, /^<!doctype html>/i],
  ['scaling', 'html', [{ batch: 2 }], 2, /^<!doctype html>/i],
  ['scaling', 'html', [{ batch: 2 }, { batch: 4 }], 3, /^<!doctype html>/i],
  ['scaling', 'markdown', [{ batch: 2 }], 0, /^# small\b/],
  ['scaling', 'text', [{ batch: 2 }], 0, /^[^<#]*batch 1 per GPU/],
  ['report', 'html', [{ batch: 2 }], 0, /^<!doctype html>[\s\S]*id="what-if"/i],
  ['report', 'markdown', [{ batch: 2 }], 0, /^# small\n/],
] as const)('makes a %s page as %s beside %j', async (page, format, compared, curves, beginning) => {
  const { open, connection } = await start({ settings: { batch: 1 } });
  await open(specUri, 'layer-spec', spec);
  const { text } = await connection.sendRequest<ReportResult>(makeReport, {
    ...{ uri: specUri, page, format, compared },
  });
  expect(text).toMatch(beginning);
  expect(text.match(/<table class="curve-points">/g) ?? []).toHaveLength(curves);
});

it.each(['report', 'scaling'] as const)('goes on no further with a %s that is cancelled', async (page) => {
  const { CancellationTokenSource } = await import('vscode-languageserver/node');
  const source = new CancellationTokenSource();
  let turns = Number.NaN;
  const { open, connection, hints } = await start({
    platform: {
      // The first turn of the page cancels it, and waits until the server must have heard of it.
      nextTurn: async () => {
        turns += 1;
        if (turns === 1) source.cancel();
        await new Promise((resolve) => setTimeout(resolve, turns === 1 ? 100 : 0));
      },
    },
  });
  await open(specUri, 'layer-spec', spec);
  await hints(specUri);
  await new Promise((resolve) => setTimeout(resolve, 100));
  turns = 0;
  const asked = { uri: specUri, page, format: 'html', compared: [{ batch: 2 }, { batch: 4 }] };
  await expect(connection.sendRequest(makeReport, asked, source.token)).rejects.toThrow(/cancel/);
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect(turns).toBe(1);
});

it('ends a benchmark that is cancelled', async () => {
  let aborted = false;
  const { open, connection } = await start({
    platform: {
      benchmark: (_, { signal }) =>
        new Promise((resolve) => {
          signal.addEventListener('abort', () => {
            aborted = true;
            resolve({ kind: 'cancelled' });
          });
        }),
    },
  });
  await open(specUri, 'layer-spec', spec);
  const { CancellationTokenSource } = await import('vscode-languageserver/node');
  const source = new CancellationTokenSource();
  const run = connection.sendRequest(runBenchmark, { uri: specUri }, source.token);
  setTimeout(() => source.cancel(), 300);
  await expect(run).rejects.toThrow(/cancel/);
  expect(aborted).toBe(true);
});

it('refuses the benchmark where no process can start', async () => {
  const { open, connection } = await start();
  await open(specUri, 'layer-spec', spec);
  expect(await connection.sendRequest(runBenchmark, { uri: specUri })).toMatchObject({ kind: 'failed' });
});

it('logs a failure in full, shows it once and goes on', async () => {
  const { connection, problems, log, open, hints } = await start({
    platform: {
      openFile: () => {
        throw new Error('a bug of ours');
      },
    },
  });
  const uri = textAddress('file:///x.onnx');
  const content = (): Promise<unknown> => connection.sendRequest('workspace/textDocumentContent', { uri });
  expect(await content()).toEqual({ text: expect.stringContaining('cannot be shown') });
  expect(await content()).toEqual({ text: expect.stringContaining('cannot be shown') });
  expect(problems).toHaveLength(1);
  expect(log.filter((line) => line.includes('a bug of ours')).length).toBe(2);
  await open(specUri, 'layer-spec', spec);
  expect(await hints(specUri)).toHaveLength(2);
});
