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
import { newNonce, type PageOfModel, reportPanels } from './reportPanel.ts';
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
  const ask = async (
    params: ReportParams,
    token?: vscode.CancellationToken,
  ): Promise<ReportResult | null> => {
    await started;
    // A last argument that is no token would be a second parameter.
    return token === undefined
      ? client.sendRequest<ReportResult | null>(makeReport, params)
      : client.sendRequest<ReportResult | null>(makeReport, params, token);
  };
  const panels = reportPanels({
    askForPage: ({ page, model, part }, { change, compared }, nonce, token) =>
      ask(
        {
          uri: client.code2ProtocolConverter.asUri(model),
          page,
          format: 'html',
          nonce,
          change,
          compared,
          ...(part === undefined ? {} : { model: part }),
        },
        token,
      ),
    tryChange: async ({ model, part }, change, token) => {
      await started;
      const params: ScenarioChangeParams = {
        uri: client.code2ProtocolConverter.asUri(model),
        change,
        ...(part === undefined ? {} : { model: part }),
      };
      return client.sendRequest<TryScenarioResult | null>(tryScenario, params, token);
    },
    keepChange: ({ model, part }, change) => applyScenarioChange(client, { document: model, part }, change),
    staySilent: async (reported) => {
      const asText = vscode.l10n.t('Show as Text');
      const chosen = await vscode.window.showWarningMessage(
        vscode.l10n.t(
          'The page has not loaded. An editor in a browser loads pages from an address of their own, which may be blocked here, and needs HTTPS.',
        ),
        asText,
      );
      if (chosen === asText) await vscode.window.showTextDocument(uriOf(reported), { preview: false });
    },
  });
  const provider: vscode.TextDocumentContentProvider = {
    onDidChange: changed.event,
    provideTextDocumentContent: async (uri) => {
      const report = await ask({
        uri: uri.query,
        page: pages.find(([page]) => page === uri.authority)?.[0] ?? 'report',
        format: 'text',
        ...(uri.fragment === '' ? {} : { model: uri.fragment }),
      });
      return report?.text ?? noLongerOpen();
    },
  };
  const show = async (page: ReportPage, uri: unknown, named: unknown): Promise<void> => {
    const model = typeof uri === 'string' ? vscode.Uri.parse(uri) : activeModel()?.uri;
    if (model === undefined) {
      vscode.window.showInformationMessage(openModelFirst());
      return;
    }
    const part =
      typeof named === 'string' ? named : typeof uri === 'string' ? undefined : modelAtCursor(estimates);
    // A page that only says why it is empty would take the place of the text that has to be mended.
    const nonce = newNonce();
    const report = await ask({
      uri: client.code2ProtocolConverter.asUri(model),
      page,
      format: 'html',
      nonce,
      ...(part === undefined ? {} : { model: part }),
    });
    if (report === null) vscode.window.showInformationMessage(noLongerOpen());
    else if (report.refusal !== undefined) vscode.window.showWarningMessage(report.refusal);
    else panels.show({ page, model, part, title: titleOf({ page, model, part }) }, report, nonce);
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
      vscode.commands.registerCommand(command, (uri?: unknown, named?: unknown) => show(page, uri, named)),
    ),
  );
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
