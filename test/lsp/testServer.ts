/** A real server and a real client in one process, joined by two streams. */

import { readFileSync } from 'node:fs';
import { PassThrough } from 'node:stream';
import {
  createConnection,
  createProtocolConnection,
  type ProtocolConnection,
  type PublishDiagnosticsParams,
  StreamMessageReader,
  StreamMessageWriter,
} from 'vscode-languageserver/node';
import { byteSourceOfBuffer } from '../../server/src/formats/byteSource.ts';
import type { Platform } from '../../server/src/lsp/platform.ts';
import { startServer } from '../../server/src/lsp/startServer.ts';
import {
  type BenchmarkProgressParams,
  benchmarkProgress,
  type EstimatedParams,
  estimated,
  type InitializationOptions,
  type ListFolderParams,
  type ListFolderResult,
  listFolder,
  onnxLayersScheme,
  onnxLayersSuffix,
  onnxTextSuffix,
  type ReadBytesParams,
  type ReadBytesResult,
  readBytes,
  serverProblem,
} from '../../server/src/protocol.ts';

export interface TestClient {
  readonly connection: ProtocolConnection;
  readonly capabilities: unknown;
  readonly problems: string[];
  readonly estimates: EstimatedParams[];
  readonly progress: BenchmarkProgressParams[];
  /** Log messages of the server. */
  readonly log: string[];
  settings: Record<string, unknown>;
  /** Files by address, for the `readBytes` request. */
  readonly files: Map<string, Uint8Array>;
  readonly refreshedContent: string[];
  /** Files that the server asked for, and the addresses whose settings it asked for. */
  readonly reads: string[];
  readonly settingsAsked: (string | undefined)[];
  /** How often it asked the client to request hints again. */
  hintRefreshes: number;
  /** Options of what the server registered at run time. */
  readonly registered: unknown[];
  /** What it asked of the editor, by request, but for files; registrations with what they are of. */
  readonly asked: Set<string>;
  open(uri: string, languageId: string, text: string): Promise<void>;
  change(uri: string, version: number, text: string): Promise<void>;
  changeSettings(settings: Record<string, unknown>): Promise<void>;
  hints(uri: string, lines?: number): Promise<readonly { line: number; text: string }[]>;
  /** The diagnostics published last, once there are any for this version. */
  diagnostics(uri: string, version: number): Promise<PublishDiagnosticsParams['diagnostics']>;
  stop(): Promise<void>;
}

export interface TestServerOptions {
  readonly platform?: Partial<Platform>;
  readonly initialization?: InitializationOptions;
  readonly settings?: Record<string, unknown>;
  /** Whether the client asks for diagnostics instead of being sent them. */
  readonly pullsDiagnostics?: boolean;
  /** What the client can of edits of several files; left out, versions and new files. */
  readonly workspaceEdit?: object;
  /** All that the client can, in the place of what is usual here. */
  readonly capabilities?: object;
}

export async function startTestServer(options: TestServerOptions = {}): Promise<TestClient> {
  const toServer = new PassThrough();
  const toClient = new PassThrough();
  const server = createConnection(new StreamMessageReader(toServer), new StreamMessageWriter(toClient));
  startServer(server, { bytesEncoding: 'base64', openFile: () => undefined, ...options.platform });
  const connection = createProtocolConnection(
    new StreamMessageReader(toClient),
    new StreamMessageWriter(toServer),
  );
  return connect(connection, options, () => {
    server.dispose();
    toServer.destroy();
    toClient.destroy();
  });
}

