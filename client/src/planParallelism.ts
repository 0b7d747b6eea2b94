/**
 * `Layercost: Plan Parallelism` asks for GPUs and the batch of a step, searches the layouts of the open model, and lists the
 * best with what they take and why they lose. One is written into the scenario, or copied in the words of a launcher.
 */

import * as vscode from 'vscode';
import type { BaseLanguageClient } from 'vscode-languageclient';
import {
  type ClusterChoice,
  commands,
  type LayoutChoice,
  listClusters,
  type PlanLayoutsParams,
  type PlanLayoutsResult,
  type PlanProgressParams,
  planLayouts,
  planProgress,
  type ScenarioSummary,
} from '../../server/src/protocol.ts';
import { type Estimates, openModelFirst } from './estimates.ts';
import { applyScenarioChange, type ChangedModel, changedModel } from './scenarioSettings.ts';

export function registerPlanParallelism(
  client: BaseLanguageClient,
  started: Promise<void>,
  estimates: Estimates,
): vscode.Disposable {
  return vscode.commands.registerCommand(commands.planParallelism, async () => {
    await started;
    const model = changedModel(estimates);
    if (model === undefined) {
      vscode.window.showInformationMessage(openModelFirst());
      return;
    }
    const asked = await ask(client, estimates.active()?.summary);
    if (asked === undefined) return;
    const result = await search(client, model, asked);
    if (result?.kind === 'none') vscode.window.showWarningMessage(result.message);
    if (result?.kind !== 'planned') return;
    const picked = await pickLayout(result);
    if (picked !== undefined) await useLayout(client, model, picked);
  });
}

type Asked = Omit<PlanLayoutsParams, 'uri' | 'model'>;

/** One question after another; none is asked after one that is not answered. */
async function ask(
  client: BaseLanguageClient,
  summary: ScenarioSummary | undefined,
): Promise<Asked | undefined> {
  const clusters = await client.sendRequest<readonly ClusterChoice[]>(listClusters);
  const cluster = await pickCluster(clusters, summary);
  if (cluster === undefined) return undefined;
  const gpus = await askGpus(summary);
  if (gpus === undefined) return undefined;
  const globalBatch = await askGlobalBatch(summary);
  if (globalBatch === undefined) return undefined;
  // With one number of GPUs the shortest step is the cheapest too.
  const goal = gpus.length === 1 ? 'fastest' : await pickGoal();
  if (goal === undefined) return undefined;
  const keepsFramework = await pickFramework(summary);
  if (keepsFramework === undefined) return undefined;
  return { ...(cluster === '' ? {} : { cluster }), gpus, globalBatch, goal, keepsFramework };
}

interface ClusterItem extends vscode.QuickPickItem {
  /** '' for a profile of the person's own, which the scenario names. */
  readonly cluster: string;
}

async function pickCluster(
  clusters: readonly ClusterChoice[],
  summary: ScenarioSummary | undefined,
): Promise<string | undefined> {
  const current = clusters.find(({ name }) => name === summary?.cluster);
  const first: ClusterItem = {
    label: summary?.clusterTitle ?? vscode.l10n.t('The cluster of the scenario'),
    description: `${summary?.cluster ?? ''} (${vscode.l10n.t('current')})`,
    cluster: current?.name ?? '',
  };
  const others = clusters
    .filter(({ kind, name }) => kind === 'cluster' && name !== current?.name)
    .map(
      ({ name, title, links }): ClusterItem => ({
        label: title,
        description: name,
        detail: links,
        cluster: name,
      }),
    )
    .reverse();
  const picked = await vscode.window.showQuickPick([first, ...others], {
    title: vscode.l10n.t('Layercost: Plan Parallelism'),
    placeHolder: vscode.l10n.t('The cluster to train on'),
    matchOnDescription: true,
    matchOnDetail: true,
  });
  return picked?.cluster;
}

async function askGpus(summary: ScenarioSummary | undefined): Promise<readonly number[] | undefined> {
  const answer = await vscode.window.showInputBox({
    title: vscode.l10n.t('Layercost: Plan Parallelism'),
    prompt: vscode.l10n.t('GPUs in all, or several numbers of them to compare: 8, 16, 32'),
    value: String(summary?.gpus ?? 8),
    validateInput: (text) =>
      readCounts(text) === undefined
        ? vscode.l10n.t('Enter whole numbers from 1 to {0}, with commas between them', mostGpus)
        : undefined,
  });
  return answer === undefined ? undefined : readCounts(answer);
}

/** As many as the planner is made for. */
const mostGpus = 16_384;

function readCounts(text: string): readonly number[] | undefined {
  const counts = text.split(',').map((part) => (/^\s*\d{1,5}\s*$/.test(part) ? Number(part) : 0));
  return counts.every((count) => count >= 1 && count <= mostGpus) ? counts : undefined;
}

async function askGlobalBatch(summary: ScenarioSummary | undefined): Promise<number | undefined> {
  const answer = await vscode.window.showInputBox({
    title: vscode.l10n.t('Layercost: Plan Parallelism'),
    prompt: vscode.l10n.t('Global batch: samples of a step over all GPUs'),
    value: summary === undefined ? '' : String(summary.globalBatch),
    validateInput: (text) =>
      /^\s*[1-9]\d{0,8}\s*$/.test(text) ? undefined : vscode.l10n.t('Enter a whole number of at least 1'),
  });
  return answer === undefined ? undefined : Number(answer);
}

