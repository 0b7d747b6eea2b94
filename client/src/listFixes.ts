/**
 * `Layercost: List Quick Fixes…`: what helps with all findings of a model. An editor offers no quick fixes in a text that
 * is read-only, as that of a binary model is; those fixes change settings.
 */

import * as vscode from 'vscode';
import { commands } from '../../server/src/protocol.ts';
import { activeModel } from './estimates.ts';

export function registerListFixes(started: Promise<void>): vscode.Disposable {
  return vscode.commands.registerCommand(commands.listFixes, async () => {
    await started;
    const document = activeModel();
    if (document === undefined) {
      vscode.window.showInformationMessage(
        vscode.l10n.t('Open a model first; the command is about the active editor.'),
      );
      return;
    }
    const fixes = await fixesOf(document);
    if (fixes.length === 0) {
      vscode.window.showInformationMessage(vscode.l10n.t('No finding of this model has a quick fix.'));
      return;
    }
    const picked = await vscode.window.showQuickPick(
      fixes.map((fix) => ({ label: fix.title, fix })),
      { title: vscode.l10n.t('Layercost: Quick Fixes') },
    );
    if (picked !== undefined) await apply(picked.fix);
  });
}

/** Several findings may advise the same. */
async function fixesOf(document: vscode.TextDocument): Promise<readonly vscode.CodeAction[]> {
  const whole = new vscode.Range(0, 0, document.lineCount, 0);
  const actions = await vscode.commands.executeCommand<readonly vscode.CodeAction[]>(
    'vscode.executeCodeActionProvider',
    document.uri,
    whole,
    vscode.CodeActionKind.QuickFix.value,
  );
  return [...new Map(actions.map((action) => [action.title, action])).values()];
}

async function apply({ edit, command }: vscode.CodeAction): Promise<void> {
  if (edit !== undefined) await vscode.workspace.applyEdit(edit);
  if (command !== undefined)
    await vscode.commands.executeCommand(command.command, ...(command.arguments ?? []));
}
