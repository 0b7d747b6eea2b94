/** Choosing what costs are shown for: the cluster, and beside it GPUs, batch and precision. */

import * as vscode from 'vscode';
import type { BaseLanguageClient } from 'vscode-languageclient';
import {
  type ClusterChoice,
  commands,
  listClusters,
  type ScenarioSummary,
} from '../../server/src/protocol.ts';
import type { Estimates } from './estimates.ts';
import { tellWhereFixed, writeSetting } from './scenarioSettings.ts';

export function registerClusterPicker(
  client: BaseLanguageClient,
  started: Promise<void>,
  estimates: Estimates,
): vscode.Disposable {
  const summary = (): ScenarioSummary | undefined => estimates.active()?.summary;
  return vscode.Disposable.from(
    vscode.commands.registerCommand(commands.chooseCluster, async () => {
      await started;
      const choices = await client.sendRequest<readonly ClusterChoice[]>(listClusters);
      await chooseCluster(choices, summary());
    }),
    vscode.commands.registerCommand(commands.chooseGpus, () => chooseCount('gpus', summary())),
    vscode.commands.registerCommand(commands.chooseBatch, () => chooseCount('batch', summary())),
    vscode.commands.registerCommand(commands.choosePrecision, () => choosePrecision(summary())),
  );
}

interface Choice extends vscode.QuickPickItem {
  readonly cluster?: ClusterChoice;
  readonly command?: string;
}

async function chooseCluster(
  choices: readonly ClusterChoice[],
  summary: ScenarioSummary | undefined,
): Promise<void> {
  const item = (cluster: ClusterChoice): Choice => ({
    label: cluster.title,
    description:
      cluster.name === summary?.cluster ? `${cluster.name} (${vscode.l10n.t('current')})` : cluster.name,
    detail:
      cluster.kind === 'gpu'
        ? ''
        : `${cluster.gpusPerNode} × ${cluster.gpu} per node${cluster.links === '' ? '' : `, ${cluster.links}`}`,
    cluster,
  });
  const separator = (label: string): Choice => ({ label, kind: vscode.QuickPickItemKind.Separator });
  const picked = await vscode.window.showQuickPick<Choice>(
    [
      separator(vscode.l10n.t('Clusters')),
      ...choices.filter(({ kind }) => kind === 'cluster').map(item),
      separator(vscode.l10n.t('Scenario')),
      {
        label: vscode.l10n.t('GPUs…'),
        description: summary === undefined ? '' : String(summary.gpus),
        command: commands.chooseGpus,
      },
      {
        label: vscode.l10n.t('Batch per GPU…'),
        description: summary === undefined ? '' : String(summary.batch),
        command: commands.chooseBatch,
      },
      {
        label: vscode.l10n.t('Precision…'),
        description: summary?.precision ?? '',
        command: commands.choosePrecision,
      },
      {
        label: vscode.l10n.t('Framework…'),
        description: summary?.framework ?? '',
        command: commands.chooseFramework,
      },
      separator(vscode.l10n.t('Single GPUs')),
      ...choices.filter(({ kind }) => kind === 'gpu').map(item),
    ],
    {
      title: vscode.l10n.t('Layercost: Choose Cluster'),
      placeHolder: vscode.l10n.t('Cluster to show costs for'),
      matchOnDescription: true,
      matchOnDetail: true,
    },
  );
  if (picked?.command !== undefined) await vscode.commands.executeCommand(picked.command);
  if (picked?.cluster === undefined) return;
  // Counts that belonged to another cluster would not fit a single GPU.
  if (picked.cluster.kind === 'gpu') {
    await writeSetting('gpus', undefined);
    await writeSetting('nodes', undefined);
  }
  await writeSetting('cluster', picked.cluster.name);
  tellWhereFixed('cluster', summary);
}

async function chooseCount(key: 'gpus' | 'batch', summary: ScenarioSummary | undefined): Promise<void> {
  const current = key === 'gpus' ? summary?.gpus : summary?.batch;
  const answer = await vscode.window.showInputBox({
    title: key === 'gpus' ? vscode.l10n.t('Layercost: GPUs') : vscode.l10n.t('Layercost: Batch per GPU'),
    prompt:
      key === 'gpus'
        ? vscode.l10n.t(
            'Total number of GPUs; a node has {0}. Empty: one whole node.',
            summary?.gpusPerNode ?? '?',
          )
        : vscode.l10n.t("Samples per GPU in one pass. Empty: the model's own batch."),
    value: current === undefined ? '' : String(current),
    validateInput: (text) =>
      text.trim() === '' || /^[1-9]\d{0,8}$/.test(text.trim())
        ? undefined
        : vscode.l10n.t('Enter a whole number of at least 1, or nothing'),
  });
  if (answer === undefined) return;
  await writeSetting(key, answer.trim() === '' ? undefined : Number(answer.trim()));
  tellWhereFixed(key, summary);
}

async function choosePrecision(summary: ScenarioSummary | undefined): Promise<void> {
  const details: Readonly<Record<string, string>> = {
    fp32: vscode.l10n.t('32-bit floats throughout'),
    tf32: vscode.l10n.t('32-bit floats, matrix multiplications in TF32 on tensor cores'),
    fp16: vscode.l10n.t('Mixed precision with 16-bit floats, master weights in fp32'),
    bf16: vscode.l10n.t('Mixed precision with bfloat16, master weights in fp32'),
    fp8: vscode.l10n.t('Matrix multiplications in 8-bit floats'),
  };
  const picked = await vscode.window.showQuickPick(
    Object.entries(details).map(([label, detail]) => ({
      label,
      detail,
      ...(label === summary?.precision ? { description: vscode.l10n.t('current') } : {}),
    })),
    { title: vscode.l10n.t('Layercost: Precision') },
  );
  if (picked === undefined) return;
  await writeSetting('precision', picked.label);
  tellWhereFixed('precision', summary);
}
