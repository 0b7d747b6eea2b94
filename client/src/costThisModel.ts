/** `Layercost: Cost This Model`: a class or function of a Python file becomes a model that is open, with costs on its lines. */

import * as vscode from 'vscode';
import type { BaseLanguageClient } from 'vscode-languageclient';
import {
  commands,
  type ExportProgressParams,
  type ExportPythonParams,
  type ExportPythonResult,
  exportProgress,
  exportPython,
  onnxEditor,
} from '../../server/src/protocol.ts';
import type { OnnxTextFiles } from './onnxTextFiles.ts';
import { interpreterOf } from './pythonInterpreter.ts';
import { definitionAt, modelClasses } from './pythonModels.ts';
import { tellRefusal } from './refusal.ts';

export function registerCostThisModel(
  client: BaseLanguageClient,
  started: Promise<void>,
  canRun: boolean,
  remembered: vscode.Memento,
  texts: OnnxTextFiles,
  log: vscode.LogOutputChannel,
): vscode.Disposable {
  const exportModel: ExportModel = async (...wish) => {
    const result = await exportWithProgress(client, ...wish);
    if (result.kind === 'done') texts.renew(vscode.Uri.parse(result.archive));
    return result;
  };
  /** Models that were costed in this window, by script. */
  const costed = new Map<string, Set<string>>();
  const command = vscode.commands.registerCommand(
    commands.costThisModel,
    async (uri?: unknown, name?: unknown) => {
      const problem = refuse(canRun);
      if (problem !== undefined) return tellRefusal(problem, log);
      const document = await documentOf(uri);
      if (document === undefined) {
        vscode.window.showInformationMessage(vscode.l10n.t('Open a Python file with a model first.'));
        return;
      }
      const chosen = typeof name === 'string' ? name : await chooseModel(document);
      if (chosen === undefined) return;
      // Python reads the file, not the editor.
      if (document.isDirty) await document.save();
      await started;
      const key = document.uri.toString();
      // Before its inputs are asked for: whoever never answers still sees it follow.
      const opened = (): void => void costed.set(key, (costed.get(key) ?? new Set()).add(chosen));
      await costModel(exportModel, document.uri, chosen, remembered, opened, log);
    },
  );
  // A browser says why it builds none, and what to open in its place.
  const lenses = vscode.languages.registerCodeLensProvider(
    { language: 'python', ...(canRun ? { scheme: 'file' } : {}) },
    {
      provideCodeLenses: (document) =>
        modelClasses(document.getText()).map(
          ({ line, name }) =>
            new vscode.CodeLens(document.lineAt(line).range, {
              title: vscode.l10n.t('Cost This Model'),
              command: commands.costThisModel,
              arguments: [document.uri, name],
            }),
        ),
    },
  );
  const saving = canRun ? [renewOnSave(exportModel, costed, remembered, log)] : [];
  return vscode.Disposable.from(command, lenses, ...saving);
}

/**
 * Exports the models of a script again where it is saved, if the setting asks for it. What is open follows the archive, so that
 * nothing is opened; what cannot be exported is in the log, because a script is often saved half-written.
 */
function renewOnSave(
  exportModel: ExportModel,
  costed: ReadonlyMap<string, ReadonlySet<string>>,
  remembered: vscode.Memento,
  log: vscode.LogOutputChannel,
): vscode.Disposable {
  const running = new Map<string, vscode.CancellationTokenSource>();
  return vscode.workspace.onDidSaveTextDocument(async ({ uri }) => {
    const names = costed.get(uri.toString());
    const isAsked = vscode.workspace.getConfiguration('layercost', uri).get<boolean>('export.onSave', false);
    if (names === undefined || !isAsked || !vscode.workspace.isTrusted) return;
    running.get(uri.toString())?.cancel();
    const source = new vscode.CancellationTokenSource();
    running.set(uri.toString(), source);
    for (const name of names) {
      const inputs = remembered.get<string>(inputsKey(uri, name));
      const result = await exportModel(uri, name, inputs, source.token);
      if (result.kind === 'failed') log.warn(`export of ${name}: ${result.message}`);
      if (result.kind === 'cancelled') break;
    }
    source.dispose();
  });
}

function refuse(canRun: boolean): Parameters<typeof tellRefusal>[0] | undefined {
  if (!canRun)
    return {
      message: vscode.l10n.t(
        'A model of Python is built by a process, which a browser cannot start. Open the folder in desktop VS Code, or open a .pt2 or .onnx file that was exported from it.',
      ),
    };
  if (!vscode.workspace.isTrusted)
    return {
      message: vscode.l10n.t('The command runs Python in this folder. Trust the workspace first.'),
      remedy: 'trust',
    };
  return undefined;
}

async function documentOf(uri: unknown): Promise<vscode.TextDocument | undefined> {
  const given = uri instanceof vscode.Uri ? uri : undefined;
  const document =
    given === undefined
      ? vscode.window.activeTextEditor?.document
      : await vscode.workspace.openTextDocument(given);
  return document?.languageId === 'python' ? document : undefined;
}

