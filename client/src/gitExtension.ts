/** What of VS Code's Git extension is used. Source: microsoft/vscode, extensions/git/src/api/git.d.ts. */

import * as vscode from 'vscode';

export interface GitRepository {
  log(options: { readonly maxEntries: number; readonly path: string }): Promise<readonly GitCommit[]>;
  /** The bytes of a file in a revision; rejected where it is not there. */
  buffer(revision: string, path: string): Promise<Uint8Array>;
}

interface GitCommit {
  readonly hash: string;
  readonly message: string;
  readonly authorName?: string;
  readonly authorDate?: Date;
}

interface GitExtension {
  readonly enabled: boolean;
  getAPI(version: 1): { getRepository(uri: vscode.Uri): GitRepository | null };
}

/** The repository that a file lies in, or why there is none and what to do. */
export async function repositoryOf(
  file: vscode.Uri,
  canStartProcesses: boolean,
): Promise<GitRepository | { readonly refusal: string }> {
  if (!canStartProcesses)
    return {
      refusal: vscode.l10n.t('Git does not run in a browser: use desktop VS Code.'),
    };
  const extension = vscode.extensions.getExtension<GitExtension>('vscode.git');
  const git = extension === undefined ? undefined : await extension.activate();
  if (git?.enabled !== true)
    return {
      refusal: vscode.l10n.t(
        "Revisions are read by VS Code's Git extension, which is off. Switch on the setting git.enabled.",
      ),
    };
  const repository = git.getAPI(1).getRepository(file);
  if (repository !== null) return repository;
  return {
    refusal: vscode.l10n.t(
      '{0} lies in no Git repository that is open. Open the folder of the repository.',
      file.path.split('/').pop() ?? '',
    ),
  };
}
