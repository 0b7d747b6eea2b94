/** The language server over any connection, on any platform: wiring only. */

import {
  CodeLensRefreshRequest,
  type Connection,
  DidChangeConfigurationNotification,
  type InitializeParams,
  type ResponseError,
  TextDocumentSyncKind,
  TextDocuments,
} from 'vscode-languageserver';
import { TextDocument } from 'vscode-languageserver-textdocument';
import { codeLenses } from '../language/codeLenses.ts';
import { diagnostics } from '../language/diagnostics.ts';
import { documentSymbols } from '../language/documentSymbols.ts';
import { foldingRanges } from '../language/foldingRanges.ts';
import { inlayHints } from '../language/inlayHints.ts';
import type { ModelView } from '../language/modelView.ts';
import {
  type BenchmarkParams,
  type BenchmarkResult,
  type EstimatedParams,
  estimated,
  type InitializationOptions,
  listClusters,
  makeReport,
  onnxTextScheme,
  type ReportParams,
  runBenchmark,
  trustGranted,
} from '../protocol.ts';
import { answering, stopIfCancelled } from './answer.ts';
import { benchmarkHandler } from './benchmark.ts';
import { clusterChoices } from './clusterChoices.ts';
import { onnxFiles } from './onnxFiles.ts';
import { openDocuments } from './openDocuments.ts';
import type { Platform } from './platform.ts';
import { reportOf } from './report.ts';
import { settingsSource } from './settingsSource.ts';
import { summaryOf } from './summary.ts';
import { serveTextFeatures, textCapabilities } from './textFeatures.ts';
import { toCodeLens, toDiagnostic, toDocumentSymbol, toFoldingRange, toInlayHint } from './toProto.ts';
import { modelBehind } from './virtualText.ts';

/** Quiet time after a keystroke before a text is costed. */
const typingDelay = 120;

