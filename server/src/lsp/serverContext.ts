/** What the requests of one server share: the connection, the session, open documents and the files behind them. */

import type { Connection } from 'vscode-languageserver';
import { TextDocument } from 'vscode-languageserver-textdocument';
import type { ClusterProfile } from '../hardware/clusterProfile.ts';
import type { FrameworkDescription } from '../model/frameworkDescription.ts';
import { type Answering, answering } from './answer.ts';
import { type IncludedFiles, includedFiles } from './includedFiles.ts';
import { TextDocuments } from './languageServer.ts';
import { folderLister, type ListFolder } from './listFolder.ts';
import { type OnnxFiles, onnxFiles } from './onnxFiles.ts';
import { type OpenDocuments, openDocuments } from './openDocuments.ts';
import { type OpenTexts, openTexts } from './openTexts.ts';
import { operatorsBeside } from './operatorsBeside.ts';
import type { Platform } from './platform.ts';
import { fileReader, type ReadFile } from './readFile.ts';
import { type RelatedSpecs, relatedSpecs } from './relatedSpecs.ts';
import { type RestingTexts, restingTexts } from './restingTexts.ts';
import { turnOfTimer } from './runSteps.ts';
import type { Session } from './session.ts';
import { type SettingsSource, settingsSource } from './settingsSource.ts';
import { type ShownViews, shownViews } from './shownViews.ts';
import { clusterFiles, frameworkFiles, type UserFiles, type UserProfileSources } from './userProfiles.ts';
import { resolveInWorkspace } from './virtualText.ts';
import { fileWatcher } from './watchFile.ts';

export interface ServerContext extends Answering {
  readonly connection: Connection;
  readonly platform: Platform;
  readonly session: Session;
  readonly texts: TextDocuments<TextDocument>;
  readonly settings: SettingsSource;
  /** Binary models, by address. */
  readonly files: OnnxFiles;
  readonly clusters: UserFiles<ClusterProfile>;
  readonly frameworks: UserFiles<FrameworkDescription>;
  readonly includes: IncludedFiles;
  /** Open documents with their costs. */
  readonly documents: OpenDocuments;
  /** Open documents as texts: what their language says without costs. */
  readonly openTexts: OpenTexts;
  readonly resting: RestingTexts;
  /** Sends what a view shows without a request. */
  readonly shown: ShownViews;
  readonly listFolder: ListFolder;
  /** Opens a file by its address. */
  readonly read: ReadFile;
  /** Specs that include a document, that it includes, or that share what it includes. */
  readonly related: RelatedSpecs;
  /** Lets messages that arrived meanwhile be handled. */
  readonly nextTurn: () => Promise<void>;
}

export function serverContext(connection: Connection, platform: Platform): ServerContext {
  const session: Session = { options: {}, trusted: false, client: {} };
  const answers = answering(connection);
  const { inBackground } = answers;
  const texts = new TextDocuments(TextDocument);
  const settings = settingsSource(connection, () => session.client.workspace?.configuration === true);
  const clientReads = (): boolean => session.options.readsBytes === true;
  const read = fileReader(connection, platform, clientReads);
  const listFolder = folderLister(connection, platform, clientReads);
  const watchFile = fileWatcher(connection, session);
  const workspaceFolders = async (): Promise<readonly string[]> => {
    if (!session.client.workspace?.workspaceFolders) return [];
    return ((await connection.workspace.getWorkspaceFolders()) ?? []).map(({ uri }) => uri);
  };
  const profiles: UserProfileSources = {
    read,
    resolve: async (path, model) =>
      resolveInWorkspace(path, model, await workspaceFolders(), session.trusted),
    watch: (uri) => inBackground('watching a file of the settings', () => watchFile(uri)),
  };
  const includes = includedFiles({
    read,
    openText: (uri) => texts.get(uri)?.getText(),
    watch: (uri) => inBackground('watching an included file', () => watchFile(uri)),
  });
  const files = onnxFiles(read, platform, operatorsBeside(includes));
  const clusters = clusterFiles(profiles);
  const frameworks = frameworkFiles(profiles);
  const nextTurn = platform.nextTurn ?? turnOfTimer;
  const resting = restingTexts(platform.restOfTexts);
  const shown = shownViews(connection, session, {
    rested: resting.rested,
    isOpen: (document) => texts.get(document.uri) === document,
  });
  const documents = openDocuments({
    files,
    settingsOf: settings.of,
    clusters,
    frameworks,
    market: platform.market,
    includes,
    keptResults: platform.results,
    nextTurn,
    editorAsks: shown.pullsDiagnostics,
    onView: (document, view, cause) => inBackground('showing costs', () => shown.show(document, view, cause)),
    onFailure: (error) =>
      inBackground('costing', () => {
        throw error;
      }),
  });
  return {
    ...answers,
    connection,
    platform,
    session,
    texts,
    settings,
    files,
    clusters,
    frameworks,
    includes,
    documents,
    openTexts: openTexts((uri) => texts.get(uri), includes.texts),
    resting,
    shown,
    listFolder,
    read,
    related: relatedSpecs({
      texts: () => texts.all(),
      included: includes.texts,
      folders: workspaceFolders,
      listFolder,
      read,
    }),
    nextTurn,
  };
}
