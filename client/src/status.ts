/** The scenario in the status bar, and how complete the numbers are in the language status. */

import * as vscode from 'vscode';
import type { BaseLanguageClient } from 'vscode-languageclient';
import { commands, languageIds, type ModelSummary, type ScenarioSummary } from '../../server/src/protocol.ts';
import type { Estimates } from './estimates.ts';

export function registerStatus(_client: BaseLanguageClient, estimates: Estimates): vscode.Disposable {
  const item = vscode.window.createStatusBarItem('layercost.scenario', vscode.StatusBarAlignment.Right, 100);
  item.name = vscode.l10n.t('Layercost Scenario');
  item.command = commands.chooseCluster;
  item.tooltip = vscode.l10n.t('Cluster, GPUs, batch per GPU and precision that costs are shown for');
  const limit = vscode.window.createStatusBarItem('layercost.limit', vscode.StatusBarAlignment.Right, 99);
  limit.name = vscode.l10n.t('Layercost Limit');
  limit.command = commands.showReport;
  limit.tooltip = vscode.l10n.t('What limits the training step. The report shows it.');
  const status = vscode.languages.createLanguageStatusItem('layercost.status', [
    { language: languageIds.layerSpec },
    { language: languageIds.onnxText },
    { language: languageIds.caffePrototxt },
  ]);
  status.name = 'Layercost';
  status.command = { command: commands.showLog, title: vscode.l10n.t('Show Log') };

  const update = (): void => {
    const estimate = estimates.active();
    if (estimate === undefined) {
      item.hide();
    } else {
      item.text = scenarioText(estimate);
      item.show();
    }
    const limited = estimate?.summary?.limit;
    if (limited === undefined) {
      limit.hide();
    } else {
      const isTooLarge = limited.kind === 'memory';
      limit.text = `${isTooLarge ? '$(warning) ' : ''}${limitText(limited)}`;
      limit.backgroundColor = isTooLarge
        ? new vscode.ThemeColor('statusBarItem.warningBackground')
        : undefined;
      limit.show();
    }
    const { severity, text } = stateOf(estimate, estimates.problem);
    status.severity = severity;
    status.text = text;
    status.detail = estimates.problem ?? estimate?.detail ?? '';
  };
  update();
  return vscode.Disposable.from(
    item,
    limit,
    status,
    vscode.window.onDidChangeActiveTextEditor(update),
    vscode.window.onDidChangeTextEditorSelection(update),
    estimates.onChange(update),
  );
}

/** `DGX A100 · 8 GPUs · batch 32 · bf16`, and behind the GPUs how they share the model: `tp4 · pp2 · dp1`. */
function scenarioText({ summary }: ModelSummary): string {
  if (summary === undefined) return vscode.l10n.t('Layercost: no cost');
  return [
    shortTitle(summary.clusterTitle),
    summary.devices,
    ...(summary.layout === undefined ? [] : [summary.layout]),
    `batch ${summary.batch}`,
    summary.precision,
  ].join(' · ');
}

/** `communication 12 %`, `does not fit` */
function limitText({ kind, share }: NonNullable<ScenarioSummary['limit']>): string {
  const percent = `${Math.round(share * 100)}\u00a0%`;
  switch (kind) {
    case 'memory':
      return vscode.l10n.t('does not fit');
    case 'compute':
      return vscode.l10n.t('compute {0}', percent);
    case 'communication':
      return vscode.l10n.t('communication {0}', percent);
    case 'latency':
      return vscode.l10n.t('message start-up {0}', percent);
    case 'host':
      return vscode.l10n.t('host launches {0}', percent);
    case 'input':
      return vscode.l10n.t('input {0}', percent);
    case 'server':
      return vscode.l10n.t('parameter servers {0}', percent);
    case 'imbalance':
      return vscode.l10n.t('slowest worker {0}', percent);
    case 'pipeline':
      return vscode.l10n.t('pipeline bubble {0}', percent);
  }
}

/** `DGX H100 (8 × H100 80 GB)` says in brackets what the tooltip and the picker say too. */
const shortTitle = (title: string): string => title.replace(/ \([^()]*\)/, '');

function stateOf(
  estimate: ModelSummary | undefined,
  problem: string | undefined,
): { severity: vscode.LanguageStatusSeverity; text: string } {
  const severities = vscode.LanguageStatusSeverity;
  if (problem !== undefined)
    return { severity: severities.Error, text: vscode.l10n.t('Layercost reported a problem') };
  switch (estimate?.state) {
    case 'exact':
      return { severity: severities.Information, text: vscode.l10n.t('Costs are complete') };
    case 'at-least':
      return { severity: severities.Warning, text: vscode.l10n.t('Costs are lower bounds') };
    case 'no-cost':
      return { severity: severities.Error, text: vscode.l10n.t('The model cannot be costed') };
    case undefined:
      return { severity: severities.Information, text: vscode.l10n.t('No model is costed yet') };
  }
}