export function startServer(connection: Connection, platform: Platform): void {
  const { handler, inBackground, stop } = answering(connection);
  const texts = new TextDocuments(TextDocument);
  const session: Session = { options: {}, trusted: false, client: {} };
  const settings = settingsSource(connection, () => session.client.workspace?.configuration === true);
  const files = onnxFiles(connection, platform, () => session.options.readsBytes === true);
  const documents = openDocuments({
    files,
    settingsOf: settings.of,
    onView: (document, view) => inBackground('showing costs', () => show(document, view)),
    onFailure: (error) =>
      inBackground('costing', () => {
        throw error;
      }),
  });

  const refresh = async (): Promise<void> => {
    const { workspace } = session.client;
    if (workspace?.inlayHint?.refreshSupport) await connection.languages.inlayHint.refresh();
    if (workspace?.codeLens?.refreshSupport) await connection.sendRequest(CodeLensRefreshRequest.type);
  };

  const show = async (document: TextDocument, view: ModelView | undefined): Promise<void> => {
    if (view === undefined) return;
    await connection.sendDiagnostics({
      uri: document.uri,
      version: document.version,
      diagnostics: diagnostics(view).map((each) => toDiagnostic(each, session.options.issuesPage)),
    });
    const params: EstimatedParams = { uri: document.uri, ...summaryOf(view) };
    await connection.sendNotification(estimated, params);
    await refresh();
  };

  const touchAll = (): void => {
    for (const document of texts.all()) documents.touch(document, 0);
  };

  connection.onInitialize((params: InitializeParams) => {
    session.client = params.capabilities;
    session.options = readOptions(params.initializationOptions);
    session.trusted = session.options.trusted === true;
    return {
      serverInfo: { name: 'layercost' },
      capabilities: {
        textDocumentSync: { openClose: true, change: TextDocumentSyncKind.Incremental },
        ...textCapabilities,
        hoverProvider: true,
        inlayHintProvider: true,
        codeLensProvider: {},
        documentSymbolProvider: true,
        foldingRangeProvider: true,
        workspace: { textDocumentContent: { schemes: [onnxTextScheme] } },
      },
    };
  });
  connection.onInitialized(() =>
    inBackground('starting', async () => {
      if (session.client.workspace?.didChangeConfiguration?.dynamicRegistration)
        await connection.client.register(DidChangeConfigurationNotification.type, { section: 'layercost' });
      connection.console.info('language server is ready');
    }),
  );
  connection.onDidChangeConfiguration((change) => {
    settings.forget(change.settings);
    touchAll();
  });

  texts.onDidOpen(({ document }) => documents.touch(document, 0));
  texts.onDidChangeContent(({ document }) => {
    if (document.version > 1) documents.touch(document, modelBehind(document.uri) ? 0 : typingDelay);
  });
  texts.onDidClose(({ document }) => {
    documents.close(document.uri);
    const source = modelBehind(document.uri);
    if (source !== undefined) files.forget(source);
    inBackground('clearing diagnostics', () =>
      connection.sendDiagnostics({ uri: document.uri, diagnostics: [] }),
    );
  });
  connection.onDidChangeWatchedFiles(({ changes }) =>
    inBackground('reading changed files', async () => {
      for (const change of changes) {
        files.forget(change.uri);
        for (const uri of texts.keys().filter((key) => modelBehind(key) === change.uri))
          await connection.workspace.textDocumentContent.refresh(uri);
      }
      touchAll();
    }),
  );

  connection.workspace.textDocumentContent.on(
    handler('reading the model', { text: failedText }, async ({ uri }: { uri: string }, token) => {
      const source = modelBehind(uri);
      if (source === undefined) return { text: failedText };
      const file = await files.open(source);
      stopIfCancelled(token);
      return { text: file.text };
    }),
  );
  serveTextFeatures({
    connection,
    handler,
    document: (uri) => texts.get(uri),
    view: documents.view,
    proposals: () => ({
      snippets: session.client.textDocument?.completion?.completionItem?.snippetSupport === true,
      commands: session.options.hasCommands === true,
    }),
  });
  connection.languages.inlayHint.on(
    handler('inlay hints', [], async ({ textDocument, range }, token) => {
      if (!(await settings.of(modelBehind(textDocument.uri) ?? textDocument.uri))['hints.enabled']) return [];
      const view = await documents.view(textDocument.uri);
      stopIfCancelled(token);
      return view === undefined ? [] : inlayHints(view, range.start.line, range.end.line).map(toInlayHint);
    }),
  );
  connection.onCodeLens(
    handler('code lens', [], async ({ textDocument }, token) => {
      const view = await documents.view(textDocument.uri);
      stopIfCancelled(token);
      if (view === undefined) return [];
      return codeLenses(view).map((lens) =>
        toCodeLens(lens, textDocument.uri, session.options.hasCommands === true),
      );
    }),
  );
  connection.onDocumentSymbol(
    handler('outline', [], async ({ textDocument }, token) => {
      const view = await documents.view(textDocument.uri);
      stopIfCancelled(token);
      return view === undefined ? [] : documentSymbols(view).map(toDocumentSymbol);
    }),
  );
  connection.onFoldingRanges(
    handler('folding', [], async ({ textDocument }, token) => {
      const view = await documents.view(textDocument.uri);
      stopIfCancelled(token);
      return view === undefined ? [] : foldingRanges(view).map(toFoldingRange);
    }),
  );
  connection.onRequest(listClusters, () => clusterChoices());
  connection.onRequest(
    makeReport,
    handler('report', null, async ({ uri, format }: ReportParams) => {
      const view = await documents.view(uri);
      return view === undefined ? null : reportOf(view, format);
    }),
  );
  connection.onRequest<BenchmarkResult | ResponseError<void>, void>(
    runBenchmark,
    handler<BenchmarkParams, BenchmarkResult>(
      'benchmark',
      { kind: 'failed', message: 'the benchmark failed inside Layercost; the log has the details' },
      benchmarkHandler({
        connection,
        platform,
        isTrusted: () => session.trusted,
        view: documents.view,
        pythonOf: async (uri) => (await settings.of(modelBehind(uri) ?? uri))['benchmark.python'],
        onMeasured: (uri, measurements) => {
          documents.keepMeasurements(uri, measurements);
          const document = texts.get(uri);
          if (document !== undefined) documents.touch(document, 0);
        },
      }),
    ),
  );
  connection.onNotification(trustGranted, () => {
    session.trusted = true;
  });

  connection.onShutdown(() => {
    stop();
    for (const uri of texts.keys()) documents.close(uri);
  });

  texts.listen(connection);
  connection.listen();
}

interface Session {
  options: InitializationOptions;
  trusted: boolean;
  client: InitializeParams['capabilities'];
}

/** Another editor may send anything at all here. */
function readOptions(sent: unknown): InitializationOptions {
  if (typeof sent !== 'object' || sent === null) return {};
  const has = (key: string): boolean =>
    Object.entries(sent).some(([name, value]) => name === key && value === true);
  const page = 'issuesPage' in sent && typeof sent.issuesPage === 'string' ? sent.issuesPage : undefined;
  return {
    trusted: has('trusted'),
    readsBytes: has('readsBytes'),
    hasCommands: has('hasCommands'),
    ...(page === undefined ? {} : { issuesPage: page }),
  };
}

/** An empty page would look like an empty model. */
const failedText =
  '# The model cannot be shown: reading it failed inside Layercost.\n# Layercost: Show Log has the details; please report it with the model.\n';
