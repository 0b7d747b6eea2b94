/** What every request answers where there is nothing to say of a document, and what the server says it can. */

import { afterAll, beforeAll, expect, test } from 'vitest';
import { encodeModel } from '../support/onnxBytes.ts';
import { layersAddress, startTestServer, type TestClient, textAddress } from './testServer.ts';

const nowhere = 'file:///models/not-open.layers.yaml';
const empty = 'file:///models/empty.layers.yaml';
const formulas = 'file:///models/chain.onnxtxt';
const chain = `<ir_version: 9, opset_import: ["" : 20]>
chain (float[N, 8] x) => (float[N, 8] y)
<float[8, 8] w = {...}>
{
  p = MatMul (x, w)
  q = Relu (p)
  y = Add (p, q)
}
`;

let client: TestClient;
beforeAll(async () => {
  client = await startTestServer();
  await client.open(empty, 'layer-spec', '');
  await client.open(formulas, 'onnx-text', chain);
});
afterAll(() => client.stop());

const at = (line: number, character: number) => ({ line, character });
const start = at(0, 0);
const range = { start, end: at(3, 0) };
const document = (uri: string) => ({ textDocument: { uri } });
const place = (uri: string) => ({ ...document(uri), position: start });
const address = (uri: string) => ({ uri });

/** By request: what it is asked, and its answers for a document that is not open and for an empty layer spec, which is the same where left out. */
type Row = readonly [method: string, asked: (uri: string) => object, unopened: unknown, empty?: unknown];

const needsInputs = 'the layer spec is empty; it needs `inputs` and `layers`';
const noTokens = expect.objectContaining({ data: [] });
const proposedKeys = expect.arrayContaining([expect.objectContaining({ label: 'layers' })]);
const rows: readonly Row[] = [
  ['textDocument/hover', place, null],
  ['textDocument/signatureHelp', place, null],
  ['textDocument/completion', place, [], proposedKeys],
  ['textDocument/semanticTokens/range', (uri) => ({ ...document(uri), range }), noTokens],
  [
    'textDocument/rangeFormatting',
    (uri) => ({ ...document(uri), range, options: { tabSize: 2, insertSpaces: true } }),
    [],
  ],
  ['textDocument/definition', place, null],
  ['textDocument/documentHighlight', place, []],
  ['textDocument/references', (uri) => ({ ...place(uri), context: { includeDeclaration: true } }), []],
  ['textDocument/codeLens', document, []],
  ['textDocument/documentSymbol', document, []],
  ['textDocument/foldingRange', document, []],
  ['textDocument/documentLink', document, []],
  ['textDocument/semanticTokens/full', document, noTokens],
  ['textDocument/inlayHint', (uri) => ({ ...document(uri), range }), []],
  ['textDocument/codeAction', (uri) => ({ ...document(uri), range, context: { diagnostics: [] } }), []],
  [
    'textDocument/formatting',
    (uri) => ({ ...document(uri), options: { tabSize: 2, insertSpaces: true } }),
    [],
  ],
  [
    'textDocument/selectionRange',
    (uri) => ({ ...document(uri), positions: [start] }),
    [],
    [{ range: { start, end: start } }],
  ],
  [
    'textDocument/diagnostic',
    document,
    { kind: 'full', items: [] },
    { kind: 'full', items: [expect.objectContaining({ message: needsInputs })] },
  ],
  ['workspace/symbol', () => ({ query: 'nothing is called so' }), []],
  ['layercost/listCosts', address, []],
  ['layercost/listModules', address, null],
  ['layercost/listDimensions', address, []],
  [
    'layercost/report',
    (uri) => ({ uri, page: 'report', format: 'text' }),
    null,
    {
      name: 'empty.layers.yaml',
      text: `# empty.layers.yaml\n\nThe model cannot be costed.\n\n- ${needsInputs}\n`,
      refusal: `empty.layers.yaml has no report, because no part of it could be costed: ${needsInputs}`,
    },
  ],
  [
    'layercost/report',
    (uri) => ({ uri, page: 'scaling', format: 'html' }),
    null,
    expect.objectContaining({
      refusal: `empty.layers.yaml has no scaling curve, because no part of it could be costed: ${needsInputs}`,
    }),
  ],
  ['layercost/benchmarkResults', address, { results: [] }],
  ['layercost/compareBenchmarkResults', (uri) => ({ uri, first: 'a', second: 'b' }), {}],
  ['layercost/removeBenchmarkResult', (uri) => ({ uri, id: 'a' }), null],
  ['layercost/tryScenario', (uri) => ({ uri, change: { batch: 2 } }), null],
  [
    'layercost/planLayouts',
    (uri) => ({ uri, gpus: [8], globalBatch: 8 }),
    { kind: 'none', message: 'The model cannot be costed. See its errors in the Problems view.' },
  ],
  [
    'layercost/compareEarlier',
    (uri) => ({ uri, content: '', earlier: 'HEAD', nonce: '' }),
    { refusal: 'The model is no longer open; open it to compare it.' },
    { refusal: `The model cannot be costed as it is now: ${needsInputs}` },
  ],
  ['layercost/findCounterpart', (model) => ({ model, from: 'text', line: 3 }), { line: 0 }],
  ['layercost/findCounterpart', (model) => ({ model, from: 'layers', line: 3 }), { line: 0 }],
  ['layercost/costPythonLines', () => ({ path: '/model.py', text: 'import torch\n' }), { lines: [] }],
];

