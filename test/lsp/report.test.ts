/** The pages of a model: which is made of what is asked, and what it hands back beside its text. */

import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { makeReport, type ReportParams, type ReportResult } from '../../server/src/protocol.ts';
import { layersAddress, startTestServer, type TestClient, textAddress } from './testServer.ts';

const uri = 'file:///models/small.layers.yaml';
const unknown = 'file:///models/unknown.layers.yaml';
const tokens = 'file:///models/tokens.layers.yaml';
const decoded = 'file:///models/decoded.layers.yaml';
const spec = `name: small
inputs:
  x: float32[batch, 512]
blocks:
  mlp:
    - up: Linear(512, 2048)
    - down: Linear(2048, 512)
layers:
  - first: Linear(512, 512)
  - stack: mlp() * 2
`;
const settings = { cluster: 'dgx-a100', gpus: 8, batch: 4 };

let client: TestClient;
beforeAll(async () => {
  client = await startTestServer({ settings });
  await client.open(uri, 'layer-spec', spec);
  await client.open(unknown, 'layer-spec', `${spec}  - odd: onnx.Unheard()\n`);
  await client.open(
    tokens,
    'layer-spec',
    'dims: { seq: 128 }\ninputs: { ids: "int64[batch, seq]" }\nlayers:\n  - e: Embedding(100, 64)\n  - head: Linear(64, 100)\n',
  );
  await client.open(
    decoded,
    'layer-spec',
    'dims: { seq: 16 }\ninputs: { x: "float32[batch, seq, 64]" }\nscenario: { mode: inference, past: 100 }\nlayers:\n  - a: MultiheadAttention(64, 4, causal=True)\n',
  );
});
afterAll(() => client.stop());

const page = (asked: Omit<ReportParams, 'uri'>, of = uri): Promise<ReportResult> =>
  client.connection.sendRequest(makeReport, { uri: of, ...asked });
const scaling = (format: ReportParams['format'], compared?: ReportParams['compared']) =>
  page({ page: 'scaling', format, ...(compared && { compared }) });
/** What is written of the model, and a larger batch. */
const two = [{}, { batch: 64 }];

test.each<[ReportParams['page'], ReportParams['format'], RegExp]>([
  ['report', 'text', /^small \(layer-spec\)/],
  ['report', 'markdown', /^# small\n/],
  ['report', 'html', /^<!doctype html>[\s\S]*<title>small/],
  ['scaling', 'text', /^small\b/],
  ['scaling', 'markdown', /^# small: scaling/],
  ['scaling', 'html', /^<!doctype html>[\s\S]*<h1>small: scaling/],
])('the %s as %s', async (name, format, begins) => {
  const { name: title, text, refusal, tried, layerLines } = await page({ page: name, format });
  expect([title, refusal]).toEqual(['small', undefined]);
  expect(text).toMatch(begins);
  // A page that people change a scenario on says which it shows, and where its layers stand.
  const isChanged = name === 'report' && format === 'html';
  expect([tried !== undefined, layerLines !== undefined]).toEqual([isChanged, isChanged]);
});

test('curves of several scenarios are one page, and only a page: texts show the scenario of the model', async () => {
  expect((await scaling('html', two)).text).toMatch(/batch 64/);
  expect((await scaling('html', [])).text).toBe((await scaling('html')).text);
  expect((await scaling('html')).text).not.toMatch(/batch 64/);
  for (const format of ['text', 'markdown'] as const)
    expect((await scaling(format, two)).text).toBe((await scaling(format)).text);
});

test('a changed scenario is that of the curve too', async () => {
  const changed = await page({ page: 'scaling', format: 'text', change: { batch: 64 } });
  expect(changed.text).not.toBe((await scaling('text')).text);
  expect(changed.text).toMatch(/64 (samples )?per GPU|batch 64/);
});

/** Lines count from 0; what a block's layers cost shows at the call too. */
test('each layer of the page is led to its lines', async () => {
  const { layerLines = [] } = await page({ page: 'report', format: 'html' });
  const linesOf = (layer: string) => layerLines.find(({ layers }) => layers.includes(layer))?.lines;
  expect(linesOf('first')).toEqual([8]);
  expect(linesOf('stack.0.up')).toEqual(linesOf('stack.1.up'));
});

/** A rate is samples or tokens of a step over its time: where the time is a lower bound, the rate is an upper one. */
test.each<[string, string, object, string, number, boolean]>([
  ['8 GPUs of 4 samples', uri, {}, '', 32, true],
  ['8 GPUs of 64 samples', uri, { batch: 64 }, '', 512, true],
  ['8 GPUs of 4 rows of 128 tokens', tokens, {}, '', 32, true],
  // A decode step gives each sequence a token, whatever is in its context.
  ['8 GPUs that decode 4 sequences', decoded, {}, '', 32, true],
  // Rows of 2,048 numbers of 4 bytes: 82 GB of one result alone, on GPUs of 80.
  ['more than fits', uri, { batch: 10_000_000 }, '', 80_000_000, false],
  ['with an operator that is not known', unknown, {}, '≥ ', 32, true],
])('what is said of a tried scenario: %s', async (_, of, change, bound, samples, fits) => {
  const { tried } = await page({ page: 'report', format: 'html', change }, of);
  const unit = of === tokens || of === decoded ? 'tokens' : 'samples';
  const found = /^(≥ )?([\d.,]+) (µs|ms|s), (≤ )?[\d.,]+k? (\w+)\/s$/.exec(tried?.result ?? '');
  expect(found?.slice(1).map((each) => each ?? '')).toEqual([
    ...[bound, expect.any(String), expect.any(String), bound === '' ? '' : '≤ ', unit],
  ]);
  const seconds = Number(found?.[2]?.replaceAll(',', '')) * { µs: 1e-6, ms: 1e-3, s: 1 }[found?.[3] as 'ms'];
  // The time is written with three digits.
  expect(((tried?.throughput ?? Number.NaN) * seconds) / samples).toBeCloseTo(1, 2);
  expect(tried?.fits).toBe(fits);
});

test('a binary model has the same report beside its layers as beside its text', async () => {
  const file = 'file:///models/tinyllama.onnx';
  client.files.set(file, readFileSync('samples/tinyllama.onnx'));
  const reports: string[] = [];
  for (const address of [textAddress(file), layersAddress(file)]) {
    const { text } = await client.connection.sendRequest<{ text: string }>('workspace/textDocumentContent', {
      uri: address,
    });
    await client.open(address, 'layer-spec', text);
    reports.push((await page({ page: 'report', format: 'text' }, address)).text);
  }
  expect(reports[0]).toMatch(/ operators in \d+ layers$/m);
  expect(reports[1]).toBe(reports[0]);
  const { layerLines, text } = await page(
    { page: 'report', format: 'html', nonce: 'n' },
    layersAddress(file),
  );
  const listed = new Set([...text.matchAll(/<tr data-layer="([^"]*)"/g)].map(([, name]) => name));
  const onLines = new Set(layerLines?.flatMap(({ layers }) => layers));
  // The loss that is added stands on no line.
  expect([...listed].filter((name) => !onLines.has(name ?? ''))).toEqual(['loss']);
});
