/**
 * The language server under random hands: edits, requests in any order at any place, some cancelled, documents closed
 * and opened again, settings changed, files replaced on the disk. Nothing may fail, and memory stays where it is.
 */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  CancellationTokenSource,
  ErrorCodes,
  LSPErrorCodes,
  ResponseError,
} from 'vscode-languageserver/node';
import { type Position, type Range, TextDocument } from 'vscode-languageserver-textdocument';
import { listClusters, makeReport } from '../../server/src/protocol.ts';
import { startTestServer, type TestClient, textAddress } from '../lsp/testServer.ts';
import { mutateBytes, mutateText } from './mutate.ts';
import { type Random, randomOf } from './random.ts';

export interface ServerRun {
  readonly edits: number;
  readonly requests: number;
  readonly slowestMilliseconds: number;
  /** Megabytes of heap in use after each hundred edits, where the process lets garbage be collected. */
  readonly heap: readonly number[];
  /** What must not have happened. */
  readonly failures: readonly string[];
}

export interface ServerFuzz {
  readonly samples: string;
  readonly seed: number;
  readonly edits: number;
  /** The run ends early at this moment of `performance.now`. */
  readonly deadline: number;
}

const modelUri = 'file:///models/model.onnx';

/** Calls blocks of another document, which calls blocks of this one. */
const including =
  'include: [b.layers.yaml, f.layers.yaml, g/none.layers.yaml]\ninputs: { x: int64[2, 8] }\nblocks:\n  own(d=4):\n    - fc: Linear(d, d)\nlayers:\n  - e: Embedding(10, 768)\n  - h: decoder() * 2\n  - o: own(768)\n';

/** The documents of a session: all languages, right and wrong, and the text of a binary model. */
function documentsOf(samples: string): readonly TextDocument[] {
  const read = (name: string): string => readFileSync(join(samples, name), 'utf8');
  const onnxText =
    '<ir_version: 10, opset_import: ["" : 21]>\ng (float[N, 4] x) => (float[N, 8] y) <float[4, 8] w>\n{\n  [/fc/MatMul] h = MatMul (x, w)\n  y = Relu (h)\n}\n';
  return [
    TextDocument.create('file:///models/a.layers.yaml', 'layer-spec', 1, read('alexnet.layers.yaml')),
    TextDocument.create('file:///models/b.layers.yaml', 'layer-spec', 1, read('gpt2.layers.yaml')),
    TextDocument.create('file:///models/c.layers.yaml', 'layer-spec', 1, 'layers:\n  - '),
    TextDocument.create('file:///models/d.onnxtxt', 'onnx-text', 1, onnxText),
    TextDocument.create('file:///models/e.prototxt', 'caffe-prototxt', 1, read('lenet.prototxt')),
    TextDocument.create('file:///models/f.layers.yaml', 'layer-spec', 1, including),
    TextDocument.create(
      'file:///models/own.cluster.json',
      'json',
      1,
      '{ "name": "own", "gpu": "rtx-3090", "gpusPerNode": 1 }',
    ),
    TextDocument.create(textAddress(modelUri), 'onnx-text', 1, ''),
    TextDocument.create('untitled:Untitled-1', 'layer-spec', 1, ''),
  ];
}

