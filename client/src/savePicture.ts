/** Saves a picture of a chart in a file. */

import * as vscode from 'vscode';

/** Beside the model, unless the person says otherwise; a model without a folder has no place to propose. */
export async function savePicture(model: vscode.Uri, name: string, data: string): Promise<void> {
  const folder =
    vscode.workspace.getWorkspaceFolder(model)?.uri ?? vscode.workspace.workspaceFolders?.[0]?.uri;
  const target = await vscode.window.showSaveDialog({
    ...(folder === undefined ? {} : { defaultUri: vscode.Uri.joinPath(folder, name) }),
    filters: { PNG: ['png'] },
  });
  if (target === undefined) return;
  await vscode.workspace.fs.writeFile(
    target,
    Uint8Array.from(atob(data), (character) => character.charCodeAt(0)),
  );
}
