/**
 * The view `Costs by Module` of the Explorer: the modules of the model in front as a tree, the most expensive first, by what
 * the marks in the gutter show. A click goes to the line.
 */

import * as vscode from 'vscode';
import type { BaseLanguageClient } from 'vscode-languageclient';
import { listModules, type ModuleCost, type ModulesParams } from '../../server/src/protocol.ts';
import { activeModel, type Estimates, modelAtCursor } from './estimates.ts';
import { goToLine } from './goToLine.ts';
import { heatMeasure } from './heatMarks.ts';

/** A module, and where it is looked for. */
interface Entry {
  readonly module: ModuleCost;
  readonly model: vscode.Uri;
  /** Whether nothing stands beside it: then it is open. */
  readonly isAlone: boolean;
}

const view = 'layercost.costs';

/** Of a click in the tree; no palette has it. */
const goToModule = 'layercost.goToModule';

export function registerCostTree(
  client: BaseLanguageClient,
  started: Promise<void>,
  estimates: Estimates,
): vscode.Disposable {
  const changed = new vscode.EventEmitter<undefined>();
  /** The model that was last in front: the tree stays while a page or another file is. */
  let shown: { readonly model: vscode.Uri; readonly part: string | undefined } | undefined;
  const tree = vscode.window.createTreeView<Entry>(view, {
    showCollapseAll: true,
    treeDataProvider: {
      onDidChangeTreeData: changed.event,
      getTreeItem: itemOf,
      getChildren: async (entry) => {
        if (entry !== undefined) return entriesOf(entry.module, entry.model);
        if (shown === undefined) return [];
        const { model, part } = shown;
        await started;
        const measure = heatMeasure(model);
        const params: ModulesParams = {
          uri: client.code2ProtocolConverter.asUri(model),
          measure,
          ...(part === undefined ? {} : { model: part }),
        };
        const root = await client.sendRequest<ModuleCost | null>(listModules, params);
        tree.description = [measureNames()[measure], ...(root === null ? [] : [root.cost])].join(' ');
        tree.message =
          root === null
            ? vscode.l10n.t('The model cannot be costed')
            : root.children.length === 0
              ? vscode.l10n.t('No module has a cost of this kind.')
              : '';
        return root === null ? [] : entriesOf(root, model);
      },
    },
  });
  const look = (): void => {
    const model = activeModel()?.uri;
    if (model === undefined) return;
    const part = modelAtCursor(estimates);
    if (shown?.model.toString() === model.toString() && shown.part === part) return;
    if (shown === undefined) vscode.commands.executeCommand('setContext', 'layercost.hasModel', true);
    shown = { model, part };
    changed.fire(undefined);
  };
  look();
  return vscode.Disposable.from(
    changed,
    tree,
    vscode.window.onDidChangeActiveTextEditor(look),
    vscode.window.onDidChangeTextEditorSelection(look),
    estimates.onChange((uri) => {
      if (uri?.toString() === shown?.model.toString()) changed.fire(undefined);
    }),
    vscode.workspace.onDidChangeConfiguration((change) => {
      if (change.affectsConfiguration('layercost.heat')) changed.fire(undefined);
    }),
    vscode.commands.registerCommand(goToModule, ({ model, module }: Entry) =>
      module.line === undefined ? undefined : goToLine(model, module.line),
    ),
  );
}

const entriesOf = ({ children }: ModuleCost, model: vscode.Uri): Entry[] =>
  children.map((module) => ({ module, model, isAlone: children.length === 1 }));

function itemOf(entry: Entry): vscode.TreeItem {
  const { name, cost, share, children, line } = entry.module;
  const item = new vscode.TreeItem(
    name,
    children.length === 0
      ? vscode.TreeItemCollapsibleState.None
      : entry.isAlone
        ? vscode.TreeItemCollapsibleState.Expanded
        : vscode.TreeItemCollapsibleState.Collapsed,
  );
  item.description = share === '' ? cost : `${cost} · ${share}`;
  item.tooltip = `${name}\n${item.description}`;
  item.accessibilityInformation = { label: `${name}, ${cost}, ${share}` };
  if (line !== undefined)
    item.command = { command: goToModule, title: vscode.l10n.t('Go to Line'), arguments: [entry] };
  return item;
}

const measureNames = (): Readonly<Record<ModulesParams['measure'], string>> => ({
  time: vscode.l10n.t('Time'),
  memory: vscode.l10n.t('Memory'),
  exposed: vscode.l10n.t('Exposed communication'),
});
