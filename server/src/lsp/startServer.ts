/** The language server over any connection, on any platform: wiring only. */

import {
  CodeLensRefreshRequest,
  type Connection,
  type Diagnostic,
  DidChangeConfigurationNotification,
  DidChangeWatchedFilesNotification,
  type DocumentDiagnosticParams,
  type DocumentDiagnosticReport,
  DocumentDiagnosticRequest,
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
import { hintTooltip, inlayHints } from '../language/inlayHints.ts';
import { type ModelView, viewOfModel } from '../language/modelView.ts';
import { workspaceSymbols } from '../language/workspaceSymbols.ts';
import {
  type BenchmarkParams,
  type BenchmarkResult,
  type EstimatedParams,
  estimated,
  type InitializationOptions,
  listClusters,
  listFrameworks,
  makeReport,
  onnxTextScheme,
  type ReportParams,
  runBenchmark,
  trustGranted,
} from '../protocol.ts';
import { answering, stopIfCancelled } from './answer.ts';
import { benchmarkHandler } from './benchmark.ts';
import { clusterChoices } from './clusterChoices.ts';
import { codeActionCapabilities, serveCodeActions } from './codeActions.ts';
import { frameworkChoices } from './frameworkChoices.ts';
import { includedFiles } from './includedFiles.ts';
import { folderLister } from './listFolder.ts';
import { onnxFiles } from './onnxFiles.ts';
import { type Cause, openDocuments } from './openDocuments.ts';
import type { Platform } from './platform.ts';
import { fileReader } from './readFile.ts';
import { relatedSpecs } from './relatedSpecs.ts';
import { reportOf } from './report.ts';
import { runSteps, turnOfTimer } from './runSteps.ts';
import { settingsSource } from './settingsSource.ts';
import { summaryOf } from './summary.ts';
import { serveTextFeatures, textCapabilities } from './textFeatures.ts';
import {
  markdown,
  toCodeLens,
  toDiagnostic,
  toDocumentSymbol,
  toFoldingRange,
  toInlayHint,
  toWorkspaceSymbol,
} from './toProto.ts';
import { clusterFiles, frameworkFiles, type UserProfileSources } from './userProfiles.ts';
import { fileName, folderOf, modelBehind, resolveInWorkspace } from './virtualText.ts';

export function startServer(connection: Connection, platform: Platform): void {
  const { handler, inBackground, stop } = answering(connection);
  const texts = new TextDocuments(TextDocument);
  const session: Session = { options: {}, trusted: false, client: {} };
  const settings = settingsSource(connection, () => session.client.workspace?.configuration === true);
  const read = fileReader(connection, platform, () => session.options.readsBytes === true);
  const files = onnxFiles(read, platform);
  const listed = folderLister(connection, platform, () => session.options.readsBytes === true);
  const workspaceFolders = async (): Promise<readonly string[]> => {
    if (!session.client.workspace?.workspaceFolders) return [];
    return ((await connection.workspace.getWorkspaceFolders()) ?? []).map(({ uri }) => uri);
  };
  const userProfiles: UserProfileSources = {
    read,
    resolve: async (path, model) => resolveInWorkspace(path, model, await workspaceFolders()),
    watch: (uri) => inBackground('watching a file of the settings', () => watchFile(uri)),
  };
  const clusters = clusterFiles(userProfiles);
  const frameworks = frameworkFiles(userProfiles);
  const includes = includedFiles({
    read,
    openText: (uri) => texts.get(uri)?.getText(),
    watch: (uri) => inBackground('watching an included file', () => watchFile(uri)),
  });
  const watchFile = async (uri: string): Promise<void> => {
    if (!session.client.workspace?.didChangeWatchedFiles?.dynamicRegistration) return;
    const watchers = [{ globPattern: { baseUri: folderOf(uri), pattern: fileName(uri) } }];
    await connection.client.register(DidChangeWatchedFilesNotification.type, { watchers });
  };
  const nextTurn = platform.nextTurn ?? turnOfTimer;
  const documents = openDocuments({
    files,
    settingsOf: settings.of,
    clusters,
    frameworks,
    includes,
    nextTurn,
    onView: (document, view, cause) => inBackground('showing costs', () => show(document, view, cause)),
    onFailure: (error) =>
      inBackground('costing', () => {
        throw error;
      }),
  });

  const refresh = async (): Promise<void> => {
    const { workspace } = session.client;
    if (workspace?.inlayHint?.refreshSupport) await connection.languages.inlayHint.refresh();
    if (workspace?.codeLens?.refreshSupport) await connection.sendRequest(CodeLensRefreshRequest.type);
    if (pulls() && workspace?.diagnostics?.refreshSupport) await connection.languages.diagnostics.refresh();
  };
  /** Whether the editor asks for diagnostics; they are sent to it where it does not. */
  const pulls = (): boolean => session.client.textDocument?.diagnostic !== undefined;
  const diagnosticsOf = (view: ModelView): Diagnostic[] =>
    diagnostics(view).map((each) => toDiagnostic(each, session.options.issuesPage));

  const show = async (document: TextDocument, view: ModelView | undefined, cause: Cause): Promise<void> => {
    if (view === undefined) return;
    if (!pulls()) {
      const { uri, version } = document;
      await connection.sendDiagnostics({ uri, version, diagnostics: diagnosticsOf(view) });
    }
    const params: EstimatedParams = { uri: document.uri, ...summaryOf(view) };
    await connection.sendNotification(estimated, params);
    if (cause === 'other') await refresh();
    else await refreshLenses(document.uri, view);
  };

  /** An editor may ask for lenses before the last keystroke only, so it is told when they say something else. */
  const refreshLenses = async (uri: string, view: ModelView): Promise<void> => {
    const title = codeLenses(view)
      .map((lens) => lens.title)
      .join('\n');
    if (lensTitles.get(uri) === title) return;
    lensTitles.set(uri, title);
    if (session.client.workspace?.codeLens?.refreshSupport)
      await connection.sendRequest(CodeLensRefreshRequest.type);
  };
  const lensTitles = new Map<string, string>();

  const touchAll = (): void => {
    for (const document of texts.all()) documents.touch(document, 'other');
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
        ...codeActionCapabilities,
        hoverProvider: true,
        inlayHintProvider: { resolveProvider: true },
        codeLensProvider: {},
        documentSymbolProvider: true,
        workspaceSymbolProvider: true,
        foldingRangeProvider: true,
        ...(pulls()
          ? { diagnosticProvider: { interFileDependencies: false, workspaceDiagnostics: false } }
          : {}),
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

  const touchIncluders = (uri: string): void => {
    for (const model of includes.includers(uri)) {
      const document = texts.get(model);
      if (document !== undefined) documents.touch(document, 'other');
    }
  };
  texts.onDidOpen(({ document }) => documents.touch(document, 'other'));
  texts.onDidChangeContent(({ document }) => {
    if (document.version > 1) documents.touch(document, 'keystroke');
    touchIncluders(document.uri);
  });
  texts.onDidClose(({ document }) => {
    documents.close(document.uri);
    lensTitles.delete(document.uri);
    includes.close(document.uri);
    includes.forget(document.uri);
    touchIncluders(document.uri);
    const source = modelBehind(document.uri);
    if (source !== undefined) files.forget(source);
    if (!pulls()) {
      inBackground('clearing diagnostics', () =>
        connection.sendDiagnostics({ uri: document.uri, diagnostics: [] }),
      );
    }
  });
  connection.onDidChangeWatchedFiles(({ changes }) =>
    inBackground('reading changed files', async () => {
      for (const change of changes) {
        files.forget(change.uri);
        clusters.forget(change.uri);
        frameworks.forget(change.uri);
        includes.forget(change.uri);
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
  serveCodeActions({
    connection,
    handler,
    document: (uri) => texts.get(uri),
    view: documents.view,
    recost: documents.recost,
    included: includes.texts,
    issuesPage: () => session.options.issuesPage,
  });
  serveTextFeatures({
    connection,
    handler,
    document: (uri) => texts.get(uri),
    view: documents.view,
    shownView: documents.shownView,
    listFolder: listed,
    included: includes.texts,
    related: relatedSpecs({
      texts: () => texts.all(),
      included: includes.texts,
      folders: workspaceFolders,
      listFolder: listed,
      read,
    }),
    proposals: () => ({
      snippets: session.client.textDocument?.completion?.completionItem?.snippetSupport === true,
      commands: session.options.hasCommands === true,
      details: session.client.textDocument?.completion?.completionItem?.labelDetailsSupport === true,
    }),
  });
  connection.languages.inlayHint.on(
    handler('inlay hints', [], async ({ textDocument, range }, token) => {
      const shown = await settings.of(modelBehind(textDocument.uri) ?? textDocument.uri);
      if (!shown['hints.enabled']) return [];
      const kinds = { cost: shown['hints.cost'], shape: shown['hints.shape'] };
      const view = await documents.view(textDocument.uri);
      stopIfCancelled(token);
      return view === undefined
        ? []
        : inlayHints(view, range.start.line, range.end.line, kinds).map((hint) =>
            toInlayHint(hint, textDocument.uri),
          );
    }),
  );
  connection.onRequest<DocumentDiagnosticReport | ResponseError<void>, void>(
    DocumentDiagnosticRequest.method,
    handler<DocumentDiagnosticParams, DocumentDiagnosticReport>(
      'diagnostics',
      { kind: 'full', items: [] },
      async ({ textDocument }, token) => {
        const view = await documents.view(textDocument.uri);
        stopIfCancelled(token);
        return { kind: 'full', items: view === undefined ? [] : diagnosticsOf(view) };
      },
    ),
  );
  connection.languages.inlayHint.resolve((hint) => {
    const place = readHintData(hint.data);
    const view = place === undefined ? undefined : documents.shownView(place.uri);
    const tooltip = place === undefined || view === undefined ? undefined : hintTooltip(view, place.line);
    return tooltip === undefined ? hint : { ...hint, tooltip: markdown(tooltip) };
  });
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
  connection.onWorkspaceSymbol(
    handler('symbols', [], ({ query }) => {
      const open = texts.keys().flatMap((uri) => {
        const view = documents.shownView(uri);
        return view === undefined ? [] : [{ uri, symbols: documentSymbols(view) }];
      });
      return workspaceSymbols(open, query).map(toWorkspaceSymbol);
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
  connection.onRequest(listFrameworks, () => frameworkChoices());
  connection.onRequest(
    makeReport,
    handler('report', null, async ({ uri, model, ...asked }: ReportParams, token) => {
      const view = await documents.view(uri);
      if (view === undefined) return null;
      const report = reportOf(viewOfModel(view, model), asked);
      return (await runSteps(report, nextTurn, () => token.isCancellationRequested)) ?? null;
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
        onMeasured: (uri, model, measurements) => {
          documents.keepMeasurements(uri, model, measurements);
          const document = texts.get(uri);
          if (document !== undefined) documents.touch(document, 'other');
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

function readHintData(sent: unknown): { readonly uri: string; readonly line: number } | undefined {
  if (typeof sent !== 'object' || sent === null || !('uri' in sent) || !('line' in sent)) return undefined;
  const { uri, line } = sent;
  return typeof uri === 'string' && typeof line === 'number' ? { uri, line } : undefined;
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
