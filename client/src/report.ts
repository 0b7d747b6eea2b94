/**
 * `Layercost: Show Report`: the cost table of a model, which follows the model.
 *
 * A rendered page where the editor runs on this machine; an aligned text in a browser, whose rendered pages are
 * served from another origin that an offline or walled-in installation does not reach.
 */

import * as vscode from 'vscode';
import type { BaseLanguageClient } from 'vscode-languageclient';
import { commands, makeReport, type ReportParams, type ReportResult } from '../../server/src/protocol.ts';
import { activeModel, type Estimates, modelAtCursor } from './estimates.ts';

const scheme = 'layercost-report';

export function registerReport(
  client: BaseLanguageClient,
  started: Promise<void>,
  estimates: Estimates,
  rendered: boolean,
): vscode.Disposable {
  const changed = new vscode.EventEmitter<vscode.Uri>();
  const provider: vscode.TextDocumentContentProvider = {
    onDidChange: changed.event,
    provideTextDocumentContent: async (uri) => {
      await started;
      const params: ReportParams = {
        uri: uri.query,
        format: uri.path.endsWith('.md') ? 'markdown' : 'text',
        ...(uri.fragment === '' ? {} : { model: uri.fragment }),
      };
      const report = await client.sendRequest<ReportResult | null>(makeReport, params);
      return report?.text ?? vscode.l10n.t('The model is no longer open; open it to see its report.');
    },
  };
  return vscode.Disposable.from(
    changed,
    vscode.workspace.registerTextDocumentContentProvider(scheme, provider),
    estimates.onChange((model) => {
      if (model === undefined) return;
      const parts = estimates.of(model)?.models ?? [];
      for (const part of [undefined, ...parts.map(({ name }) => name)]) {
        changed.fire(reportOf(model, part, rendered));
      }
    }),
    vscode.commands.registerCommand(commands.showReport, async (uri?: unknown, named?: unknown) => {
      const model = typeof uri === 'string' ? vscode.Uri.parse(uri) : activeModel()?.uri;
      if (model === undefined) {
        vscode.window.showInformationMessage(
          vscode.l10n.t('Open an ONNX model or a layer spec first; the report is about the active editor.'),
        );
        return;
      }
      const part =
        typeof named === 'string' ? named : typeof uri === 'string' ? undefined : modelAtCursor(estimates);
      const report = reportOf(model, part, rendered);
      const refusal = await refusalOf(client, started, model, part);
      if (refusal !== undefined) {
        vscode.window.showWarningMessage(refusal);
        return;
      }
      if (rendered) await vscode.commands.executeCommand('markdown.showPreviewToSide', report);
      else await vscode.window.showTextDocument(report, { preview: false });
    }),
  );
}

/** A page that only says why it is empty would take the place of the text that has to be mended. */
async function refusalOf(
  client: BaseLanguageClient,
  started: Promise<void>,
  model: vscode.Uri,
  part: string | undefined,
): Promise<string | undefined> {
  await started;
  const params: ReportParams = {
    uri: client.code2ProtocolConverter.asUri(model),
    format: 'text',
    ...(part === undefined ? {} : { model: part }),
  };
  const report = await client.sendRequest<ReportResult | null>(makeReport, params);
  return report?.refusal;
}

/** A page of its own for every model of a text that holds several. */
function reportOf(model: vscode.Uri, part: string | undefined, rendered: boolean): vscode.Uri {
  const file = (model.path.split('/').pop() ?? '').replace(/\.(onnxtxt|ya?ml)$/, '');
  const name = part === undefined ? file : `${file} ${part}`;
  return vscode.Uri.from({
    scheme,
    path: `/${name} report.${rendered ? 'md' : 'txt'}`,
    query: model.toString(),
    ...(part === undefined ? {} : { fragment: part }),
  });
}
