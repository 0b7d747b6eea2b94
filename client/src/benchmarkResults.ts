/** `Layercost: Benchmark Results…`: the kept results of the workspace, to open, compare and remove. */

import * as vscode from 'vscode';
import type { BaseLanguageClient } from 'vscode-languageclient';
import {
  type CompareResultsResult,
  commands,
  compareResults,
  type ListedResult,
  type ListResultsResult,
  listResults,
  removeResult,
} from '../../server/src/protocol.ts';
import { activeModel, type Estimates, modelAtCursor, openModelFirst } from './estimates.ts';

export function registerBenchmarkResults(
  client: BaseLanguageClient,
  started: Promise<void>,
  estimates: Estimates,
): vscode.Disposable {
  return vscode.commands.registerCommand(commands.benchmarkResults, async () => {
    await started;
    const document = activeModel();
    if (document === undefined) {
      vscode.window.showInformationMessage(openModelFirst());
      return;
    }
    const uri = client.code2ProtocolConverter.asUri(document.uri);
    const model = modelAtCursor(estimates);
    const { results } = await client.sendRequest<ListResultsResult>(listResults, {
      uri,
      ...(model === undefined ? {} : { model }),
    });
    if (results.length === 0) {
      vscode.window.showInformationMessage(
        vscode.l10n.t(
          'No benchmark results are kept in this workspace. Layercost: Benchmark on GPU measures a model.',
        ),
      );
      return;
    }
    const picked = await pick(results, vscode.l10n.t('Layercost: Benchmark Results'));
    if (picked !== undefined) await act(client, uri, picked, results);
  });
}

async function pick(results: readonly ListedResult[], title: string): Promise<ListedResult | undefined> {
  const items = results.map((result) => ({
    label: result.title,
    description:
      result.stale === undefined ? vscode.l10n.t('current') : vscode.l10n.t('stale: {0}', result.stale),
    detail: result.measuredWith,
    result,
  }));
  return (await vscode.window.showQuickPick(items, { title, matchOnDescription: true, matchOnDetail: true }))
    ?.result;
}

async function act(
  client: BaseLanguageClient,
  uri: string,
  chosen: ListedResult,
  results: readonly ListedResult[],
): Promise<void> {
  const others = results.filter(({ id }) => id !== chosen.id);
  const open = { label: vscode.l10n.t('Open File') };
  const compare = { label: vscode.l10n.t('Compare with…') };
  const remove = { label: vscode.l10n.t('Remove') };
  const action = await vscode.window.showQuickPick([open, ...(others.length > 0 ? [compare] : []), remove], {
    title: chosen.title,
  });
  if (action === open) await vscode.window.showTextDocument(client.protocol2CodeConverter.asUri(chosen.file));
  if (action === remove) await client.sendRequest(removeResult, { uri, id: chosen.id });
  if (action !== compare) return;
  const second = await pick(others, vscode.l10n.t('Compare with'));
  if (second === undefined) return;
  const { text } = await client.sendRequest<CompareResultsResult>(compareResults, {
    uri,
    first: chosen.id,
    second: second.id,
  });
  if (text === undefined) return;
  await vscode.window.showTextDocument(await vscode.workspace.openTextDocument({ content: text }));
}
