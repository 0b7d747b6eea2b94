/** A model beside an earlier state of its file: layer specs, included blocks, ONNX, and what cannot be costed. */

import { afterEach, expect, it } from 'vitest';
import { type CompareEarlierResult, compareEarlier } from '../../server/src/protocol.ts';
import { encodeModel } from '../support/onnxBytes.ts';
import { layersAddress, startTestServer, type TestClient } from './testServer.ts';

let client: TestClient | undefined;
afterEach(async () => {
  await client?.stop();
  client = undefined;
});

const specOf = (wide: number): string =>
  `inputs:\n  x: float32[8, 512]\nlayers:\n  - up: Linear(512, ${wide})\n  - down: Linear(${wide}, 512)\nscenario: { cluster: t4, precision: fp32 }\n`;

const onnxOf = (wide: number): Uint8Array =>
  encodeModel({
    graph: {
      name: 'small',
      inputs: { x: 'float[8,512]' },
      outputs: { y: `float[8,${wide}]` },
      initializers: [{ name: 'w', type: `float[512,${wide}]` }],
      nodes: [{ type: 'MatMul', name: '/up/MatMul', inputs: ['x', 'w'], outputs: ['y'] }],
    },
  });

const compare = (
  { connection }: TestClient,
  uri: string,
  content: string | Uint8Array,
): Promise<CompareEarlierResult> =>
  connection.sendRequest<CompareEarlierResult>(compareEarlier, {
    uri,
    content: Buffer.from(content).toString('base64'),
    earlier: 'a1b2c3d4',
    nonce: 'abc',
  });

/** What a reader sees, in order. */
const textOf = ({ html = '' }: CompareEarlierResult): string =>
  html
    .replaceAll(/<style[\s\S]*?<\/style>/g, '')
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/\s+/g, ' ');

it('compares a layer spec as it is typed', async () => {
  client = await startTestServer();
  const uri = 'file:///models/small.layers.yaml';
  await client.open(uri, 'layer-spec', specOf(1024));
  await client.change(uri, 2, specOf(4096));
  const text = textOf(await compare(client, uri, specOf(2048)));
  // 512 · 2048 · 2 + 2048 + 512, and twice as wide.
  expect(text).toMatch(/: 2,099,712 parameters.* now .*: 4,198,912 parameters/);
  expect(text).toMatch(/a1b2c3d4 .*now/);
  expect(text).toContain('up Linear');
});

it('says that nothing differs', async () => {
  client = await startTestServer();
  const uri = 'file:///models/small.layers.yaml';
  await client.open(uri, 'layer-spec', specOf(1024));
  expect(textOf(await compare(client, uri, specOf(1024)))).toContain('No layer differs.');
});

it('compares a binary model that is shown as layers', async () => {
  client = await startTestServer({ settings: { cluster: 't4', precision: 'fp32' } });
  const address = 'file:///models/small.onnx';
  client.files.set(address, onnxOf(1024));
  const uri = layersAddress(address);
  const { text } = await client.connection.sendRequest<{ text: string }>('workspace/textDocumentContent', {
    uri,
  });
  await client.open(uri, 'layer-spec', text);
  expect(textOf(await compare(client, uri, onnxOf(256)))).toMatch(
    /: 131,072 parameters.* now .*: 524,288 parameters/,
  );
});

it.each([
  ['layers: [', /^The model cannot be costed as of a1b2c3d4: /],
  ['', /^The model cannot be costed as of a1b2c3d4: /],
])('says why an earlier state has no costs: %j', async (content, refusal) => {
  client = await startTestServer();
  const uri = 'file:///models/small.layers.yaml';
  await client.open(uri, 'layer-spec', specOf(1024));
  expect(await compare(client, uri, content)).toEqual({ refusal: expect.stringMatching(refusal) });
});

it('says why the model of now has no costs', async () => {
  client = await startTestServer();
  const uri = 'file:///models/small.layers.yaml';
  await client.open(uri, 'layer-spec', 'layers: [');
  expect(await compare(client, uri, specOf(8))).toEqual({
    refusal: expect.stringMatching(/^The model cannot be costed as it is now: /),
  });
});
