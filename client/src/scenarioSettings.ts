/** Settings of the scenario as pickers write them. */

import * as vscode from 'vscode';
import type { ScenarioSummary } from '../../server/src/protocol.ts';

/** Into the workspace where there is one, otherwise for the person. */
export async function writeSetting(key: string, value: string | number | undefined): Promise<void> {
  const target = vscode.workspace.workspaceFolders?.length
    ? vscode.ConfigurationTarget.Workspace
    : vscode.ConfigurationTarget.Global;
  const configuration = vscode.workspace.getConfiguration('layercost');
  if (
    value === undefined &&
    configuration.inspect(key)?.workspaceValue === undefined &&
    target === vscode.ConfigurationTarget.Workspace
  )
    return;
  await configuration.update(key, value, target);
}

/** A layer spec may set the same thing itself, and then wins; silence would look like a failure. */
export function tellWhereFixed(key: string, summary: ScenarioSummary | undefined): void {
  if (!summary?.fixedByModel.includes(key)) return;
  vscode.window.showInformationMessage(
    vscode.l10n.t(
      'The layer spec’s scenario sets {0}, which overrides the setting. Change it in the layer spec.',
      key,
    ),
  );
}
