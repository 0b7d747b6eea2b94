/** Sends the editor what a new view shows: diagnostics where it does not request them, the summary, refreshes. */

import type { Connection, Diagnostic } from 'vscode-languageserver';
import type { TextDocument } from 'vscode-languageserver-textdocument';
import { codeLenses } from '../language/codeLenses.ts';
import { diagnostics } from '../language/diagnostics.ts';
import type { ModelView } from '../language/modelView.ts';
import { type EstimatedParams, estimated } from '../protocol.ts';
import type { Cause } from './documentState.ts';
import { CodeLensRefreshRequest } from './languageServer.ts';
import type { RestingTexts } from './restingTexts.ts';
import type { Session } from './session.ts';
import { summaryOf } from './summary.ts';
import { toDiagnostic } from './toProto.ts';

export interface ShownViews {
  show(document: TextDocument, view: ModelView | undefined, cause: Cause): Promise<void>;
  diagnosticsOf(document: TextDocument, view: ModelView): Diagnostic[];
  /** The document's text is as it is in its file. */
  markSaved(document: TextDocument): void;
  /** Whether the editor requests diagnostics; they are pushed where it does not. */
  pullsDiagnostics(): boolean;
  forget(uri: string): void;
}

export interface ShownTexts extends Pick<RestingTexts, 'rested'> {
  readonly isOpen: (document: TextDocument) => boolean;
}

export function shownViews(
  connection: Connection,
  session: Session,
  { rested, isOpen }: ShownTexts,
): ShownViews {
  const lensTitles = new Map<string, string>();
  const pullsDiagnostics = (): boolean => session.client.textDocument?.diagnostic !== undefined;
  const savedVersions = new Map<string, number>();
  /** What was unused when the document was saved; a name that is being typed is not read yet. */
  const unusedWhenSaved = new Map<string, ReadonlySet<string>>();
  const diagnosticsOf = ({ uri, version }: TextDocument, view: ModelView): Diagnostic[] => {
    const all = diagnostics(view);
    const unused = all.flatMap(({ code, message }) => (code === 'spec/unused' ? [message] : []));
    if (savedVersions.get(uri) === version) unusedWhenSaved.set(uri, new Set(unused));
    const known = unusedWhenSaved.get(uri);
    return all
      .filter(({ code, message }) => code !== 'spec/unused' || known?.has(message) === true)
      .map((each) => toDiagnostic(each, session.options));
  };

  const refresh = async (): Promise<void> => {
    const { workspace } = session.client;
    if (workspace?.inlayHint?.refreshSupport) await connection.languages.inlayHint.refresh();
    if (workspace?.codeLens?.refreshSupport) await connection.sendRequest(CodeLensRefreshRequest.type);
    if (pullsDiagnostics() && workspace?.diagnostics?.refreshSupport)
      await connection.languages.diagnostics.refresh();
  };
  /** An editor may request lenses before the last keystroke only, so a changed title needs a refresh. */
  const refreshLenses = async (uri: string, view: ModelView): Promise<void> => {
    const title = codeLenses(view)
      .map((lens) => lens.title)
      .join('\n');
    if (lensTitles.get(uri) === title) return;
    lensTitles.set(uri, title);
    if (session.client.workspace?.codeLens?.refreshSupport)
      await connection.sendRequest(CodeLensRefreshRequest.type);
  };

  const sendDiagnostics = async (document: TextDocument, view: ModelView): Promise<void> => {
    if (pullsDiagnostics()) return;
    const { uri, version } = document;
    await rested(uri);
    // A later text has a view of its own; of one that was closed the diagnostics are gone.
    if (document.version !== version || !isOpen(document)) return;
    await connection.sendDiagnostics({ uri, version, diagnostics: diagnosticsOf(document, view) });
  };

  return {
    show: async (document, view, cause) => {
      if (view === undefined) return;
      const { uri } = document;
      const diagnosed = sendDiagnostics(document, view);
      const params: EstimatedParams = { uri, ...summaryOf(view) };
      await connection.sendNotification(estimated, params);
      if (cause === 'other') await refresh();
      else await refreshLenses(uri, view);
      await diagnosed;
    },
    diagnosticsOf,
    markSaved: ({ uri, version }) => {
      savedVersions.set(uri, version);
    },
    pullsDiagnostics,
    forget: (uri) => {
      lensTitles.delete(uri);
      savedVersions.delete(uri);
      unusedWhenSaved.delete(uri);
    },
  };
}
