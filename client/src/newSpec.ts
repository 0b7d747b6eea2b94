/**
 * `Layercost: New Layer Spec`: an empty spec, with the models to start from in a list.
 *
 * The list is of its own, and not the editor's proposals: those were seen to stay at "Loading" when they are asked for
 * while other extensions start (VS Code for the Web 1.91).
 */

import * as vscode from 'vscode';
import { commands, languageIds } from '../../server/src/protocol.ts';

interface Start extends vscode.QuickPickItem {
  readonly snippet: vscode.SnippetString | undefined;
}

export const registerNewSpec = (started: Promise<void>): vscode.Disposable =>
  vscode.commands.registerCommand(commands.newSpec, async () => {
    const document = await vscode.workspace.openTextDocument({ language: languageIds.layerSpec });
    const editor = await vscode.window.showTextDocument(document);
    await started;
    const models = await modelsToStartFrom(document);
    if (models.length === 0) return;
    const picked = await vscode.window.showQuickPick([...models, emptySpec()], {
      title: vscode.l10n.t('New Layer Spec'),
      placeHolder: vscode.l10n.t('The model to start from'),
      matchOnDescription: true,
    });
    if (picked?.snippet !== undefined) await editor.insertSnippet(picked.snippet);
    if (picked === undefined && document.getText() === '') await close(document);
  });

/** A list that was left without a choice leaves nothing behind. */
async function close({ uri }: vscode.TextDocument): Promise<void> {
  const tabs = vscode.window.tabGroups.all.flatMap((group) => group.tabs);
  await vscode.window.tabGroups.close(
    tabs.filter(
      ({ input }) => input instanceof vscode.TabInputText && input.uri.toString() === uri.toString(),
    ),
  );
}

/** What the language server proposes where nothing is written yet. */
async function modelsToStartFrom({ uri }: vscode.TextDocument): Promise<readonly Start[]> {
  const { items } = await vscode.commands.executeCommand<vscode.CompletionList>(
    'vscode.executeCompletionItemProvider',
    uri,
    new vscode.Position(0, 0),
  );
  return items.flatMap(({ kind, label, detail, insertText }) => {
    if (kind !== vscode.CompletionItemKind.Snippet || !(insertText instanceof vscode.SnippetString))
      return [];
    if (!insertText.value.includes('layers:')) return [];
    const named = typeof label === 'string' ? { label } : label;
    return [{ label: named.label, description: named.description ?? detail ?? '', snippet: insertText }];
  });
}

const emptySpec = (): Start => ({
  label: vscode.l10n.t('Empty'),
  description: vscode.l10n.t('nothing but the cursor'),
  snippet: undefined,
});