/** Of every request: its parameters but for the document. */
const requests: readonly (readonly [method: string, params: (place: Place) => object])[] = [
  ['textDocument/inlayHint', ({ range }) => ({ range })],
  ['textDocument/hover', ({ position }) => ({ position })],
  ['textDocument/codeLens', () => ({})],
  ['textDocument/documentSymbol', () => ({})],
  ['textDocument/foldingRange', () => ({})],
  ['textDocument/completion', ({ position }) => ({ position, context: { triggerKind: 1 } })],
  ['textDocument/signatureHelp', ({ position }) => ({ position })],
  ['textDocument/definition', ({ position }) => ({ position })],
  ['textDocument/references', ({ position }) => ({ position, context: { includeDeclaration: true } })],
  ['textDocument/documentHighlight', ({ position }) => ({ position })],
  ['textDocument/prepareRename', ({ position }) => ({ position })],
  ['textDocument/rename', ({ position, word }) => ({ position, newName: word })],
  ['textDocument/formatting', () => ({ options: { tabSize: 2, insertSpaces: true } })],
  ['textDocument/rangeFormatting', ({ range }) => ({ range, options: { tabSize: 2, insertSpaces: true } })],
  [
    'textDocument/codeAction',
    ({ range, word }) => ({
      range,
      context: { diagnostics: [{ range, message: word, code: 'spec/call', source: 'layercost' }] },
    }),
  ],
  ['textDocument/diagnostic', () => ({})],
  ['workspace/symbol', ({ word }) => ({ query: word })],
  ['textDocument/selectionRange', ({ position }) => ({ positions: [position, position] })],
  ['textDocument/semanticTokens/full', () => ({})],
  ['textDocument/semanticTokens/range', ({ range }) => ({ range })],
  ['textDocument/documentLink', () => ({})],
  ['workspace/textDocumentContent', () => ({ uri: textAddress(modelUri) })],
];

interface Place {
  readonly position: Position;
  readonly range: Range;
  readonly word: string;
}

export async function fuzzServer({ samples, seed, edits, deadline }: ServerFuzz): Promise<ServerRun> {
  const random = randomOf(seed);
  const failures: string[] = [];
  const onUnhandled = (error: unknown): void => {
    failures.push(`unhandled: ${error instanceof Error ? error.stack : String(error)}`);
  };
  process.on('unhandledRejection', onUnhandled);
  const client = await startTestServer();
  const model = readFileSync(join(samples, 'alexnet.onnx'));
  client.files.set(modelUri, model);
  const documents = documentsOf(samples);
  const originals = new Map(documents.map((document) => [document.uri, document.getText()]));
  const opened = new Set<string>();
  const waiting = new Set<Promise<void>>();
  const heap: number[] = [];
  let slowestMilliseconds = 0;
  let sent = 0;
  let edited = 0;

  const ask = (method: string, params: object, cancelled: boolean): Promise<void> => {
    sent += 1;
    const began = performance.now();
    const token = new CancellationTokenSource();
    const answer = client.connection.sendRequest(method, params, token.token).then(
      () => {
        slowestMilliseconds = Math.max(slowestMilliseconds, performance.now() - began);
      },
      (error: unknown) => {
        const isCancelled = error instanceof ResponseError && expectedErrors.has(error.code);
        if (!isCancelled && !isRenameRefusal(method, error)) failures.push(`${method}: ${String(error)}`);
      },
    );
    if (cancelled) setTimeout(() => token.cancel(), random.below(5));
    const kept = answer.finally(() => {
      waiting.delete(kept);
      token.dispose();
    });
    waiting.add(kept);
    return kept;
  };

  while (edited < edits && performance.now() < deadline && failures.length === 0) {
    const document = random.pick(documents);
    const { uri } = document;
    if (!opened.has(uri)) {
      opened.add(uri);
      await client.open(uri, document.languageId, document.getText());
    }
    const choice = random.below(100);
    if (choice < 45) {
      edited += 1;
      await edit(client, document, originals.get(uri) ?? '', random);
      if (edited % 100 === 0) {
        await Promise.all(waiting);
        globalThis.gc?.();
        if (globalThis.gc !== undefined) heap.push(Math.round(process.memoryUsage().heapUsed / 2 ** 20));
      }
    } else if (choice < 92) {
      const [method, params] = random.pick(requests);
      const answer = ask(
        method,
        { textDocument: { uri }, ...params(placeIn(document, random)) },
        random.chance(0.2),
      );
      if (random.chance(0.5)) await answer;
    } else if (choice < 94) {
      await ask(makeReport, { uri, format: random.pick(['html', 'markdown', 'trace']) }, false);
    } else if (choice < 95) {
      await ask(listClusters, {}, false);
    } else if (choice < 97) {
      await client.changeSettings(random.pick(settings));
    } else if (choice < 98) {
      client.files.set(modelUri, random.chance(0.3) ? model : mutateBytes(model, model, random));
      await client.connection.sendNotification('workspace/didChangeWatchedFiles', {
        changes: [{ uri: modelUri, type: 2 }],
      });
    } else {
      opened.delete(uri);
      await client.connection.sendNotification('textDocument/didClose', { textDocument: { uri } });
    }
  }
  await Promise.all(waiting);
  failures.push(...client.problems, ...client.log.filter((line) => line.includes(' failed')));
  await client.stop();
  process.off('unhandledRejection', onUnhandled);
  return { edits: edited, requests: sent, slowestMilliseconds, heap, failures };
}