/** The class or function at the cursor; else one of the file's models. */
async function chooseModel(document: vscode.TextDocument): Promise<string | undefined> {
  const text = document.getText();
  const editor = vscode.window.activeTextEditor;
  const here = editor?.document === document ? definitionAt(text, editor.selection.active.line) : undefined;
  if (here !== undefined) return here;
  const models = modelClasses(text);
  if (models.length === 1) return models[0]?.name;
  if (models.length === 0) {
    vscode.window.showInformationMessage(
      vscode.l10n.t('Place the cursor in the class of a model, or in a function that returns one.'),
    );
    return undefined;
  }
  return vscode.window.showQuickPick(
    models.map(({ name }) => name),
    { title: vscode.l10n.t('Layercost: Cost This Model'), placeHolder: vscode.l10n.t('Model to cost') },
  );
}

/** Where what a person gave a model is remembered. */
const inputsKey = (file: vscode.Uri, name: string): string => `layercost.inputs ${file.toString()} ${name}`;

/** Exports and opens it; again as long as its inputs are changed. */
async function costModel(
  exportModel: ExportModel,
  file: vscode.Uri,
  name: string,
  remembered: vscode.Memento,
  opened: () => void,
  log: vscode.LogOutputChannel,
): Promise<void> {
  const key = inputsKey(file, name);
  let inputs = remembered.get<string>(key);
  for (;;) {
    const result = await exportModel(file, name, inputs);
    if (result.kind === 'cancelled') return;
    if (result.kind === 'done') {
      if (inputs !== undefined) await remembered.update(key, inputs);
      for (const note of result.notes) log.info(`export: ${note}`);
      await vscode.commands.executeCommand('vscode.openWith', vscode.Uri.parse(result.archive), onnxEditor, {
        viewColumn: vscode.ViewColumn.Beside,
        preserveFocus: true,
      });
      opened();
      if (inputs !== undefined) return;
      const chosen = await chooseInputs(name, result);
      if (chosen === undefined) return;
      await remembered.update(key, chosen);
      if (chosen === result.inputs) return;
      inputs = chosen;
      continue;
    }
    if (result.remedy !== 'inputs') {
      await tellRefusal(
        { message: result.message, ...(result.remedy === undefined ? {} : { remedy: result.remedy }) },
        log,
      );
      return;
    }
    const written = await askInputs(name, result.message, inputs);
    if (written === undefined) return;
    inputs = written;
  }
}

/** What nobody gave was chosen by the model's first layer: a person keeps it, or gives others. */
async function chooseInputs(
  name: string,
  { inputs, notes }: Extract<ExportPythonResult, { kind: 'done' }>,
): Promise<string | undefined> {
  const [change, keep] = [vscode.l10n.t('Change Inputs'), vscode.l10n.t('Keep')];
  const said = [vscode.l10n.t('{0} was called with {1}.', name, inputs), ...notes.map((note) => `${note}.`)];
  const answer = await vscode.window.showInformationMessage(said.join(' '), change, keep);
  if (answer === keep) return inputs;
  if (answer !== change) return undefined;
  const prompt = vscode.l10n.t('A name is an open dimension, a number a fixed one.');
  return askInputs(name, prompt, inputs);
}

function askInputs(name: string, message: string, before: string | undefined): Thenable<string | undefined> {
  return vscode.window.showInputBox({
    title: vscode.l10n.t('Layercost: What {0} Is Called With', name),
    prompt: message,
    value: before ?? '',
    placeHolder: 'tokens=int64[batch, 128]; mask=bool[batch, 128]',
    ignoreFocusOut: true,
  });
}

type ExportModel = (
  file: vscode.Uri,
  name: string,
  inputs: string | undefined,
  superseded?: vscode.CancellationToken,
) => Promise<ExportPythonResult>;

function exportWithProgress(
  client: BaseLanguageClient,
  file: vscode.Uri,
  name: string,
  inputs: string | undefined,
  superseded?: vscode.CancellationToken,
): Thenable<ExportPythonResult> {
  const options = {
    location: vscode.ProgressLocation.Notification,
    title: vscode.l10n.t('Building {0}', name),
    cancellable: true,
  };
  return vscode.window.withProgress(options, async (progress, cancelled) => {
    const source = new vscode.CancellationTokenSource();
    const following = [cancelled, superseded].map((token) =>
      token?.onCancellationRequested(() => source.cancel()),
    );
    if (superseded?.isCancellationRequested) source.cancel();
    const { token } = source;
    const uri = client.code2ProtocolConverter.asUri(file);
    const listening = client.onNotification(exportProgress, (event: ExportProgressParams) => {
      if (event.uri === uri) progress.report({ message: event.message });
    });
    const python = await interpreterOf(file);
    const params: ExportPythonParams = {
      uri,
      name,
      ...(python === undefined ? {} : { python }),
      ...(inputs === undefined ? {} : { inputs }),
    };
    try {
      return await client.sendRequest<ExportPythonResult>(exportPython, params, token);
    } catch (error) {
      if (token.isCancellationRequested) return { kind: 'cancelled' };
      return { kind: 'failed', message: error instanceof Error ? error.message : String(error) };
    } finally {
      vscode.Disposable.from(listening, source, ...following.filter((each) => each !== undefined)).dispose();
    }
  });
}
