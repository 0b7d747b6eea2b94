/** What a change of a document does to others, and what an editor learns before and after a save. */

import { afterEach, expect, test } from 'vitest';
import { encodeModel } from '../support/onnxBytes.ts';
import { layersAddress, startTestServer, type TestClient } from './testServer.ts';

let client: TestClient | undefined;
afterEach(async () => {
  await client?.stop();
  client = undefined;
});

const uri = 'file:///models/net.layers.yaml';
const spec = 'dims: { unread: 3 }\ninputs:\n  x: float32[batch, 8]\nlayers:\n  - a: Linear(8, 8)\n';
const unused = async (of: TestClient, version: number): Promise<number> =>
  (await of.diagnostics(uri, version)).filter(({ code }) => code === 'spec/unused').length;

/** A name that is being typed is read by nothing yet. */
test('what nothing reads is told of a text as it was opened or saved, not while it is typed', async () => {
  client = await startTestServer({ settings: { batch: 1 } });
  await client.open(uri, 'layer-spec', spec);
  expect(await unused(client, 1)).toBe(1);
  await client.change(uri, 2, spec.replace('unread: 3', 'unread: 3, typed: 4'));
  expect(await unused(client, 2)).toBe(1);
  await client.connection.sendNotification('textDocument/didSave', { textDocument: { uri } });
  const saved = client;
  await expect.poll(() => unused(saved, 2)).toBe(2);
});

const model = encodeModel({
  graph: {
    name: 'one',
    inputs: { x: 'float[N,8]' },
    outputs: { y: 'float[N,8]' },
    initializers: [{ name: 'w', type: 'float[8,8]' }],
    nodes: [{ type: 'MatMul', name: '/a/MatMul', inputs: ['x', 'w'], outputs: ['y'] }],
  },
});

/** A name that is no layer; of a binary model nobody can write another. */
test.each([
  ['of a layer spec', uri, 'layer-spec', 1],
  ['of the layers of a binary model', layersAddress('file:///models/one.onnx'), 'layer-spec', 0],
])('a nearer name is offered as a fix %s: %s', async (_, address, languageId, fixes) => {
  client = await startTestServer({ settings: { batch: 1 } });
  client.files.set('file:///models/one.onnx', model);
  const shown =
    fixes === 0
      ? (
          await client.connection.sendRequest<{ text: string }>('workspace/textDocumentContent', {
            uri: address,
          })
        ).text
      : spec.replace('Linear(8, 8)', 'Linaer(8, 8)');
  await client.open(address, languageId, shown);
  const found = await client.connection.sendRequest<readonly { edit?: object }[]>('textDocument/codeAction', {
    textDocument: { uri: address },
    range: { start: { line: 0, character: 0 }, end: { line: 100, character: 0 } },
    context: { diagnostics: [], only: ['quickfix'] },
  });
  expect(found.filter(({ edit }) => edit !== undefined).length).toBeGreaterThanOrEqual(fixes);
  if (fixes === 0) expect(found.filter(({ edit }) => edit !== undefined)).toEqual([]);
});

/** LSP 3.17, "Code Action Request": a kind is asked for with all below it, as `source` with `source.organizeImports`. */
test.each([
  [undefined, true],
  [['quickfix'], true],
  [['quickfix', 'source'], true],
  [[''], true],
  [['source'], false],
  [['refactor'], false],
  [[], false],
])('quick fixes where %j is asked for: %s', async (only, has) => {
  client = await startTestServer({ settings: { batch: 1 } });
  await client.open(uri, 'layer-spec', spec.replace('Linear(8, 8)', 'Linaer(8, 8)'));
  const found = await client.connection.sendRequest<readonly object[]>('textDocument/codeAction', {
    textDocument: { uri },
    range: { start: { line: 4, character: 8 }, end: { line: 4, character: 8 } },
    context: { diagnostics: [], ...(only && { only }) },
  });
  expect(found.length > 0).toBe(has);
});

/** By range of what is asked: a diagnostic of `Linaer` in line 4, from column 7 to 13. Ends touch. */
test.each([
  [4, 7, 4, 7, true],
  [4, 13, 4, 13, true],
  [4, 0, 4, 7, true],
  [4, 0, 4, 6, false],
  [4, 14, 4, 20, false],
  [0, 0, 4, 0, false],
  [0, 0, 100, 0, true],
  [3, 50, 4, 6, false],
  [3, 50, 4, 7, true],
  [5, 0, 5, 0, false],
])('a fix from %i:%i to %i:%i: %s', async (line, character, endLine, endCharacter, has) => {
  client = await startTestServer({ settings: { batch: 1 } });
  await client.open(uri, 'layer-spec', spec.replace('Linear(8, 8)', 'Linaer(8, 8)'));
  const found = await client.connection.sendRequest<readonly { title: string }[]>('textDocument/codeAction', {
    textDocument: { uri },
    range: { start: { line, character }, end: { line: endLine, character: endCharacter } },
    context: { diagnostics: [] },
  });
  expect(found.some(({ title }) => title === 'Change to `Linear`')).toBe(has);
});
