/**
 * Writes what a person chooses of a scenario: into the text of a layer spec that has a scenario of its own, else into
 * the settings, at the scope that the person picks.
 */

import * as vscode from 'vscode';
import type { BaseLanguageClient } from 'vscode-languageclient';
import {
  placeScenarioChange,
  type ScenarioChange,
  type ScenarioChangeParams,
  type ScenarioChangePlace,
} from '../../server/src/protocol.ts';
import { activeModel, type Estimates, modelAtCursor } from './estimates.ts';

/** A model whose scenario is changed: its document, and which one of those that the document holds. */
export interface ChangedModel {
  readonly document: vscode.Uri;
  readonly part: string | undefined;
}

/** `model`: in `layercost.models`, for this file alone. */
type Scope = 'model' | 'workspace' | 'user';

/** The model that a command is about: the one it was called for, else the one at the cursor. */
export function changedModel(estimates: Estimates, uri?: unknown, part?: unknown): ChangedModel | undefined {
  if (typeof uri === 'string')
    return { document: vscode.Uri.parse(uri), part: typeof part === 'string' ? part : undefined };
  const document = activeModel()?.uri;
  return document && { document, part: modelAtCursor(estimates) };
}

/** `scope` is asked for where none is given and the settings are where the change goes. */
export async function applyScenarioChange(
  client: BaseLanguageClient,
  model: ChangedModel | undefined,
  change: ScenarioChange,
  scope?: Scope,
): Promise<void> {
  const place = model && (await placeOf(client, model, change));
  if (model !== undefined && place?.kind === 'text') {
    const edit = new vscode.WorkspaceEdit();
    for (const { range, newText } of place.edits)
      edit.replace(model.document, client.protocol2CodeConverter.asRange(range), newText);
    await vscode.workspace.applyEdit(edit);
    return;
  }
  const file = place?.kind === 'settings' ? vscode.Uri.parse(place.file) : undefined;
  const chosen = scope ?? (await pickScope(file, Object.keys(change)));
  if (chosen === undefined) return;
  if (chosen === 'model') {
    if (file !== undefined) await writeForModel(file, change);
    return;
  }
  const target =
    chosen === 'workspace' ? vscode.ConfigurationTarget.Workspace : vscode.ConfigurationTarget.Global;
  const configuration = vscode.workspace.getConfiguration('layercost');
  for (const [key, value] of Object.entries(change))
    await configuration.update(key, value ?? undefined, target);
  // What was set for the model alone would hide the choice.
  const taken = Object.fromEntries(Object.keys(change).map((key) => [key, null]));
  if (file !== undefined && entryOf(file) !== undefined) await writeForModel(file, taken);
}

function placeOf(
  client: BaseLanguageClient,
  { document, part }: ChangedModel,
  change: ScenarioChange,
): Promise<ScenarioChangePlace | null> {
  const params: ScenarioChangeParams = {
    uri: client.code2ProtocolConverter.asUri(document),
    ...(part === undefined ? {} : { model: part }),
    change,
  };
  return client.sendRequest<ScenarioChangePlace | null>(placeScenarioChange, params);
}

interface ScopeItem extends vscode.QuickPickItem {
  readonly scope: Scope;
}

/** The scope that holds one of the keys now comes first. */
async function pickScope(file: vscode.Uri | undefined, keys: readonly string[]): Promise<Scope | undefined> {
  const configuration = vscode.workspace.getConfiguration('layercost', file);
  const entry = file === undefined ? undefined : entryOf(file);
  const inspected = keys.map((key) => configuration.inspect(key));
  const holds: Readonly<Record<Scope, boolean>> = {
    model: keys.some((key) => entry?.[key] !== undefined),
    workspace: inspected.some((each) => each?.workspaceValue !== undefined),
    user: inspected.some((each) => each?.globalValue !== undefined),
  };
  const name = file?.path.split('/').pop() ?? '';
  const all: readonly ScopeItem[] = [
    { scope: 'model', label: vscode.l10n.t('This model'), description: name },
    {
      scope: 'workspace',
      label: vscode.l10n.t('This workspace'),
      description: vscode.l10n.t('all its models without a scenario of their own'),
    },
    {
      scope: 'user',
      label: vscode.l10n.t('All workspaces'),
      description: vscode.l10n.t('your user settings'),
    },
  ];
  const hasFolder = (vscode.workspace.workspaceFolders?.length ?? 0) > 0;
  const offered = all
    .filter(
      ({ scope }) =>
        (scope !== 'model' || (file !== undefined && file.scheme !== 'untitled')) &&
        (scope !== 'workspace' || hasFolder),
    )
    .map((item) =>
      holds[item.scope]
        ? { ...item, description: `${item.description} (${vscode.l10n.t('set here now')})` }
        : item,
    );
  const first = offered.find(({ scope }) => holds[scope]);
  const items = first === undefined ? offered : [first, ...offered.filter((item) => item !== first)];
  const picked = await vscode.window.showQuickPick(items, {
    title: vscode.l10n.t('Layercost: Keep For'),
    placeHolder: vscode.l10n.t('Which models the choice is for'),
  });
  return picked?.scope;
}

type ModelEntries = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/** Settings of single models stand in the workspace; of a file outside of every folder, in the user's. */
function modelsOf(file: vscode.Uri): {
  readonly key: string;
  readonly target: vscode.ConfigurationTarget;
  readonly entries: ModelEntries;
} {
  const folder = vscode.workspace.getWorkspaceFolder(file);
  const inspected = vscode.workspace.getConfiguration('layercost').inspect<ModelEntries>('models');
  return folder === undefined
    ? { key: file.path, target: vscode.ConfigurationTarget.Global, entries: inspected?.globalValue ?? {} }
    : {
        key: vscode.workspace.asRelativePath(file, false),
        target: vscode.ConfigurationTarget.Workspace,
        entries: inspected?.workspaceValue ?? {},
      };
}

function entryOf(file: vscode.Uri): Readonly<Record<string, unknown>> | undefined {
  const { key, entries } = modelsOf(file);
  return entries[key];
}

async function writeForModel(file: vscode.Uri, change: ScenarioChange): Promise<void> {
  const { key, target, entries } = modelsOf(file);
  const before = entries[key] ?? {};
  const known = typeof before.dimensions === 'object' ? before.dimensions : {};
  const { dimensions } = change;
  const merged = {
    ...before,
    ...change,
    ...(dimensions === undefined ? {} : { dimensions: { ...known, ...dimensions } }),
  };
  const entry = Object.fromEntries(Object.entries(merged).filter(([, value]) => value !== null));
  const { [key]: _, ...others } = entries;
  const all = Object.keys(entry).length === 0 ? others : { ...others, [key]: entry };
  await vscode.workspace
    .getConfiguration('layercost')
    .update('models', Object.keys(all).length === 0 ? undefined : all, target);
}
