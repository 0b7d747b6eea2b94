/**
 * `Layercost: Show Report` and `Layercost: Show Scaling`: pages about a model, which follow the model (`reportPanel.ts`).
 *
 * An editor in a browser loads such pages from another address, which an offline or walled-in installation does not reach,
 * and which needs a secure connection. A page that stays silent offers the same as an aligned text.
 */

import * as vscode from 'vscode';
import type { BaseLanguageClient } from 'vscode-languageclient';
import {
  commands,
  makeReport,
  type ReportPage,
  type ReportParams,
  type ReportResult,
  type ScenarioChangeParams,
  type TryScenarioResult,
  tryScenario,
} from '../../server/src/protocol.ts';
import { activeModel, type Estimates, modelAtCursor, openModelFirst } from './estimates.ts';
import type { PageOfModel, PanelActions } from './openPanel.ts';
import { newNonce, type ReportPanels, reportPanels } from './reportPanel.ts';
import { applyScenarioChange } from './scenarioSettings.ts';

const scheme = 'layercost-report';

const pages: readonly (readonly [page: ReportPage, command: string])[] = [
  ['report', commands.showReport],
  ['scaling', commands.showScaling],
];

export function registerReport(
  client: BaseLanguageClient,
  started: Promise<void>,
  estimates: Estimates,
): vscode.Disposable {
  const changed = new vscode.EventEmitter<vscode.Uri>();
  const server = reportServer(client, started);
  const panels = reportPanels(panelActions(server));
  const provider: vscode.TextDocumentContentProvider = {
    onDidChange: changed.event,
    provideTextDocumentContent: (uri) => textOf(uri, server),
  };
  return vscode.Disposable.from(
    changed,
    panels,
    vscode.workspace.registerTextDocumentContentProvider(scheme, provider),
    estimates.onChange((model) => {
      if (model === undefined) return;
      panels.refresh(model);
      const parts = [undefined, ...(estimates.of(model)?.models ?? []).map(({ name }) => name)];
      for (const part of parts) {
        for (const [page] of pages) changed.fire(uriOf({ page, model, part }));
      }
    }),
    ...pages.map(([page, command]) =>
      vscode.commands.registerCommand(command, (uri?: unknown, named?: unknown) =>
        showPage(shownModel(page, uri, named, estimates), server, panels),
      ),
    ),
  );
}

/** What of the server these pages ask. */
interface ReportServer {
  readonly client: BaseLanguageClient;
  readonly page: (params: ReportParams, token?: vscode.CancellationToken) => Promise<ReportResult | null>;
  readonly tryChange: (
    params: ScenarioChangeParams,
    token: vscode.CancellationToken,
  ) => Promise<TryScenarioResult | null>;
}

const reportServer = (client: BaseLanguageClient, started: Promise<void>): ReportServer => ({
  client,
  page: async (params, token) => {
    await started;
    // A last argument that is no token would be a second parameter.
    return token === undefined
      ? client.sendRequest<ReportResult | null>(makeReport, params)
      : client.sendRequest<ReportResult | null>(makeReport, params, token);
  },
  tryChange: async (params, token) => {
    await started;
    return client.sendRequest<TryScenarioResult | null>(tryScenario, params, token);
  },
});

/** A model as the server knows it. */
const onServer = (
  { model, part }: Pick<PageOfModel, 'model' | 'part'>,
  { client }: ReportServer,
): { readonly uri: string; readonly model?: string } => ({
  uri: client.code2ProtocolConverter.asUri(model),
  ...(part === undefined ? {} : { model: part }),
});

const panelActions = (server: ReportServer): PanelActions => ({
  askForPage: (reported, { change, compared }, nonce, token) =>
    server.page(
      { ...onServer(reported, server), page: reported.page, format: 'html', nonce, change, compared },
      token,
    ),
  tryChange: (reported, change, token) => server.tryChange({ ...onServer(reported, server), change }, token),
  keepChange: ({ model, part }, change) =>
    applyScenarioChange(server.client, { document: model, part }, change),
  staySilent: offerText,
});

/** Where a page does not load: its text says the same. */
async function offerText(reported: PageOfModel): Promise<void> {
  const asText = vscode.l10n.t('Show as Text');
  const chosen = await vscode.window.showWarningMessage(
    vscode.l10n.t(
      'The page has not loaded. An editor in a browser loads pages from an address of their own, which may be blocked here, and needs HTTPS.',
    ),
    asText,
  );
  if (chosen === asText) await vscode.window.showTextDocument(uriOf(reported), { preview: false });
}

async function textOf({ authority, query, fragment }: vscode.Uri, server: ReportServer): Promise<string> {
  const report = await server.page({
    uri: query,
    page: pages.find(([page]) => page === authority)?.[0] ?? 'report',
    format: 'text',
    ...(fragment === '' ? {} : { model: fragment }),
  });
  return report?.text ?? noLongerOpen();
}

/** The model that a command names, else the one at the cursor; `undefined` where none is open. */
function shownModel(
  page: ReportPage,
  uri: unknown,
  named: unknown,
  estimates: Estimates,
): PageOfModel | undefined {
  const model = typeof uri === 'string' ? vscode.Uri.parse(uri) : activeModel()?.uri;
  if (model === undefined) return undefined;
  const part =
    typeof named === 'string' ? named : typeof uri === 'string' ? undefined : modelAtCursor(estimates);
  return { page, model, part };
}

async function showPage(
  shown: PageOfModel | undefined,
  server: ReportServer,
  panels: ReportPanels,
): Promise<void> {
  if (shown === undefined) {
    vscode.window.showInformationMessage(openModelFirst());
    return;
  }
  const nonce = newNonce();
  const { page } = shown;
  const report = await server.page({ ...onServer(shown, server), page, format: 'html', nonce });
  if (report === null) vscode.window.showInformationMessage(noLongerOpen());
  // A page that only says why it is empty would take the place of the text that has to be mended.
  else if (report.refusal !== undefined) vscode.window.showWarningMessage(report.refusal);
  else panels.show({ ...shown, title: titleOf(shown) }, report, nonce);
}

const noLongerOpen = (): string => vscode.l10n.t('The model is no longer open; open it to see its report.');

function uriOf(shown: PageOfModel): vscode.Uri {
  const { page, model, part } = shown;
  return vscode.Uri.from({
    scheme,
    authority: page,
    path: `/${titleOf(shown)}.txt`,
    query: model.toString(),
    ...(part === undefined ? {} : { fragment: part }),
  });
}

/** `resnet50.onnx report`; of a text that holds several models with the name of the one. */
function titleOf({ page, model, part }: PageOfModel): string {
  const file = (model.path.split('/').pop() ?? '').replace(
    /(?<=\.(?:onnx|pt2))\.layers\.yaml$|\.(onnxtxt|ya?ml)$/,
    '',
  );
  return `${part === undefined ? file : `${file} ${part}`} ${page}`;
}
