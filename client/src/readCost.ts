/**
 * `Layercost: Read Cost of Line`: what hints, lenses and findings show at the cursor, as a message. Screen readers read
 * messages aloud, and not what editors paint between the words of a text.
 */

import * as vscode from 'vscode';
import { commands } from '../../server/src/protocol.ts';
import { activeModelEditor, openModelFirst } from './estimates.ts';

export const registerReadCost = (started: Promise<void>): vscode.Disposable =>
  vscode.commands.registerCommand(commands.readCost, async () => {
    await started;
    const editor = await activeModelEditor();
    if (editor === undefined) {
      vscode.window.showInformationMessage(openModelFirst());
      return;
    }
    const { document, selection } = editor;
    const { range } = document.lineAt(selection.active.line);
    const said = [
      ...(await hintsOf(document.uri, range)),
      ...(await lensesOf(document.uri, range)),
      ...findingsOf(document.uri, range),
    ];
    const line = String(range.start.line + 1);
    vscode.window.showInformationMessage(
      said.length === 0
        ? vscode.l10n.t('Line {0} has no cost.', line)
        : vscode.l10n.t('Line {0}: {1}', line, said.join('. ')),
    );
  });

async function hintsOf(uri: vscode.Uri, range: vscode.Range): Promise<readonly string[]> {
  const hints = await vscode.commands.executeCommand<readonly vscode.InlayHint[]>(
    'vscode.executeInlayHintProvider',
    uri,
    range,
  );
  return hints
    .filter(({ position }) => range.contains(position))
    .map(({ label }) =>
      (typeof label === 'string' ? label : label.map(({ value }) => value).join('')).trim(),
    );
}

/** Of the line, and those above all lines where the cursor is in the first. */
async function lensesOf(uri: vscode.Uri, range: vscode.Range): Promise<readonly string[]> {
  const lenses = await vscode.commands.executeCommand<readonly vscode.CodeLens[]>(
    'vscode.executeCodeLensProvider',
    uri,
    mostLenses,
  );
  return lenses
    .filter((lens) => lens.range.start.line === range.start.line)
    .flatMap(({ command }) => (command?.title ? [command.title.replace(/\$\([^)]*\)\s*/g, '')] : []));
}

const mostLenses = 200;

const findingsOf = (uri: vscode.Uri, range: vscode.Range): readonly string[] =>
  vscode.languages
    .getDiagnostics(uri)
    .filter(({ source, range: own }) => source === 'layercost' && own.start.line === range.start.line)
    .map(({ message }) => message);
