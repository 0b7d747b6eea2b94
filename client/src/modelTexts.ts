/** A binary model as layers or as ONNX text: one or the other at the same place, and its layers as a spec to be changed. */

import * as vscode from 'vscode';
import type { BaseLanguageClient } from 'vscode-languageclient';
import {
  type CounterpartParams,
  type CounterpartResult,
  commands,
  findCounterpart,
  type LayerSpecParams,
  type LayerSpecResult,
  languageIds,
  onnxLayersScheme,
  writeLayerSpec,
} from '../../server/src/protocol.ts';
import { isOfModel, layersOf, modelOf, textOf } from './onnxTextFiles.ts';

export function registerModelTexts(client: BaseLanguageClient, started: Promise<void>): vscode.Disposable {
  return vscode.Disposable.from(
    vscode.commands.registerCommand(commands.showOnnxText, () => toggle(client, started)),
    vscode.commands.registerCommand(commands.showLayers, () => toggle(client, started)),
    vscode.commands.registerCommand(commands.saveLayerSpec, () => saveLayerSpec(client, started)),
  );
}

/** The other text of the model in the active editor, with the cursor at the same layer. */
async function toggle(client: BaseLanguageClient, started: Promise<void>): Promise<void> {
  const editor = vscode.window.activeTextEditor;
  if (editor === undefined || !isOfModel(editor.document.uri)) return;
  await started;
  const { uri } = editor.document;
  const isLayers = uri.scheme === onnxLayersScheme;
  const params: CounterpartParams = {
    model: uri.query,
    from: isLayers ? 'layers' : 'text',
    line: editor.selection.active.line,
  };
  const { line } = await client.sendRequest<CounterpartResult>(findCounterpart, params);
  const model = modelOf(uri);
  const document = await vscode.workspace.openTextDocument(isLayers ? textOf(model) : layersOf(model));
  const place = new vscode.Range(line, 0, line, 0);
  const shown = await vscode.window.showTextDocument(document, { selection: place });
  shown.revealRange(place, vscode.TextEditorRevealType.InCenterIfOutsideViewport);
}

/** The layers as a new layer spec; what no spec can say is named, and stands in it all the same. */
async function saveLayerSpec(client: BaseLanguageClient, started: Promise<void>): Promise<void> {
  const uri = vscode.window.activeTextEditor?.document.uri;
  if (uri === undefined || !isOfModel(uri)) return;
  await started;
  const params: LayerSpecParams = { model: uri.query };
  const { text, problems } = await client.sendRequest<LayerSpecResult>(writeLayerSpec, params);
  const document = await vscode.workspace.openTextDocument({
    language: languageIds.layerSpec,
    content: text,
  });
  await vscode.window.showTextDocument(document);
  const [first] = problems;
  if (first === undefined) return;
  vscode.window.showWarningMessage(
    vscode.l10n.t(
      '{0} lines are not those of a layer spec. Line {1}: {2}.',
      problems.length,
      first.line + 1,
      first.message,
    ),
  );
}
