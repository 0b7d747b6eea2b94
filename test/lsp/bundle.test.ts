/** The server as it ships: bundling changes behaviour, so the bundle itself is asked. */

import { spawn, spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { createContext, runInContext } from 'node:vm';
import { beforeAll, expect, it } from 'vitest';
import {
  createProtocolConnection,
  StreamMessageReader,
  StreamMessageWriter,
} from 'vscode-languageserver/node';
import { connect, textAddress } from './testServer.ts';

const root = resolve(import.meta.dirname, '../..');
const bundle = resolve(root, 'dist/server.js');

beforeAll(() => {
  if (!existsSync(bundle)) spawnSync(process.execPath, ['esbuild.mjs'], { cwd: root });
});

it.each([['--stdio'], ['']])(
  'serves a file of the samples over standard input and output (%s)',
  async (flag) => {
    const server = spawn(process.execPath, [bundle, ...(flag === '' ? [] : [flag])]);
    const client = await connect(
      createProtocolConnection(new StreamMessageReader(server.stdout), new StreamMessageWriter(server.stdin)),
      {},
      () => server.kill(),
    );
    const uri = textAddress(new URL('../../samples/alexnet.onnx', import.meta.url).href);
    const { text } = await client.connection.sendRequest<{ text: string }>('workspace/textDocumentContent', {
      uri,
    });
    expect(text).toContain('= Conv');
    await client.open(uri, 'onnx-text', text);
    const hints = await client.hints(uri);
    // A node's name stands above it, and the hint beside the name.
    const lines = text.split('\n');
    const convolutions = hints.filter(({ line }) => /= Conv\b/.test(`${lines[line]} ${lines[line + 1]}`));
    expect(convolutions).toHaveLength(5);
    for (const { text: hint } of convolutions) expect(hint).toMatch(/^\S+ [MG]FLOP · /);
    expect(client.problems).toEqual([]);
    await client.stop();
  },
);

it('refuses what is asked before it is initialized, and after it was asked to shut down', async () => {
  const server = spawn(process.execPath, [bundle, '--stdio']);
  const connection = createProtocolConnection(
    new StreamMessageReader(server.stdout),
    new StreamMessageWriter(server.stdin),
  );
  connection.listen();
  const ask = (): Promise<unknown> =>
    connection.sendRequest('textDocument/hover', {
      textDocument: { uri: 'file:///m.layers.yaml' },
      position: { line: 0, character: 0 },
    });
  await expect(ask()).rejects.toMatchObject({ code: -32002 });
  await connection.sendRequest('initialize', { processId: null, rootUri: null, capabilities: {} });
  await expect(ask()).resolves.toBeNull();
  await connection.sendRequest('shutdown');
  await expect(ask()).rejects.toMatchObject({ code: -32600 });
  server.kill();
  connection.dispose();
});

it('runs as a worker with nothing but what a browser has', async () => {
  const sent: { id?: number; result?: { capabilities?: unknown } }[] = [];
  const held: string[] = [];
  let grant: (() => void) | undefined;
  const scope: Record<string, unknown> = {
    // By which a script knows that it is a worker.
    importScripts: () => {
      throw new Error('the worker is one file');
    },
    postMessage: (message: { id?: number }) => sent.push(message),
    addEventListener: () => {},
    onmessage: undefined,
    setTimeout,
    clearTimeout,
    setInterval,
    clearInterval,
    queueMicrotask,
    TextDecoder,
    TextEncoder,
    name: 'editor -> layercost-server-1',
    navigator: {
      userAgent: 'a browser',
      locks: {
        request: (name: string, hold: () => Promise<void>) => {
          held.push(name);
          return new Promise<void>((resolve) => {
            grant = () => {
              hold().then(resolve, resolve);
            };
          });
        },
      },
    },
    URL,
    atob,
    btoa,
    crypto,
    performance,
    console,
  };
  scope.self = scope;
  scope.globalThis = scope;
  runInContext(readFileSync(resolve(root, 'dist/engine.js'), 'utf8'), createContext(scope));
  const params = { processId: null, capabilities: {} };
  const receive = scope.onmessage;
  if (typeof receive !== 'function') throw new Error('the worker listens to no messages');
  receive({ data: { jsonrpc: '2.0', id: 1, method: 'initialize', params } });
  // By which the client learns of its end.
  expect(held).toEqual(['layercost-server-1']);
  // The client asks for the lock after the first message, and takes a worker that does not hold it for dead.
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect(sent).toEqual([]);
  grant?.();
  await expect.poll(() => sent.find(({ id }) => id === 1)?.result?.capabilities).toBeDefined();
});
