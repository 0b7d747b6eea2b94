/**
 * Stands for a binary model when it is double-clicked: opens the layers that the server tells of it in the same place
 * and gets out of the way. Every feature of the editor then works on text.
 */

import * as vscode from 'vscode';
import { commands, onnxEditor } from '../../server/src/protocol.ts';
import { isOfModel, layersOf, modelOf } from './onnxTextFiles.ts';

export function registerOnnxEditor(started: Promise<void>, log: vscode.LogOutputChannel): vscode.Disposable {
  const provider: vscode.CustomReadonlyEditorProvider = {
    openCustomDocument: (uri) => ({ uri, dispose: () => {} }),
    resolveCustomEditor: async (model, panel) => {
      panel.webview.html = page('Reading the model…');
      const opening = showText(model.uri, panel, started);
      opening.catch((error: unknown) => {
        const reason = error instanceof Error ? error.message : String(error);
        log.error(`opening ${model.uri.toString()} failed: ${reason}`);
        panel.webview.html = page(`The model cannot be shown: ${reason}`);
      });
    },
  };
  return vscode.Disposable.from(
    vscode.window.registerCustomEditorProvider(onnxEditor, provider, {
      supportsMultipleEditorsPerDocument: true,
    }),
    vscode.commands.registerCommand(commands.openBinary, () => openBinary()),
  );
}

/** Longer work than this is shown in the status bar. */
const patience = 1000;

async function showText(
  model: vscode.Uri,
  panel: vscode.WebviewPanel,
  started: Promise<void>,
): Promise<void> {
  const tab = tabOf(model);
  if (tab === undefined) {
    // Not a tab of its own: one side of a comparison, which must keep its place.
    panel.webview.html = page('Open the file on its own to see its text and costs.');
    return;
  }
  const opening = started.then(() => vscode.workspace.openTextDocument(layersOf(model)));
  const timer = setTimeout(() => {
    vscode.window.withProgress(
      { location: vscode.ProgressLocation.Window, title: 'Layercost: reading the model' },
      () => opening.then(undefined, () => {}),
    );
  }, patience);
  try {
    const document = await opening;
    await vscode.window.showTextDocument(document, {
      viewColumn: panel.viewColumn ?? vscode.ViewColumn.Active,
      preview: tab.isPreview,
      preserveFocus: !panel.active,
    });
    panel.dispose();
  } finally {
    clearTimeout(timer);
  }
}

const tabOf = (model: vscode.Uri): vscode.Tab | undefined =>
  vscode.window.tabGroups.all
    .flatMap((group) => group.tabs)
    .find(
      ({ input }) =>
        input instanceof vscode.TabInputCustom &&
        input.viewType === onnxEditor &&
        input.uri.toString() === model.toString(),
    );

/** The binary behind the active text, in whatever editor the person picks. */
async function openBinary(): Promise<void> {
  const { uri } = vscode.window.activeTextEditor?.document ?? {};
  if (uri === undefined || !isOfModel(uri)) return;
  await vscode.commands.executeCommand('vscode.openWith', modelOf(uri), 'default');
}

const page = (message: string): string =>
  `<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="default-src 'none'"><title>Layercost</title></head><body><p role="status">${message.replace(/[&<>]/g, (character) => `&#${character.charCodeAt(0)};`)}</p></body></html>`;
