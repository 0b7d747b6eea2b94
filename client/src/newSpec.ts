/** `Layercost: New Layer Spec`: an empty spec, with the models to start from proposed. */

import * as vscode from 'vscode';
import { commands, languageIds } from '../../server/src/protocol.ts';

export const registerNewSpec = (started: Promise<void>): vscode.Disposable =>
  vscode.commands.registerCommand(commands.newSpec, async () => {
    const document = await vscode.workspace.openTextDocument({ language: languageIds.layerSpec });
    await vscode.window.showTextDocument(document);
    await started;
    await vscode.commands.executeCommand('editor.action.triggerSuggest');
  });