const cases = rows.map(([method, asked, unopened, ofEmpty = unopened]) => ({
  method,
  asked,
  unopened,
  ofEmpty,
}));

test.each(cases)('$method', async ({ method, asked, unopened, ofEmpty }) => {
  expect(await client.connection.sendRequest(method, asked(nowhere))).toEqual(unopened);
  expect(await client.connection.sendRequest(method, asked(empty))).toEqual(ofEmpty);
  // An answer after a failure is empty too.
  expect([client.problems, client.log]).toEqual([[], ['language server is ready']]);
});

/** Of the language server protocol 3.17: each is of a request that `server/src/lsp/requests` serves. */
test('the server says what it can, and nothing else', async () => {
  const { capabilities, stop } = await startTestServer();
  await stop();
  expect(capabilities).toEqual({
    // Opened, closed and saved documents, and changes by range.
    textDocumentSync: { openClose: true, change: 2, save: true },
    workspace: { textDocumentContent: { schemes: ['onnx-text', 'onnx-layers'] } },
    hoverProvider: true,
    inlayHintProvider: { resolveProvider: true },
    codeLensProvider: {},
    codeActionProvider: { codeActionKinds: ['quickfix'] },
    completionProvider: { triggerCharacters: ['(', ',', '=', ' ', '*', '.', '/', "'"] },
    signatureHelpProvider: { triggerCharacters: ['(', ','], retriggerCharacters: ['='] },
    definitionProvider: true,
    referencesProvider: true,
    documentHighlightProvider: true,
    renameProvider: { prepareProvider: true },
    documentFormattingProvider: true,
    documentRangeFormattingProvider: true,
    selectionRangeProvider: true,
    semanticTokensProvider: {
      legend: {
        // biome-ignore format: kinds of names that the text formats have
        tokenTypes: ['variable', 'function', 'class', 'macro', 'parameter', 'property', 'type', 'enumMember'],
        tokenModifiers: ['declaration', 'readonly', 'defaultLibrary'],
      },
      full: true,
      range: true,
    },
    documentLinkProvider: {},
    documentSymbolProvider: true,
    workspaceSymbolProvider: true,
    foldingRangeProvider: true,
  });
});

/** `p` of ONNX text is made in line 5, and read in lines 6 and 7. */
test.each([
  ['references with where it is made', 'references', { context: { includeDeclaration: true } }, [4, 5, 6]],
  ['references alone', 'references', { context: { includeDeclaration: false } }, [5, 6]],
  ['highlights', 'documentHighlight', {}, [4, 5, 6]],
])('a name of one file: %s', async (_, method, more, lines) => {
  const found = await client.connection.sendRequest<readonly { uri?: string; range: typeof range }[]>(
    `textDocument/${method}`,
    { ...document(formulas), position: at(5, 12), ...more },
  );
  expect(found.map((each) => each.range.start.line).sort()).toEqual(lines);
  for (const each of found) if (method === 'references') expect(each.uri).toBe(formulas);
});

