/** Choosing what costs are shown for: the cluster, and beside it GPUs, batch and precision. */

import * as vscode from 'vscode';
import type { BaseLanguageClient } from 'vscode-languageclient';
import {
  type ClusterChoice,
  commands,
  listClusters,
  type ScenarioChange,
  type ScenarioSummary,
} from '../../server/src/protocol.ts';
import type { Estimates } from './estimates.ts';
import { applyScenarioChange, changedModel } from './scenarioSettings.ts';

export function registerClusterPicker(
  client: BaseLanguageClient,
  started: Promise<void>,
  estimates: Estimates,
): vscode.Disposable {
  const present = (): Present => ({
    summary: estimates.active()?.summary,
    set: (change) => applyScenarioChange(client, changedModel(estimates), change),
  });
  return vscode.Disposable.from(
    vscode.commands.registerCommand(commands.chooseCluster, async () => {
      await started;
      const choices = await client.sendRequest<readonly ClusterChoice[]>(listClusters);
      await chooseCluster(choices, present());
    }),
    vscode.commands.registerCommand(commands.chooseGpus, () => chooseCount('gpus', present())),
    vscode.commands.registerCommand(commands.chooseBatch, () => chooseCount('batch', present())),
    vscode.commands.registerCommand(commands.choosePrecision, () => choosePrecision(present())),
  );
}

/** What holds, and how it is changed. */
interface Present {
  readonly summary: ScenarioSummary | undefined;
  readonly set: (change: ScenarioChange) => Promise<void>;
}

interface Choice extends vscode.QuickPickItem {
  readonly cluster?: ClusterChoice;
  readonly command?: string;
}

/** The present cluster first, then what else a scenario has, then what could be chosen instead, the newest first. */
async function chooseCluster(choices: readonly ClusterChoice[], { summary, set }: Present): Promise<void> {
  const item = (cluster: ClusterChoice): Choice => ({
    label: cluster.title,
    description: cluster.name,
    ...(cluster.kind === 'gpu' || cluster.links === '' ? {} : { detail: cluster.links }),
    cluster,
  });
  const separator = (label: string): Choice => ({ label, kind: vscode.QuickPickItemKind.Separator });
  const current = choices.find(({ name }) => name === summary?.cluster);
  const others = (kind: ClusterChoice['kind']): readonly Choice[] =>
    choices
      .filter((each) => each.kind === kind && each !== current)
      .map(item)
      .reverse();
  const onCpus = summary?.device === 'CPU node';
  const parts: readonly Choice[] = [
    {
      label: onCpus ? vscode.l10n.t('CPU nodes…') : vscode.l10n.t('GPUs…'),
      description: summary === undefined ? '' : String(summary.gpus),
      command: commands.chooseGpus,
    },
    {
      label: onCpus ? vscode.l10n.t('Batch per CPU node…') : vscode.l10n.t('Batch per GPU…'),
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
  ];
  const picked = await vscode.window.showQuickPick<Choice>(
    [
      ...(current === undefined ? [] : [separator(vscode.l10n.t('Current')), item(current)]),
      separator(vscode.l10n.t('Scenario')),
      ...parts,
      separator(vscode.l10n.t('Clusters')),
      ...others('cluster'),
      separator(vscode.l10n.t('Single GPUs')),
      ...others('gpu'),
    ],
    {
      title: vscode.l10n.t('Layercost: Choose Cluster'),
      placeHolder: vscode.l10n.t('Cluster to show costs for'),
      matchOnDescription: true,
      matchOnDetail: true,
    },
  );
  if (picked?.command !== undefined) await vscode.commands.executeCommand(picked.command);
  if (picked?.cluster !== undefined) await set(clusterChange(picked.cluster, summary));
}

/** Counts that belonged to another cluster are dropped where they would not fit this one. */
function clusterChange(
  { name, gpusPerNode, isNetworked }: ClusterChoice,
  summary: ScenarioSummary | undefined,
): ScenarioChange {
  const gpus = summary?.gpus;
  const fits = gpus !== undefined && (gpus <= gpusPerNode || (isNetworked && gpus % gpusPerNode === 0));
  const isOneNode = gpusPerNode === 1 && !isNetworked;
  return {
    cluster: name,
    ...(fits && !isOneNode ? {} : { gpus: null }),
    ...(gpusPerNode === summary?.gpusPerNode ? {} : { nodes: null }),
  };
}

/** A scenario counts GPUs, or nodes that compute with their processors. */
function countTexts(
  key: 'gpus' | 'batch',
  summary: ScenarioSummary | undefined,
): { readonly title: string; readonly prompt: string } {
  if (summary?.device === 'CPU node') {
    return key === 'gpus'
      ? {
          title: vscode.l10n.t('Layercost: CPU Nodes'),
          prompt: vscode.l10n.t('Number of CPU nodes. Empty: one.'),
        }
      : {
          title: vscode.l10n.t('Layercost: Batch per CPU Node'),
          prompt: vscode.l10n.t("Samples per CPU node in one pass. Empty: the model's own batch."),
        };
  }
  return key === 'gpus'
    ? {
        title: vscode.l10n.t('Layercost: GPUs'),
        prompt: vscode.l10n.t(
          'Total number of GPUs; a node has {0}. Empty: one whole node.',
          summary?.gpusPerNode ?? '?',
        ),
      }
    : {
        title: vscode.l10n.t('Layercost: Batch per GPU'),
        prompt: vscode.l10n.t("Samples per GPU in one pass. Empty: the model's own batch."),
      };
}

async function chooseCount(key: 'gpus' | 'batch', { summary, set }: Present): Promise<void> {
  const current = key === 'gpus' ? summary?.gpus : summary?.batch;
  const answer = await vscode.window.showInputBox({
    ...countTexts(key, summary),
    value: current === undefined ? '' : String(current),
    validateInput: (text) =>
      text.trim() === '' || /^[1-9]\d{0,8}$/.test(text.trim())
        ? undefined
        : vscode.l10n.t('Enter a whole number of at least 1, or nothing'),
  });
  if (answer === undefined) return;
  await set({ [key]: answer.trim() === '' ? null : Number(answer.trim()) });
}

async function choosePrecision({ summary, set }: Present): Promise<void> {
  const details: Readonly<Record<string, string>> = {
    fp32: vscode.l10n.t('32-bit floats throughout'),
    tf32: vscode.l10n.t('32-bit floats, matrix multiplications in TF32 on tensor cores'),
    fp16: vscode.l10n.t('Mixed precision with 16-bit floats, master weights in fp32'),
    bf16: vscode.l10n.t('Mixed precision with bfloat16, master weights in fp32'),
    fp8: vscode.l10n.t('Matrix multiplications in 8-bit floats'),
    nvfp4: vscode.l10n.t('Matrix multiplications in 4-bit floats with scales of 16 elements'),
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
  await set({ precision: picked.label });
}
