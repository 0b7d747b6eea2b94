/**
 * `Layercost: List Quick Fixes…`: what helps with all findings of a model. An editor offers no quick fixes in a text that
 * is read-only, as that of a binary model is; those fixes change settings.
 */

import * as vscode from 'vscode';
import { type BaseLanguageClient, CodeActionRequest } from 'vscode-languageclient';
import { commands } from '../../server/src/protocol.ts';
import { activeModel, openModelFirst } from './estimates.ts';

export function registerListFixes(client: BaseLanguageClient, started: Promise<void>): vscode.Disposable {
  return vscode.commands.registerCommand(commands.listFixes, async () => {
    await started;
    const document = activeModel();
    if (document === undefined) {
      vscode.window.showInformationMessage(openModelFirst());
      return;
    }
    const found = fixesOf(client, document);
    // The list is open before the server has answered; one that would stay empty is closed again.
    const nothing = new vscode.CancellationTokenSource();
    const items = found.then((fixes) => {
      if (fixes.length === 0) nothing.cancel();
      return fixes.map((fix) => ({ label: fix.title, fix }));
    });
    const picked = await vscode.window.showQuickPick(
      items,
      { title: vscode.l10n.t('Layercost: Quick Fixes') },
      nothing.token,
    );
    if ((await found).length === 0)
      vscode.window.showInformationMessage(vscode.l10n.t('No finding of this model has a quick fix.'));
    if (picked !== undefined) await apply(picked.fix);
  });
}

/**
 * Several findings may advise the same. The server is asked itself: the editor's own command fails with "Canceled" where
 * it learns of other diagnostics meanwhile.
 */
async function fixesOf(
  client: BaseLanguageClient,
  document: vscode.TextDocument,
): Promise<readonly vscode.CodeAction[]> {
  const whole = new vscode.Range(0, 0, document.lineCount, 0);
  const answer = await client.sendRequest(CodeActionRequest.type, {
    textDocument: client.code2ProtocolConverter.asTextDocumentIdentifier(document),
    range: client.code2ProtocolConverter.asRange(whole),
    context: { diagnostics: [], only: [vscode.CodeActionKind.QuickFix.value] },
  });
  const actions = await client.protocol2CodeConverter.asCodeActionResult(answer ?? []);
  const fixes = actions.filter((action) => action instanceof vscode.CodeAction);
  return [...new Map(fixes.map((fix) => [fix.title, fix])).values()];
}

async function apply({ edit, command }: vscode.CodeAction): Promise<void> {
  if (edit !== undefined) await vscode.workspace.applyEdit(edit);
  if (command !== undefined)
    await vscode.commands.executeCommand(command.command, ...(command.arguments ?? []));
}
