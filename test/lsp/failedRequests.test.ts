/** A request that fails is answered empty, its failure is logged, and it is shown once; no language makes one fail. */

import { readFileSync } from 'node:fs';
import { afterEach, describe, expect, test } from 'vitest';
import { startTestServer, type TestClient } from './testServer.ts';

let client: TestClient | undefined;
afterEach(async () => {
  await client?.stop();
  client = undefined;
});

/** By request, what its problem is called and what it answers then. */
test.each<[method: string, name: string, empty: unknown]>([
  ['textDocument/hover', 'hover', null],
  ['textDocument/signatureHelp', 'signature help', null],
  ['textDocument/completion', 'completion', []],
  ['textDocument/definition', 'definition', null],
  ['textDocument/documentHighlight', 'highlights', []],
  ['textDocument/references', 'references', []],
  ['textDocument/prepareRename', 'rename', null],
  ['textDocument/rename', 'rename', null],
  ['textDocument/codeLens', 'code lens', []],
  ['textDocument/codeAction', 'quick fixes', []],
  ['textDocument/documentSymbol', 'outline', []],
  ['textDocument/foldingRange', 'folding', []],
  ['textDocument/documentLink', 'links', []],
  ['textDocument/inlayHint', 'inlay hints', []],
  ['textDocument/formatting', 'formatting', []],
  ['textDocument/rangeFormatting', 'formatting', []],
  ['textDocument/selectionRange', 'selection', []],
  ['textDocument/semanticTokens/full', 'semantic tokens', { data: [] }],
  ['textDocument/semanticTokens/range', 'semantic tokens', { data: [] }],
  ['textDocument/diagnostic', 'diagnostics', { kind: 'full', items: [] }],
  ['layercost/listCosts', 'costs', []],
  ['layercost/listModules', 'modules', null],
  ['layercost/listDimensions', 'dimensions', []],
  ['layercost/placeScenarioChange', 'scenario', null],
  ['layercost/tryScenario', 'scenario', null],
  ['layercost/report', 'report', null],
  ['layercost/configSpec', 'configSpec', {}],
  ['layercost/benchmarkResults', 'listing results', { results: [] }],
  ['layercost/compareBenchmarkResults', 'comparing results', {}],
  ['layercost/removeBenchmarkResult', 'removing a result', null],
  ['layercost/findCounterpart', 'finding a line', { line: 0 }],
  ['layercost/costPythonLines', 'costs of Python', { lines: [] }],
  [
    'layercost/compareEarlier',
    'comparison',
    { refusal: 'The comparison failed inside Layercost; the log has the details.' },
  ],
  [
    'layercost/planLayouts',
    'plan',
    { kind: 'none', message: 'The plan failed inside Layercost; the log has the details.' },
  ],
  [
    'layercost/benchmark',
    'benchmark',
    { kind: 'failed', message: 'the benchmark failed inside Layercost; the log has the details' },
  ],
  [
    'layercost/exportPython',
    'export',
    { kind: 'failed', message: 'the export failed inside Layercost; the log has the details' },
  ],
])('%s without parameters: %s failed', async (method, name, empty) => {
  client = await startTestServer();
  const { connection, problems, log } = client;
  // The library refuses other parameters than an object in the requests of the protocol.
  const parameters = method.startsWith('layercost/') ? null : {};
  expect(await connection.sendRequest(method, parameters)).toEqual(empty);
  expect(await connection.sendRequest(method, parameters)).toEqual(empty);
  expect(problems).toEqual([`${name} failed; the log has the details`]);
  const failures = log.filter((line) => line.startsWith(`${name} failed: TypeError`));
  expect(failures).toHaveLength(2);
});

const at = (line: number, character: number) => ({ line, character });
const options = { tabSize: 2, insertSpaces: true };
const place = { position: at(3, 3) };
const range = { range: { start: at(0, 0), end: at(5, 0) } };
const asked: readonly (readonly [method: string, parameters: object])[] = [
  ['hover', place],
  ['signatureHelp', place],
  ['completion', place],
  ['definition', place],
  ['documentHighlight', place],
  ['references', { ...place, context: { includeDeclaration: true } }],
  ['codeLens', {}],
  ['codeAction', { ...range, context: { diagnostics: [] } }],
  ['documentSymbol', {}],
  ['foldingRange', {}],
  ['documentLink', {}],
  ['inlayHint', range],
  ['formatting', { options }],
  ['rangeFormatting', { ...range, options }],
  ['selectionRange', { positions: [place.position] }],
  ['semanticTokens/full', {}],
  ['semanticTokens/range', range],
  ['diagnostic', {}],
];

describe.each([
  ['layer-spec', 'vgg16.layers.yaml'],
  ['onnx-text', 'mlp.onnxtxt'],
  ['caffe-prototxt', 'lenet.prototxt'],
  ['yaml', 'notes.yaml'],
])('a text of %s', (languageId, name) => {
  test('answers every request of an editor', async () => {
    client = await startTestServer();
    const uri = `file:///models/${name}`;
    await client.open(uri, languageId, textOf(name));
    for (const [method, parameters] of asked)
      await client.connection.sendRequest(`textDocument/${method}`, { textDocument: { uri }, ...parameters });
    expect([client.problems, client.log]).toEqual([[], ['language server is ready']]);
  });
});

function textOf(name: string): string {
  if (name === 'notes.yaml') return 'a: 1\nb:\n  - c\n  - d\n';
  if (name === 'mlp.onnxtxt')
    return `<ir_version: 9, opset_import: ["" : 20]>
mlp (float[N, 8] x) => (float[N, 8] y)
<float[8, 8] w = {...}>
{ y = MatMul (x, w) }
`;
  return readFileSync(new URL(`../../samples/${name}`, import.meta.url), 'utf8');
}
