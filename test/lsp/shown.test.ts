/** What an editor shows, by value: severities of diagnostics and the memory of a layer's hover. */

import { afterEach, expect, test } from 'vitest';
import { startTestServer, type TestClient } from './testServer.ts';

let client: TestClient | undefined;
afterEach(async () => {
  await client?.stop();
  client = undefined;
});

const uri = 'file:///models/small.layers.yaml';
const spec = `inputs:
  x: float32[batch, 512]
layers:
  - a: Linear(512, 512)
  - b: ReLU()
`;

const [error, warning, information] = [1, 2, 3];

test.each([
  [{ cluster: 'nowhere', batch: 1 }, 'scenario/unknown-cluster', error],
  [{ checkpoint: 'block', batch: 1 }, 'scenario/no-blocks', warning],
  [{}, 'scenario/default-batch', information],
  [{ batch: 1, framework: 'pytorch-ddp,launch-us=8' }, 'findings/late-gradient', warning],
  [{ batch: 1 }, 'findings/launch-bound', information],
])('%o: %s has severity %d', async (settings, code, severity) => {
  client = await startTestServer({ settings });
  await client.open(uri, 'layer-spec', spec);
  const diagnostics = await client.diagnostics(uri, 1);
  expect(diagnostics.filter((each) => each.code === code).map((each) => each.severity)).toEqual([severity]);
});

// Of `a`: 3 rows of 512 numbers of 2 bytes are kept; its 512 · 513 parameters have a gradient, and AdamW two moments.
test('the hover of a layer tells what is saved, its gradient and its optimizer state apart', async () => {
  client = await startTestServer({ settings: { batch: 3 } });
  await client.open(uri, 'layer-spec', spec);
  const { contents } = await client.connection.sendRequest<{ contents: { value: string } }>(
    'textDocument/hover',
    { textDocument: { uri }, position: { line: 3, character: 5 } },
  );
  const [line = ''] = contents.value.split('\n').filter((each) => each.startsWith('memory'));
  expect(line.match(/[\d.]+ [KM]iB/g)).toEqual(['3.00 KiB', '1.00 MiB', '2.00 MiB']);
  expect(line).toMatch(/save.* 3\.00 .*gradient 1\.00 .*state 2\.00/);
});
