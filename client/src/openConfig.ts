/**
 * `Layercost: Open Config as Layer Spec`: the model that a `config.json` of transformers, the one beside a safetensors file or a
 * GGUF file describes, as a new layer spec that can be read, changed and saved. Weights are never read.
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
    const uri = given instanceof vscode.Uri ? configOf(given) : vscode.window.activeTextEditor?.document.uri;
    if (uri === undefined) {
      vscode.window.showInformationMessage(vscode.l10n.t('Open the config.json of a model first.'));
      return;
    }
    await started;
    const params = await paramsOf(uri);
    if (params === undefined) {
      vscode.window.showErrorMessage(
        vscode.l10n.t('There is no config.json beside the weights: download it from where they are from.'),
      );
      return;
    }
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

/** Safetensors are weights without a network: the config in their folder describes it. */
const configOf = (file: vscode.Uri): vscode.Uri =>
  /\.safetensors$/i.test(file.path) ? vscode.Uri.joinPath(file, '..', 'config.json') : file;

/** The config as text, or the address of a GGUF file, which is its own config; `undefined` where there is no file. */
async function paramsOf(uri: vscode.Uri): Promise<ConfigSpecParams | undefined> {
  const name = uri.path.split('/').pop() ?? 'config.json';
  if (/\.gguf$/i.test(name)) return { name, weights: uri.toString() };
  try {
    return { name, text: (await vscode.workspace.openTextDocument(uri)).getText() };
  } catch {
    return undefined;
  }
}