/** A request may be cancelled, by the client or because its document changed. */
const expectedErrors: ReadonlySet<number> = new Set<number>([
  LSPErrorCodes.RequestCancelled,
  LSPErrorCodes.ServerCancelled,
  LSPErrorCodes.ContentModified,
]);

/** A name that cannot be given is refused with a reason for the person. */
const isRenameRefusal = (method: string, error: unknown): boolean =>
  /ename$/.test(method) && error instanceof ResponseError && renameRefusals.has(error.code);
const renameRefusals: ReadonlySet<number> = new Set<number>([
  LSPErrorCodes.RequestFailed,
  ErrorCodes.InvalidRequest,
  ErrorCodes.InvalidParams,
]);

const settings: readonly Record<string, unknown>[] = [
  {},
  { cluster: 'dgx-h100', gpus: 16, precision: 'bf16' },
  { cluster: 'nothing', gpus: -1, precision: 4 },
  { batch: 7, dimensions: { batch: 0 }, 'hints.enabled': false },
  { cluster: ['a'], optimizer: null, framework: 'pytorch-ddp,bucket-mb=x' },
];

/** One or several pieces replaced, now and then the whole text by the first one again or by a changed one. */
async function edit(
  client: TestClient,
  document: TextDocument,
  original: string,
  random: Random,
): Promise<void> {
  const text = document.getText();
  const changes =
    text.length > 40_000 || random.chance(0.1)
      ? [{ text: original }]
      : random.chance(0.2)
        ? [{ text: mutateText(text, original, random) }]
        : Array.from({ length: 1 + random.below(3) }, () => ({
            range: placeIn(document, random).range,
            text: random.pick(typed),
          }));
  const version = document.version + 1;
  TextDocument.update(document, changes, version);
  await client.connection.sendNotification('textDocument/didChange', {
    textDocument: { uri: document.uri, version },
    contentChanges: changes,
  });
}

const typed: readonly string[] = [
  ...['', '', ' ', '\n', '\r\n', 'a', '(', ')', ':', ',', '- ', '[', ']', '"', '#', '*', '{', '}', '=', '\t'],
  ...[
    'Linear(',
    'blocks:\n',
    'layers:\n',
    '  - x: ReLU()\n',
    ' * 12',
    ' from ',
    'input',
    '\u{1f600}',
    '\ud800',
  ],
  ...['\u2028', '\0', 'NaN', '1e999', '-1', 'y = Relu(x)\n', 'float[N]', '<', '>', '__proto__'],
];

/** Mostly a place in the text, sometimes far outside it; ranges are short. */
function placeIn(document: TextDocument, random: Random): Place {
  const far = random.chance(0.03);
  const start = random.below(document.getText().length + 1);
  const position = far
    ? { line: random.pick([0, 10 ** 6, 2 ** 31 - 1]), character: random.pick([0, 10 ** 6, 2 ** 31 - 1]) }
    : document.positionAt(start);
  const end = far ? position : document.positionAt(start + random.below(random.chance(0.2) ? 200 : 8));
  return { position, range: { start: position, end }, word: random.pick(typed) };
}