async function pickGoal(): Promise<Asked['goal'] | undefined> {
  const goals: readonly (vscode.QuickPickItem & { readonly goal: Asked['goal'] })[] = [
    { goal: 'fastest', label: vscode.l10n.t('Fastest'), description: vscode.l10n.t('the shortest step') },
    {
      goal: 'cheapest',
      label: vscode.l10n.t('Cheapest'),
      description: vscode.l10n.t('the fewest GPU-hours'),
    },
    {
      goal: 'fewest',
      label: vscode.l10n.t('Fewest GPUs'),
      description: vscode.l10n.t('as few as the model fits on'),
    },
  ];
  const picked = await vscode.window.showQuickPick(goals, {
    title: vscode.l10n.t('Layercost: Plan Parallelism'),
    placeHolder: vscode.l10n.t('What the layout is for'),
  });
  return picked?.goal;
}

/** Whether only the framework of the scenario is tried. One that a model names itself is proposed. */
async function pickFramework(summary: ScenarioSummary | undefined): Promise<boolean | undefined> {
  const any = {
    label: vscode.l10n.t('Whichever is fastest'),
    description: 'pytorch-ddp, deepspeed-zero, pytorch-fsdp',
    keeps: false,
  };
  if (summary === undefined) return false;
  const own = {
    label: vscode.l10n.t('Only {0}', summary.framework),
    description: vscode.l10n.t('the framework of the scenario'),
    keeps: true,
  };
  const isOwn = summary.fixedByModel.includes('framework');
  const picked = await vscode.window.showQuickPick(isOwn ? [own, any] : [any, own], {
    title: vscode.l10n.t('Layercost: Plan Parallelism'),
    placeHolder: vscode.l10n.t('Frameworks to try'),
  });
  return picked?.keeps;
}

/** `undefined` where the person ended the search. */
function search(
  client: BaseLanguageClient,
  { document, part }: ChangedModel,
  asked: Asked,
): Thenable<PlanLayoutsResult | undefined> {
  const options = {
    location: vscode.ProgressLocation.Notification,
    title: vscode.l10n.t('Searching parallel layouts'),
    cancellable: true,
  };
  return vscode.window.withProgress(options, async (progress, token) => {
    const uri = client.code2ProtocolConverter.asUri(document);
    const listening = client.onNotification(planProgress, (event: PlanProgressParams) => {
      if (event.uri === uri) progress.report({ message: vscode.l10n.t('{0} layouts costed', event.costed) });
    });
    const params: PlanLayoutsParams = { uri, ...(part === undefined ? {} : { model: part }), ...asked };
    try {
      return await client.sendRequest<PlanLayoutsResult>(planLayouts, params, token);
    } catch (error) {
      if (token.isCancellationRequested) return undefined;
      throw error;
    } finally {
      listening.dispose();
    }
  });
}

interface LayoutItem extends vscode.QuickPickItem {
  readonly choice?: LayoutChoice;
}

async function pickLayout({
  searched,
  layouts,
}: Extract<PlanLayoutsResult, { kind: 'planned' }>): Promise<LayoutChoice | undefined> {
  const [best, ...others] = layouts;
  if (best === undefined) return undefined;
  const counts = [...new Set(others.map(({ gpus }) => gpus))];
  const items: readonly LayoutItem[] = [
    separator(vscode.l10n.t('Best on {0} GPUs', best.gpus)),
    itemOf(best),
    ...counts.flatMap((gpus) => [
      separator(vscode.l10n.t('Others on {0} GPUs', gpus)),
      ...others.filter((each) => each.gpus === gpus).map(itemOf),
    ]),
  ];
  const picked = await vscode.window.showQuickPick(items, {
    title: vscode.l10n.t('Layercost: Plan Parallelism'),
    placeHolder: vscode.l10n.t('{0}. Choose one to apply or to copy', searched),
    matchOnDescription: true,
    matchOnDetail: true,
  });
  return picked?.choice;
}

const separator = (label: string): LayoutItem => ({ label, kind: vscode.QuickPickItemKind.Separator });

const itemOf = (choice: LayoutChoice): LayoutItem => ({
  label: choice.layout,
  description: choice.costs,
  detail: [choice.setup, ...(choice.why === '' ? [] : [choice.why])].join(' · '),
  choice,
});

interface UseItem extends vscode.QuickPickItem {
  /** What is copied; absent where the layout is applied. */
  readonly text?: string;
}

async function useLayout(
  client: BaseLanguageClient,
  model: ChangedModel,
  { layout, change, launchers }: LayoutChoice,
): Promise<void> {
  const apply: UseItem = {
    label: vscode.l10n.t('Apply to this model'),
    description: vscode.l10n.t('writes the layout and the global batch into its scenario'),
  };
  const copies = launchers.map(
    ({ launcher, text }): UseItem => ({
      label: vscode.l10n.t('Copy for {0}', launcher),
      detail: text,
      text,
    }),
  );
  const picked = await vscode.window.showQuickPick([apply, ...copies], {
    title: layout,
    placeHolder: vscode.l10n.t('What to do with the layout'),
    matchOnDetail: true,
  });
  if (picked === undefined) return;
  if (picked.text === undefined) {
    // What has no file yet cannot be named in the settings.
    const scope = model.document.scheme === 'untitled' ? undefined : 'model';
    await applyScenarioChange(client, model, change, scope);
    return;
  }
  await vscode.env.clipboard.writeText(picked.text);
  vscode.window.setStatusBarMessage(vscode.l10n.t('Layercost: copied'), 5_000);
}
