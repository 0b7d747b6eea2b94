/**
 * `Layercost: Show Report` and `Layercost: Show Scaling`: pages about a model, which follow the model.
 *
 * Where the editor runs on this machine the report is a page with charts (`reportPanel.ts`) and the scaling curve a rendered
 * one. Both are aligned texts in a browser, whose rendered pages are served from another origin that an offline or
 * walled-in installation does not reach.
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
import { activeModel, type Estimates, modelAtCursor } from './estimates.ts';
import { newNonce, reportPanels } from './reportPanel.ts';
import { applyScenarioChange } from './scenarioSettings.ts';

const scheme = 'layercost-report';

const pages: readonly (readonly [page: ReportPage, command: string])[] = [
  ['report', commands.showReport],
  ['scaling', commands.showScaling],
];

/** A page of one model; of a text that holds several, of the one that is named. */
interface PageOfModel {
  readonly page: ReportPage;
  readonly model: vscode.Uri;
  readonly part: string | undefined;
}

export function registerReport(
  client: BaseLanguageClient,
  started: Promise<void>,
  estimates: Estimates,
  rendered: boolean,
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
    askForPage: ({ model, part }, change, nonce, token) =>
      ask(
        {
          uri: client.code2ProtocolConverter.asUri(model),
          page: 'report',
          format: 'html',
          nonce,
          change,
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
  });
  const provider: vscode.TextDocumentContentProvider = {
    onDidChange: changed.event,
    provideTextDocumentContent: async (uri) => {
      const report = await ask({
        uri: uri.query,
        page: pages.find(([page]) => page === uri.authority)?.[0] ?? 'report',
        format: uri.path.endsWith('.md') ? 'markdown' : 'text',
        ...(uri.fragment === '' ? {} : { model: uri.fragment }),
      });
      return report?.text ?? noLongerOpen();
    },
  };
  const show = async (page: ReportPage, uri: unknown, named: unknown): Promise<void> => {
    const model = typeof uri === 'string' ? vscode.Uri.parse(uri) : activeModel()?.uri;
    if (model === undefined) {
      vscode.window.showInformationMessage(
        vscode.l10n.t('Open an ONNX model or a layer spec first; the report is about the active editor.'),
      );
      return;
    }
    const part =
      typeof named === 'string' ? named : typeof uri === 'string' ? undefined : modelAtCursor(estimates);
    // A page that only says why it is empty would take the place of the text that has to be mended.
    const isPanel = rendered && page === 'report';
    const nonce = newNonce();
    const report = await ask({
      uri: client.code2ProtocolConverter.asUri(model),
      page,
      format: isPanel ? 'html' : 'text',
      nonce,
      ...(part === undefined ? {} : { model: part }),
    });
    if (report?.refusal !== undefined) {
      vscode.window.showWarningMessage(report.refusal);
      return;
    }
    if (isPanel) {
      if (report === null) vscode.window.showInformationMessage(noLongerOpen());
      else panels.show({ model, part, title: titleOf({ page, model, part }) }, report, nonce);
      return;
    }
    const shown = uriOf({ page, model, part }, rendered);
    if (rendered) await vscode.commands.executeCommand('markdown.showPreviewToSide', shown);
    else await vscode.window.showTextDocument(shown, { preview: false });
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
        for (const [page] of pages) changed.fire(uriOf({ page, model, part }, rendered));
      }
    }),
    ...pages.map(([page, command]) =>
      vscode.commands.registerCommand(command, (uri?: unknown, named?: unknown) => show(page, uri, named)),
    ),
  );
}

const noLongerOpen = (): string => vscode.l10n.t('The model is no longer open; open it to see its report.');

function uriOf(shown: PageOfModel, rendered: boolean): vscode.Uri {
  const { page, model, part } = shown;
  return vscode.Uri.from({
    scheme,
    authority: page,
    path: `/${titleOf(shown)}.${rendered ? 'md' : 'txt'}`,
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