/** Speaks to a server that is already there; `end` takes it down. */
export async function connect(
  connection: ProtocolConnection,
  options: TestServerOptions,
  end: () => void,
): Promise<TestClient> {
  const published = new Map<string, PublishDiagnosticsParams>();
  const waiting = new Set<() => void>();
  const client: TestClient = {
    connection,
    capabilities: undefined,
    problems: [],
    estimates: [],
    progress: [],
    log: [],
    settings: options.settings ?? {},
    files: new Map(),
    refreshedContent: [],
    reads: [],
    settingsAsked: [],
    hintRefreshes: 0,
    registered: [],
    asked: new Set(),
    open: (uri, languageId, text) =>
      connection.sendNotification('textDocument/didOpen', {
        textDocument: { uri, languageId, version: 1, text },
      }),
    change: (uri, version, text) =>
      connection.sendNotification('textDocument/didChange', {
        textDocument: { uri, version },
        contentChanges: [{ text }],
      }),
    changeSettings: (settings) => {
      client.settings = settings;
      return connection.sendNotification('workspace/didChangeConfiguration', { settings: null });
    },
    hints: async (uri, lines = 10_000) => {
      const answer = await connection.sendRequest<
        readonly { position: { line: number }; label: string }[] | null
      >('textDocument/inlayHint', {
        textDocument: { uri },
        range: { start: { line: 0, character: 0 }, end: { line: lines, character: 0 } },
      });
      return (answer ?? []).map(({ position, label }) => ({ line: position.line, text: label }));
    },
    diagnostics: async (uri, version) => {
      for (;;) {
        const known = published.get(uri);
        if (known !== undefined && (known.version ?? 0) >= version) return known.diagnostics;
        await new Promise<void>((resolve) => waiting.add(resolve));
      }
    },
    stop: async () => {
      await connection.sendRequest('shutdown');
      // Answers to what the server asked last are still on their way.
      await new Promise((resolve) => setTimeout(resolve, 20));
      connection.dispose();
      end();
    },
  };
  connection.onNotification('textDocument/publishDiagnostics', (params: PublishDiagnosticsParams) => {
    published.set(params.uri, params);
    for (const wake of waiting) wake();
    waiting.clear();
  });
  connection.onNotification('window/logMessage', ({ message }: { message: string }) => {
    client.log.push(message);
  });
  connection.onNotification(estimated, (params: EstimatedParams) => {
    client.estimates.push(params);
  });
  connection.onNotification(serverProblem, ({ message }: { message: string }) => {
    client.problems.push(message);
  });
  connection.onNotification(benchmarkProgress, (params: BenchmarkProgressParams) => {
    client.progress.push(params);
  });
  connection.onRequest('workspace/configuration', ({ items }: { items: { scopeUri?: string }[] }) => {
    client.asked.add('workspace/configuration');
    client.settingsAsked.push(...items.map(({ scopeUri }) => scopeUri));
    return items.map(() => client.settings);
  });
  connection.onRequest('workspace/inlayHint/refresh', () => {
    client.asked.add('workspace/inlayHint/refresh');
    client.hintRefreshes += 1;
    return null;
  });
  for (const method of ['workspace/codeLens/refresh', 'workspace/diagnostic/refresh']) {
    connection.onRequest(method, () => {
      client.asked.add(method);
      return null;
    });
  }
  connection.onRequest('workspace/workspaceFolders', () => {
    client.asked.add('workspace/workspaceFolders');
    return [{ uri: 'file:///models', name: 'models' }];
  });
  connection.onRequest(
    'client/registerCapability',
    ({ registrations }: { registrations: readonly { method: string; registerOptions?: unknown }[] }) => {
      for (const { method, registerOptions } of registrations) {
        client.asked.add(`register ${method}`);
        client.registered.push(registerOptions);
      }
      return null;
    },
  );
  connection.onRequest('workspace/textDocumentContent/refresh', ({ uri }: { uri: string }) => {
    client.refreshedContent.push(uri);
    return null;
  });
  connection.onRequest<ReadBytesResult, void>(readBytes, ({ uri }: ReadBytesParams) => {
    client.reads.push(uri);
    const bytes = client.files.get(uri);
    return bytes === undefined
      ? { failure: 'there is no such file' }
      : { bytes: Buffer.from(bytes).toString('base64') };
  });
  connection.onRequest<ListFolderResult, void>(listFolder, ({ uri }: ListFolderParams) => {
    const below = [...client.files.keys()].filter((file) => file.startsWith(uri));
    const paths = below.map((file) => file.slice(uri.length).replace(/^\//, ''));
    const folders = new Map(paths.map((path) => [path.replace(/\/.*/, ''), path.includes('/')]));
    return { entries: [...folders].map(([name, isFolder]) => ({ name, isFolder })) };
  });
  connection.listen();
  const answer = await connection.sendRequest<{ capabilities: unknown }>('initialize', {
    processId: null,
    rootUri: null,
    capabilities: options.capabilities ?? {
      ...(options.pullsDiagnostics ? { textDocument: { diagnostic: {} } } : {}),
      workspace: {
        configuration: true,
        workspaceFolders: true,
        didChangeWatchedFiles: { dynamicRegistration: true },
        didChangeConfiguration: { dynamicRegistration: true },
        workspaceEdit: options.workspaceEdit ?? { documentChanges: true, resourceOperations: ['create'] },
        inlayHint: { refreshSupport: true },
        codeLens: { refreshSupport: true },
        textDocumentContent: {},
      },
    },
    initializationOptions: { readsBytes: true, hasCommands: true, trusted: true, ...options.initialization },
  });
  await connection.sendNotification('initialized', {});
  return Object.assign(client, { capabilities: answer.capabilities });
}

/** The address of the text of a binary model. */
export function textAddress(model: string): string {
  const { pathname } = new URL(model);
  return `onnx-text:${pathname}${onnxTextSuffix}?${encodeURIComponent(model)}`;
}

/** The address of the layers of a binary model. */
export function layersAddress(model: string): string {
  const { pathname } = new URL(model);
  return `${onnxLayersScheme}:${pathname}${onnxLayersSuffix}?${encodeURIComponent(model)}`;
}

/** A platform that reads `file:` addresses, as Node's does. */
export const readsFiles: Partial<Platform> = {
  openFile: (uri) =>
    uri.startsWith('file:')
      ? { kind: 'open', source: byteSourceOfBuffer(readFileSync(new URL(uri))), close: () => {} }
      : undefined,
};
