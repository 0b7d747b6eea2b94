/**
 * `Layercost: Compare with Git Revision`: the costs of each layer now, beside those of the same file in a revision that VS
 * Code's Git extension has. What is compared is what the editor shows, saved or not.
 */

import * as vscode from 'vscode';
import type { BaseLanguageClient } from 'vscode-languageclient';
import {
  type CompareEarlierParams,
  type CompareEarlierResult,
  commands,
  compareEarlier,
} from '../../server/src/protocol.ts';
import { type Estimates, openModelFirst } from './estimates.ts';
import { toBase64 } from './fileBytes.ts';
import { type GitRepository, repositoryOf } from './gitExtension.ts';
import { isOfModel, modelOf } from './onnxTextFiles.ts';
import { newNonce } from './reportPanel.ts';
import { type ChangedModel, changedModel } from './scenarioSettings.ts';

export function registerCompareRevision(
  client: BaseLanguageClient,
  canStartProcesses: boolean,
  started: Promise<void>,
  estimates: Estimates,
): vscode.Disposable {
  return vscode.commands.registerCommand(commands.compareRevision, async () => {
    const model = changedModel(estimates);
    if (model === undefined) {
      vscode.window.showInformationMessage(openModelFirst());
      return;
    }
    const { document } = model;
    const file = isOfModel(document) ? modelOf(document) : document;
    const repository = await repositoryOf(file, canStartProcesses);
    if ('refusal' in repository) {
      vscode.window.showWarningMessage(repository.refusal);
      return;
    }
    const revision = await pickRevision(repository, file);
    if (revision === undefined) return;
    await started;
    await show(client, model, file, repository, revision);
  });
}

interface Revision {
  /** As git takes it. */
  readonly name: string;
  /** As the page says it. */
  readonly title: string;
}

interface RevisionItem extends vscode.QuickPickItem {
  /** Absent where a name is asked for. */
  readonly revision?: Revision;
}

/** The commits that changed the file, the newest first; or any other by its name. */
async function pickRevision(repository: GitRepository, file: vscode.Uri): Promise<Revision | undefined> {
  const commits = await repository.log({ maxEntries: mostCommits, path: file.fsPath }).catch(() => []);
  const named = {
    label: vscode.l10n.t('Another revision…'),
    description: vscode.l10n.t('a branch, a tag or a commit'),
  };
  const items: readonly RevisionItem[] = [
    ...commits.map(({ hash, message, authorName, authorDate }): RevisionItem => {
      const short = hash.slice(0, 8);
      const [subject = ''] = message.split('\n');
      const detail = [authorDate?.toLocaleDateString(), authorName].filter((part) => part !== undefined);
      return {
        label: subject,
        description: short,
        detail: detail.join(' · '),
        revision: { name: hash, title: short },
      };
    }),
    named,
  ];
  const picked = await vscode.window.showQuickPick(items, {
    title: vscode.l10n.t('Layercost: Compare with Git Revision'),
    placeHolder: vscode.l10n.t('The revision to compare this file with'),
    matchOnDescription: true,
    matchOnDetail: true,
  });
  if (picked === undefined || picked.revision !== undefined) return picked?.revision;
  const name = await vscode.window.showInputBox({
    title: vscode.l10n.t('Layercost: Compare with Git Revision'),
    prompt: vscode.l10n.t('A branch, a tag or a commit, such as main or HEAD~3'),
    value: 'HEAD',
    validateInput: (text) =>
      /^[^-\s]\S*$/.test(text.trim()) ? undefined : vscode.l10n.t('Enter one name without spaces'),
  });
  return name === undefined ? undefined : { name: name.trim(), title: name.trim() };
}

const mostCommits = 50;

async function show(
  client: BaseLanguageClient,
  { document, part }: ChangedModel,
  file: vscode.Uri,
  repository: GitRepository,
  revision: Revision,
): Promise<void> {
  const name = file.path.split('/').pop() ?? '';
  let content: Uint8Array;
  try {
    content = await repository.buffer(revision.name, file.fsPath);
  } catch {
    vscode.window.showWarningMessage(vscode.l10n.t('{0} is not in revision {1}.', name, revision.title));
    return;
  }
  const nonce = newNonce();
  const params: CompareEarlierParams = {
    uri: client.code2ProtocolConverter.asUri(document),
    ...(part === undefined ? {} : { model: part }),
    content: toBase64(content),
    earlier: revision.title,
    nonce,
  };
  const result = await client.sendRequest<CompareEarlierResult>(compareEarlier, params);
  if (result.html === undefined) {
    vscode.window.showWarningMessage(result.refusal);
    return;
  }
  const panel = vscode.window.createWebviewPanel(
    'layercost.comparison',
    vscode.l10n.t('{0}: {1} and now', name, revision.title),
    { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true },
    { enableScripts: false, localResourceRoots: [], enableFindWidget: true },
  );
  panel.webview.html = result.html;
}
