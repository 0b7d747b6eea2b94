/** Findings wait until a text rests; hints do not. */

import { expect, test } from 'vitest';
import { restingTexts } from '../../server/src/lsp/restingTexts.ts';
import { startTestServer, type TestClient } from './testServer.ts';

const uri = 'file:///a.layers.yaml';
const spec = (width: string): string =>
  `name: a\ninputs:\n  x: float32[4, 256]\nlayers:\n  - fc: Linear(${width})\n  - head: Linear(10)\n`;

const start = async (pullsDiagnostics: boolean): Promise<TestClient> => {
  const client = await startTestServer({ pullsDiagnostics, platform: { restOfTexts: 300 } });
  await client.open(uri, 'layer-spec', spec('64'));
  await client.hints(uri);
  return client;
};

const pull = (client: TestClient): Promise<{ items: readonly unknown[] }> =>
  client.connection.sendRequest('textDocument/diagnostic', { textDocument: { uri } });

test.each([
  ['asks for', true],
  ['is sent', false],
])('an editor that %s diagnostics has its hints first', async (_, pulls) => {
  const client = await start(pulls);
  const order: string[] = [];
  await client.change(uri, 2, spec('wide'));
  const diagnosed = pulls ? pull(client).then(({ items }) => items) : client.diagnostics(uri, 2);
  const both = [
    diagnosed.then((items) => order.push(`${items.length} diagnostics`)),
    client.hints(uri).then(() => order.push('hints')),
  ];
  await Promise.all(both);
  expect(order).toEqual(['hints', '1 diagnostics']);
  await client.stop();
});

test('a text that nobody typed into does not wait', async () => {
  const { typed, rested, forget } = restingTexts(60_000);
  await rested('a');
  typed('a');
  await rested('b');
  forget('a');
  await rested('a');
});

test('a text that was only opened rests', async () => {
  const client = await startTestServer({ pullsDiagnostics: true, platform: { restOfTexts: 60_000 } });
  await client.open(uri, 'layer-spec', spec('wide'));
  expect((await pull(client)).items).toHaveLength(1);
  await client.stop();
});