test('a name of one file is renamed where it stands, and defined where it is made', async () => {
  const asked = { ...document(formulas), position: at(5, 12) };
  expect(await client.connection.sendRequest('textDocument/definition', asked)).toMatchObject([
    { targetUri: formulas, targetRange: { start: at(4, 2), end: at(4, 3) } },
  ]);
  const { changes } = await client.connection.sendRequest<{ changes: Record<string, readonly object[]> }>(
    'textDocument/rename',
    { ...asked, newName: 'product' },
  );
  expect(Object.keys(changes)).toEqual([formulas]);
  expect(changes[formulas]).toHaveLength(3);
});

const blocks = 'file:///models/blocks.layers.yaml';
/** A block of three layers from line 4 to 7, a call of it, and a layer that the formatter spaces. */
const withBlocks = `dims: { batch: 2 }
inputs:
  x: float32[batch, 8]
blocks:
  mlp(d):
    - up: Linear(d, 4*d)
    - act: ReLU()
    - down: Linear(4*d, d)
layers:
  - one: mlp(8)
  - two: Linear(8,8)
`;
const from = (line: number, character: number, endLine: number, endCharacter: number) => ({
  start: at(line, character),
  end: at(endLine, endCharacter),
});
const options = { tabSize: 2, insertSpaces: true };
const spaced = [{ range: from(10, 0, 10, 20), newText: '  - two: Linear(8, 8)' }];
const cannotRename = 'Only layers, blocks, dims, block parameters and inputs of this file can be renamed';

/** By what is asked: lines and columns counted in the texts above, from 0. */
test.each<[string, object, object]>([
  ['blocks fold', { method: 'foldingRange' }, [{ startLine: 4, endLine: 7 }]],
  [
    'a block is a module with its layers',
    { method: 'documentSymbol' },
    [
      {
        name: 'mlp',
        kind: 2,
        selectionRange: from(4, 2, 4, 9),
        children: [{ name: 'up' }, { name: 'act' }, { name: 'down' }],
      },
      { name: 'one', range: { start: { line: 9 } } },
      { name: 'two', range: { start: { line: 10 } } },
    ],
  ],
  ['the whole text is formatted', { method: 'formatting', options }, spaced],
  [
    'a range ends before a line of which it has no character',
    { method: 'rangeFormatting', options, range: from(0, 0, 10, 0) },
    [],
  ],
  [
    'with one character of it, the line is of it',
    { method: 'rangeFormatting', options, range: from(0, 0, 10, 1) },
    spaced,
  ],
  [
    'and so is a line with the cursor at its start',
    { method: 'rangeFormatting', options, range: from(10, 0, 10, 0) },
    spaced,
  ],
  [
    'a range that starts behind it has it not',
    { method: 'rangeFormatting', options, range: from(11, 0, 11, 0) },
    [],
  ],
  ['the name of a layer can be renamed', { method: 'prepareRename', position: at(9, 5) }, from(9, 4, 9, 7)],
  // `Linear`, its call, the layer, the block, the blocks, the text.
  [
    'each selection is within the next',
    { method: 'selectionRange', positions: [at(5, 12)] },
    [
      {
        range: from(5, 10, 5, 16),
        parent: {
          range: from(5, 10, 5, 24),
          parent: {
            range: from(5, 6, 5, 24),
            parent: {
              range: from(4, 2, 7, 26),
              parent: { range: from(3, 0, 7, 26), parent: { range: from(0, 0, 11, 0) } },
            },
          },
        },
      },
    ],
  ],
  [
    'there is a selection for each position',
    { method: 'selectionRange', positions: [at(5, 12), at(9, 5)] },
    [{ range: from(5, 10, 5, 16) }, { range: {} }],
  ],
])('of a layer spec with blocks: %s', async (_, { method, ...asked }: { method?: string }, answer) => {
  await client.open(blocks, 'layer-spec', withBlocks);
  const found = await client.connection.sendRequest(`textDocument/${method}`, {
    ...document(blocks),
    ...asked,
  });
  if (Array.isArray(answer)) expect(found).toHaveLength(answer.length);
  expect(found).toMatchObject(answer);
  await client.connection.sendNotification('textDocument/didClose', document(blocks));
});

