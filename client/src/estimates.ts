/** What the server last said about each open document. */

import * as vscode from 'vscode';
import type { BaseLanguageClient } from 'vscode-languageclient';
import {
  type EstimatedParams,
  estimated,
  languageIds,
  type ModelSummary,
  type PartSummary,
  type ServerProblemParams,
  serverProblem,
} from '../../server/src/protocol.ts';

export interface Estimates extends vscode.Disposable {
  of(uri: vscode.Uri): EstimatedParams | undefined;
  /** Of the active editor's model; where its text holds several, of the one the cursor is in, or the first. */
  active(): ModelSummary | undefined;
  /** The first failure inside the server, if there was one. */
  readonly problem: string | undefined;
  readonly onChange: vscode.Event<vscode.Uri | undefined>;
}

/** Address of the model that was active last. */
let last: string | undefined;

/** The model in the active editor; where that shows no text, as the walkthrough and reports do, the one before it. */
export function activeModel(): vscode.TextDocument | undefined {
  const document = vscode.window.activeTextEditor?.document;
  if (document === undefined)
    return vscode.workspace.textDocuments.find((open) => open.uri.toString() === last && isModel(open));
  return isModel(document) ? document : undefined;
}

/** The editor of that model, which is shown again where a page covers it. */
export async function activeModelEditor(): Promise<vscode.TextEditor | undefined> {
  const model = activeModel();
  return model && (vscode.window.activeTextEditor ?? (await vscode.window.showTextDocument(model)));
}

/** What a command says that is about a model where none is open. */
export const openModelFirst = (): string =>
  vscode.l10n.t('Open a model first; the command is about the active editor.');

function rememberModel(editor: vscode.TextEditor | undefined): void {
  if (editor !== undefined && isModel(editor.document)) last = editor.document.uri.toString();
}

/** The name of the model the cursor is in, where the text of the active editor holds several. */
export function modelAtCursor(estimates: Estimates): string | undefined {
  const editor = vscode.window.activeTextEditor;
  return editor === undefined ? undefined : partAt(estimates.of(editor.document.uri), editor)?.name;
}

function partAt(
  estimate: EstimatedParams | undefined,
  editor: vscode.TextEditor | undefined,
): PartSummary | undefined {
  const line = editor?.selection.active.line ?? 0;
  return estimate?.models?.find(({ firstLine, lastLine }) => firstLine <= line && line <= lastLine);
}

export const isModel = (document: vscode.TextDocument): boolean =>
  Object.values<string>(languageIds).includes(document.languageId);

export function trackEstimates(client: BaseLanguageClient): Estimates {
  const known = new Map<string, EstimatedParams>();
  const changed = new vscode.EventEmitter<vscode.Uri | undefined>();
  let problem: string | undefined;
  rememberModel(vscode.window.activeTextEditor);
  const subscriptions = vscode.Disposable.from(
    changed,
    vscode.window.onDidChangeActiveTextEditor(rememberModel),
    client.onNotification(estimated, (params: EstimatedParams) => {
      const uri = vscode.Uri.parse(params.uri);
      known.set(uri.toString(), params);
      changed.fire(uri);
    }),
    client.onNotification(serverProblem, (params: ServerProblemParams) => {
      problem ??= params.message;
      changed.fire(undefined);
    }),
    vscode.workspace.onDidCloseTextDocument((document) => known.delete(document.uri.toString())),
  );
  return {
    of: (uri) => known.get(uri.toString()),
    active: () => {
      const model = activeModel();
      const estimate = model === undefined ? undefined : known.get(model.uri.toString());
      return partAt(estimate, vscode.window.activeTextEditor) ?? estimate;
    },
    get problem() {
      return problem;
    },
    onChange: changed.event,
    dispose: () => subscriptions.dispose(),
  };
}
