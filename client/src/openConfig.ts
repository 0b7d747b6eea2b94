/**
 * `Layercost: Open Config as Layer Spec`: the model a `config.json` of transformers describes, as a new layer spec that
 * can be read, changed and saved.
 */

import * as vscode from 'vscode';
import type { BaseLanguageClient } from 'vscode-languageclient';
import {
  type ConfigSpecParams,
  type ConfigSpecResult,
  commands,
  languageIds,
  writeConfigSpec,
} from '../../server/src/protocol.ts';

export function registerOpenConfig(client: BaseLanguageClient, started: Promise<void>): vscode.Disposable {
  return vscode.commands.registerCommand(commands.openConfig, async (given: unknown) => {
    const uri = given instanceof vscode.Uri ? given : vscode.window.activeTextEditor?.document.uri;
    if (uri === undefined) {
      vscode.window.showInformationMessage(vscode.l10n.t('Open the config.json of a model first.'));
      return;
    }
    await started;
    const text = (await vscode.workspace.openTextDocument(uri)).getText();
    const params: ConfigSpecParams = { text, name: uri.path.split('/').pop() ?? 'config.json' };
    const { spec, problem } = await client.sendRequest<ConfigSpecResult>(writeConfigSpec, params);
    if (spec === undefined) {
      vscode.window.showErrorMessage(problem ?? vscode.l10n.t('The config cannot be read as a model.'));
      return;
    }
    const document = await vscode.workspace.openTextDocument({
      language: languageIds.layerSpec,
      content: spec,
    });
    await vscode.window.showTextDocument(document);
    if (problem !== undefined) vscode.window.showWarningMessage(problem);
  });
}