/** Tokens are five numbers each; the first two are the line and the column, from the token before. LSP 3.17, "Semantic Tokens". */
test.each([
  ['a line has its name and its type', from(6, 0, 6, 20), 2, [6, 6]],
  ['one that is touched is of it', from(6, 9, 6, 20), 2, [6, 6]],
  ['one that ends before it is not', from(6, 10, 6, 20), 1, [6, 11]],
  ['one that starts where it ends is of it', from(6, 0, 6, 6), 1, [6, 6]],
  ['one that starts behind it is not', from(6, 0, 6, 5), 0, []],
])('semantic tokens of a range: %s', async (_, asked, count, first) => {
  await client.open(blocks, 'layer-spec', withBlocks);
  const { data } = await client.connection.sendRequest<{ data: readonly number[] }>(
    'textDocument/semanticTokens/range',
    { ...document(blocks), range: asked },
  );
  expect([data.length, data.slice(0, 2)]).toEqual([5 * count, first]);
  await client.connection.sendNotification('textDocument/didClose', document(blocks));
});

test.each(['prepareRename', 'rename'])('%s of a document that is not open is nothing', async (method) => {
  const asked = { ...place(nowhere), newName: 'other' };
  expect(await client.connection.sendRequest(`textDocument/${method}`, asked)).toBeNull();
  expect(client.problems).toEqual([]);
});

test.each([
  ['prepareRename', at(5, 12), cannotRename],
  ['rename', at(5, 12), cannotRename],
])(
  '%s of what has no name is refused with the reason, and is no failure',
  async (method, position, reason) => {
    await client.open(blocks, 'layer-spec', withBlocks);
    const asked = { ...document(blocks), position, newName: 'other' };
    await expect(client.connection.sendRequest(`textDocument/${method}`, asked)).rejects.toMatchObject({
      // Source: JSON-RPC 2.0, "Error object": an invalid request.
      code: -32600,
      message: reason,
    });
    expect(client.problems).toEqual([]);
    await client.connection.sendNotification('textDocument/didClose', document(blocks));
  },
);

/** Two layers of a matrix product and ReLU each. */
const bytes = encodeModel({
  graph: {
    name: 'two',
    inputs: { x: 'float[N,8]' },
    outputs: { d: 'float[N,4]' },
    initializers: [
      { name: 'v', type: 'float[8,8]' },
      { name: 'w', type: 'float[8,4]' },
    ],
    nodes: [
      { type: 'MatMul', name: '/one/MatMul', inputs: ['x', 'v'], outputs: ['a'] },
      { type: 'Relu', name: '/act/Relu', inputs: ['a'], outputs: ['b'] },
      { type: 'MatMul', name: '/two/MatMul', inputs: ['b', 'w'], outputs: ['c'] },
      { type: 'Relu', name: '/last/Relu', inputs: ['c'], outputs: ['d'] },
    ],
  },
});

