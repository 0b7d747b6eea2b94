/** Choosing the framework whose schedule is costed. */

import * as vscode from 'vscode';
import type { BaseLanguageClient } from 'vscode-languageclient';
import { commands, type FrameworkChoiceItem, listFrameworks } from '../../server/src/protocol.ts';
import type { Estimates } from './estimates.ts';
import { applyScenarioChange, changedModel } from './scenarioSettings.ts';

export function registerFrameworkPicker(
  client: BaseLanguageClient,
  started: Promise<void>,
  estimates: Estimates,
): vscode.Disposable {
  return vscode.commands.registerCommand(commands.chooseFramework, async () => {
    await started;
    const choices = await client.sendRequest<readonly FrameworkChoiceItem[]>(listFrameworks);
    const summary = estimates.active()?.summary;
    const model = changedModel(estimates);
    const picked = await vscode.window.showQuickPick(
      choices.map(({ name, documentation, overlaps }) => ({
        label: name,
        description: `${documentation}${name === summary?.framework ? ` (${vscode.l10n.t('current')})` : ''}`,
        detail: overlaps,
      })),
      {
        title: vscode.l10n.t('Layercost: Choose Framework'),
        placeHolder: vscode.l10n.t(
          'Training framework. In the setting, options follow a comma: mxnet,kvstore=device',
        ),
        matchOnDescription: true,
        matchOnDetail: true,
      },
    );
    if (picked === undefined) return;
    await applyScenarioChange(client, model, { framework: picked.label });
  });
}
