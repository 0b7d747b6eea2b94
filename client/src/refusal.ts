/** Why a program of a person's Python did not run, with a button for each thing that helps. */

import * as vscode from 'vscode';
import type { BenchmarkRemedy } from '../../server/src/protocol.ts';
import { pythonExtension } from './pythonInterpreter.ts';

/** Why nothing ran, and what would help. */
export interface Refusal {
  readonly message: string;
  readonly remedy?: BenchmarkRemedy;
}

/** The message with a button for each thing that helps. */
export async function tellRefusal({ message, remedy }: Refusal, log: vscode.LogOutputChannel): Promise<void> {
  const actions = new Map<string, () => unknown>();
  const run =
    (command: string, ...given: readonly unknown[]) =>
    () =>
      vscode.commands.executeCommand(command, ...given);
  if (remedy === 'python') {
    if (vscode.extensions.getExtension(pythonExtension) !== undefined)
      actions.set(vscode.l10n.t('Select Interpreter'), run('python.setInterpreter'));
    actions.set(
      vscode.l10n.t('Open Settings'),
      run('workbench.action.openSettings', 'layercost.benchmark.python'),
    );
  }
  if (remedy === 'trust') actions.set(vscode.l10n.t('Manage Workspace Trust'), run('workbench.trust.manage'));
  else actions.set(vscode.l10n.t('Show Log'), () => log.show());
  const picked = await vscode.window.showWarningMessage(message, ...actions.keys());
  if (picked !== undefined) await actions.get(picked)?.();
}