test('a line of the text of a model leads to its layer, that to its first operator, and any other to the next', async () => {
  const model = 'vscode-vfs://host/models/two.onnx';
  client.files.set(model, bytes);
  const content = async (uri: string): Promise<readonly string[]> => {
    const { text } = await client.connection.sendRequest<{ text: string }>('workspace/textDocumentContent', {
      uri,
    });
    return text.split('\n');
  };
  const [text, layers] = [await content(textAddress(model)), await content(layersAddress(model))];
  const lineWith = (lines: readonly string[], part: RegExp): number =>
    lines.findIndex((each) => part.test(each));
  const counterpart = async (from: 'text' | 'layers', line: number): Promise<number> => {
    const asked = { model, from, line };
    return (await client.connection.sendRequest<{ line: number }>('layercost/findCounterpart', asked)).line;
  };
  const products = text.flatMap((line, index) => (line.includes('MatMul (') ? [index] : []));
  const linears = layers.flatMap((line, index) => (/: Linear\(/.test(line) ? [index] : []));
  expect([products.length, linears.length]).toEqual([2, 2]);
  for (const [index, product] of products.entries()) {
    const linear = linears[index] ?? Number.NaN;
    // An operator's name stands in the line above it; ReLU is the layer below.
    expect(await counterpart('text', product - 1)).toBe(linear);
    expect(await counterpart('text', product)).toBe(linear);
    expect(await counterpart('text', product + 1)).toBe(linear + 1);
    expect(await counterpart('layers', linear)).toBe(product - 1);
    expect(await counterpart('layers', linear + 1)).toBe(product + 1);
  }
  // Above all operators is the first layer; below all there is none.
  expect(await counterpart('text', 0)).toBe(linears[0]);
  expect(await counterpart('text', text.length)).toBe(0);
  // Lines above layers belong to the first one.
  expect(await counterpart('layers', lineWith(layers, /^layers:/))).toBe((products[0] ?? Number.NaN) - 1);
});

/** A blank is typed between words too; what is proposed there would be in the way. */
test.each([
  ['after a colon', '  - two: ', ' ', true],
  ['in a call', '  - two: Linear( ', ' ', true],
  ['between arguments', '  - two: Linear(8, ', ' ', true],
  ['after a star', '  - two: mlp(8) * ', ' ', true],
  ['after `from`', '  - two: Linear(8) from ', ' ', true],
  ['after a call', '  - two: Linear(8) ', ' ', false],
  ['after another word', '  - two: Linear(8) upfrom ', ' ', false],
  ['after a call, asked for', '  - two: Linear(8) ', undefined, true],
])('a blank %s proposes something: %j', async (_, line, triggerCharacter, proposes) => {
  const text = `${withBlocks.split('\n').slice(0, 10).join('\n')}\n${line}\n`;
  await client.open(blocks, 'layer-spec', text);
  const context = triggerCharacter === undefined ? { triggerKind: 1 } : { triggerKind: 2, triggerCharacter };
  const found = await client.connection.sendRequest<readonly unknown[]>('textDocument/completion', {
    ...{ ...document(blocks), position: at(10, line.length), context },
  });
  expect(found.length > 0).toBe(proposes);
  await client.connection.sendNotification('textDocument/didClose', document(blocks));
});

const shownHint = { position: at(5, 24), label: 'hint' };
/** Details of a hint are made when somebody points at it, of the line that it was made for. LSP 3.17, "Inlay Hint Resolve". */
test.each<[string, unknown, boolean]>([
  ['its line', { uri: blocks, line: 5 }, true],
  ['a line without a hint', { uri: blocks, line: 0 }, false],
  ['a document that is not open', { uri: nowhere, line: 5 }, false],
  ['no line', { uri: blocks }, false],
  ['no document', { line: 5 }, false],
  ['a line that is no number', { uri: blocks, line: '5' }, false],
  ['a document that is no address', { uri: 5, line: 5 }, false],
  ['null', null, false],
  ['a text', 'line 5', false],
  ['nothing', undefined, false],
])('a hint with %s has details: %j', async (_, data, has) => {
  await client.open(blocks, 'layer-spec', withBlocks);
  await client.hints(blocks);
  const resolved = await client.connection.sendRequest<object>('inlayHint/resolve', { ...shownHint, data });
  const tooltip = { kind: 'markdown', value: expect.stringContaining('Linear') };
  expect(resolved).toMatchObject({ ...shownHint, ...(has ? { tooltip } : {}) });
  expect('tooltip' in resolved).toBe(has);
  await client.connection.sendNotification('textDocument/didClose', document(blocks));
});
