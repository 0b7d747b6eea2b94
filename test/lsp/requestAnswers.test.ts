/** What requests answer by what an editor can, and by what the platform is given: links, proposals, texts, benchmarks. */

import { afterEach, describe, expect, test } from 'vitest';
import type { BenchmarkOptions } from '../../server/src/lsp/platform.ts';
import { type BenchmarkResult, runBenchmark } from '../../server/src/protocol.ts';
import { startTestServer, type TestClient, type TestServerOptions } from './testServer.ts';

let client: TestClient | undefined;
afterEach(async () => {
  await client?.stop();
  client = undefined;
});
const start = async (options: TestServerOptions = {}): Promise<TestClient> => {
  client = await startTestServer(options);
  return client;
};

const uri = 'file:///models/mine.layers.yaml';
const spec = 'inputs:\n  x: float32[8, 16]\nlayers:\n  - a: Linear(16, 16)\n';

describe('links', () => {
  test('lead to what is included beside the file, and nowhere for an absolute path', async () => {
    const { open, connection } = await start();
    await open(uri, 'layer-spec', `include:\n  - parts/mlp.layers.yaml\n  - /etc/b.layers.yaml\n${spec}`);
    expect(await connection.sendRequest('textDocument/documentLink', { textDocument: { uri } })).toEqual([
      {
        range: { start: { line: 1, character: 4 }, end: { line: 1, character: 25 } },
        target: 'file:///models/parts/mlp.layers.yaml',
      },
    ]);
  });
});

describe('the text of a model', () => {
  test.each(['file:///models/tiny.onnx', 'onnx-text:/models/tiny.onnx.onnxtxt'])(
    'says that it is none at %s, which names no model',
    async (address) => {
      const { connection } = await start();
      const { text } = await connection.sendRequest<{ text: string }>('workspace/textDocumentContent', {
        uri: address,
      });
      expect(text).toMatch(/^# The model cannot be shown: .*\n# "Layercost: Show Log" .*\n$/);
    },
  );
});

describe('proposals', () => {
  const proposed = async (
    text: string,
    { line, character }: { readonly line: number; readonly character: number },
    {
      snippetSupport,
      ...options
    }: TestServerOptions & { readonly snippetSupport?: boolean; readonly trigger?: string } = {},
  ): Promise<readonly { readonly label: string; readonly kind?: number }[]> => {
    const { open, connection } = await start({
      ...(snippetSupport === undefined
        ? {}
        : { capabilities: { textDocument: { completion: { completionItem: { snippetSupport } } } } }),
      ...options,
    });
    await open(uri, 'layer-spec', text);
    return connection.sendRequest('textDocument/completion', {
      textDocument: { uri },
      position: { line, character },
      ...(options.trigger === undefined
        ? {}
        : { context: { triggerKind: 2, triggerCharacter: options.trigger } }),
    });
  };

  /** `CompletionItemKind.Snippet` is 15. */
  test.each([
    [true, true],
    [false, false],
  ])('are templates where the editor fills them in: %s', async (snippetSupport, expected) => {
    const found = await proposed('', { line: 0, character: 0 }, { snippetSupport });
    expect(found.length).toBeGreaterThan(0);
    expect(found.some(({ kind }) => kind === 15)).toBe(expected);
  });

  /** A blank asks for proposals itself only after what wants a value: `:`, `,`, `(`, `*` and `from`. */
  test.each([
    ['- a: ', true],
    ['- a: Linear(16, ', true],
    ['- a: Linear( ', true],
    ['- a: ReLU() * ', true],
    ['- a: ReLU() ', false],
    ['- a: ReLU() # of ', false],
  ])('after the blank of %j: %s', async (written, expected) => {
    const text = `inputs:\n  x: float32[8, 16]\nlayers:\n  ${written}\n`;
    const place = { line: 3, character: 2 + written.length };
    const blank = await proposed(text, place, { trigger: ' ' });
    if (!expected) expect(blank).toEqual([]);
    else expect(blank).toEqual(await proposed(text, place));
  });
});

describe('a benchmark', () => {
  const asked = async (
    settings: Record<string, unknown>,
    text: string,
    params: object = {},
  ): Promise<{
    result: BenchmarkResult;
    options: Partial<BenchmarkOptions> | undefined;
    client: TestClient;
  }> => {
    let options: BenchmarkOptions | undefined;
    const started = await start({
      settings,
      platform: {
        benchmark: async (_, given) => {
          options = given;
          given.onProgress('starting', undefined);
          given.onProgress('half', 0.5);
          given.onLog('a line');
          return { kind: 'failed', message: 'no torch' };
        },
      },
    });
    await started.open(uri, 'layer-spec', text);
    const result = await started.connection.sendRequest<BenchmarkResult>(runBenchmark, { uri, ...params });
    return { result, options, client: started };
  };

  /** The editor's interpreter is one of this machine: not of another that a launcher reaches. */
  test.each([
    [[], undefined, '', ''],
    [[], '/envs/bin/python', '', '/envs/bin/python'],
    [['ssh', 'gpu'], '/envs/bin/python', '', ''],
    [['ssh', 'gpu'], '/envs/bin/python', '/opt/python', '/opt/python'],
  ])(
    'with launcher %j, the interpreter %s and the setting %j runs %j',
    async (launcher, python, setting, used) => {
      const { options } = await asked(
        { benchmark: { launcher, python: setting, device: 'cpu' } },
        spec,
        python === undefined ? {} : { python },
      );
      expect(options).toMatchObject({ uri, launcher, python: used, device: 'cpu' });
      expect(options?.model).toBeUndefined();
    },
  );

  test('of a spec of several models runs the one that is asked for', async () => {
    const text = `${spec.replaceAll('16', 'd')}models:\n  small: { dims: { d: 16 } }\n  large: { dims: { d: 32 } }\n`;
    const { options } = await asked({}, text, { model: 'large' });
    expect(options?.model).toBe('large');
  });

  test('sends its progress, logs its lines, and says why it failed', async () => {
    const { result, client: of } = await asked({}, spec);
    expect(result).toEqual({ kind: 'failed', message: 'no torch' });
    expect(of.progress).toEqual([
      { uri, message: 'starting' },
      { uri, message: 'half', fraction: 0.5 },
    ]);
    expect(of.log).toEqual(expect.arrayContaining(['benchmark: a line', 'benchmark: no torch']));
  });

  test('is refused for a model without a cost', async () => {
    const { result, options } = await asked({}, '');
    expect(result).toEqual({
      kind: 'failed',
      message: 'the model cannot be costed, so it cannot be run; see its errors in the Problems view',
    });
    expect(options).toBeUndefined();
  });
});
