/**
 * `Layercost: Show Report`: the cost table of a model, which follows the model.
 *
 * A rendered page where the editor runs on this machine; an aligned text in a browser, whose rendered pages are
 * served from another origin that an offline or walled-in installation does not reach.
 */

import * as vscode from 'vscode';
import type { BaseLanguageClient } from 'vscode-languageclient';
import { commands, makeReport, type ReportParams, type ReportResult } from '../../server/src/protocol.ts';
import { activeModel, type Estimates } from './estimates.ts';

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
      const params: ReportParams = { uri: uri.query, format: uri.path.endsWith('.md') ? 'markdown' : 'text' };
      const report = await client.sendRequest<ReportResult | null>(makeReport, params);
      return report?.text ?? vscode.l10n.t('The model is no longer open; open it to see its report.');
    },
  };
  return vscode.Disposable.from(
    changed,
    vscode.workspace.registerTextDocumentContentProvider(scheme, provider),
    estimates.onChange((model) => {
      if (model !== undefined) changed.fire(reportOf(model, rendered));
    }),
    vscode.commands.registerCommand(commands.showReport, async (uri?: unknown) => {
      const model = typeof uri === 'string' ? vscode.Uri.parse(uri) : activeModel()?.uri;
      if (model === undefined) {
        vscode.window.showInformationMessage(
          vscode.l10n.t('Open an ONNX model or a layer spec first; the report is about the active editor.'),
        );
        return;
      }
      const report = reportOf(model, rendered);
      const refusal = await refusalOf(client, started, model);
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
): Promise<string | undefined> {
  await started;
  const params: ReportParams = { uri: client.code2ProtocolConverter.asUri(model), format: 'text' };
  const report = await client.sendRequest<ReportResult | null>(makeReport, params);
  return report?.refusal;
}

function reportOf(model: vscode.Uri, rendered: boolean): vscode.Uri {
  const name = (model.path.split('/').pop() ?? '').replace(/\.(onnxtxt|ya?ml)$/, '');
  return vscode.Uri.from({
    scheme,
    path: `/${name} report.${rendered ? 'md' : 'txt'}`,
    query: model.toString(),
  });
}
