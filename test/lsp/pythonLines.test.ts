/** What the lines of a Python file cost in the models that are open. */

import { readFileSync } from 'node:fs';
import { afterEach, expect, it } from 'vitest';
import { costPythonLines, type PythonLinesResult } from '../../server/src/protocol.ts';
import { layersAddress, readsFiles, startTestServer, type TestClient, textAddress } from './testServer.ts';

let client: TestClient | undefined;
afterEach(async () => {
  await client?.stop();
  client = undefined;
});

const fileOf = (name: string): string => new URL(`../language/python/${name}`, import.meta.url).href;
const text = readFileSync(new URL(fileOf('blocks.py')), 'utf8');

async function show(server: TestClient, address: string): Promise<void> {
  const content = await server.connection.sendRequest<{ text: string }>('workspace/textDocumentContent', {
    uri: address,
  });
  await server.open(address, address.includes('layers') ? 'layer-spec' : 'onnx-text', content.text);
}

const ask = async (server: TestClient): Promise<PythonLinesResult['lines']> =>
  (
    await server.connection.sendRequest<PythonLinesResult>(costPythonLines, {
      path: new URL(fileOf('blocks.py')).pathname,
      text,
    })
  ).lines;

it('are those of the model that was exported from it, once it is open', async () => {
  client = await startTestServer({
    settings: { cluster: 'dgx-a100', gpus: 1, batch: 4 },
    platform: readsFiles,
  });
  expect(await ask(client)).toEqual([]);
  const model = fileOf('blocks.pt2');
  await show(client, layersAddress(model));
  // The same model a second time, as text, is not added.
  await show(client, textAddress(model));
  const lines = await ask(client);
  expect(lines.map(({ line, isGroup }) => `${line}${isGroup ? ' group' : ''}`)).toEqual([
    ...['3 group', '8 group', '9', '12 group', '18 group', '21', '22'],
  ]);
  const product = lines.find(({ line }) => line === 9);
  expect(product?.text).toMatch(/^262 kFLOP · .* · sum of 6$/);
  expect(product?.details).toMatch(/forward[\s\S]*backward/);
  // Nor is it named, as each of several is.
  expect(product?.details).not.toContain('blocks.pt2');
});

it('of several models name each', async () => {
  client = await startTestServer({
    settings: { cluster: 'dgx-a100', gpus: 1, batch: 4 },
    platform: readsFiles,
  });
  await show(client, layersAddress(fileOf('blocks.pt2')));
  await show(client, layersAddress(fileOf('blocks.onnx')));
  const product = (await ask(client)).find(({ line }) => line === 9);
  expect(product?.details).toMatch(/\*\*blocks\.pt2\*\*[\s\S]*\*\*blocks\.onnx\*\*/);
});

it('are none where hints are switched off', async () => {
  client = await startTestServer({ settings: { hints: { enabled: false } }, platform: readsFiles });
  await show(client, layersAddress(fileOf('blocks.pt2')));
  expect(await ask(client)).toEqual([]);
});
