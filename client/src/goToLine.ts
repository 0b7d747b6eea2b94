/** Shows a line of a model. */

import * as vscode from 'vscode';

/** In the editor that shows the model, else in the first group. */
export async function goToLine(model: vscode.Uri, line: number): Promise<void> {
  const shown = vscode.window.visibleTextEditors.find(
    ({ document }) => document.uri.toString() === model.toString(),
  );
  await vscode.window.showTextDocument(shown?.document ?? (await vscode.workspace.openTextDocument(model)), {
    viewColumn: shown?.viewColumn ?? vscode.ViewColumn.One,
    selection: new vscode.Range(line, 0, line, 0),
  });
}
