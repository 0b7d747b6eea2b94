/** `layercost/exportPython`: a model of a Python file as an archive, in trusted workspaces only, with progress. */

import type { CancellationToken, ResponseError } from 'vscode-languageserver';
import { readInputTexts } from '../../export/inputTexts.ts';
import {
  type ExportProgressParams,
  type ExportPythonParams,
  type ExportPythonResult,
  exportProgress,
  exportPython,
} from '../../protocol.ts';
import type { ServerContext } from '../serverContext.ts';
import type { Request } from './request.ts';

export const exportedPython: Request = {
  serve: (context) => {
    context.connection.onRequest<ExportPythonResult | ResponseError<void>, void>(
      exportPython,
      context.handler<ExportPythonParams, ExportPythonResult>(
        'export',
        failed('the export failed inside Layercost; the log has the details'),
        (params, token) => exportModel(context, params, token),
      ),
    );
  },
};

async function exportModel(
  { connection, platform, session, settings }: ServerContext,
  { uri, name, python, inputs: written = '' }: ExportPythonParams,
  token: CancellationToken,
): Promise<ExportPythonResult> {
  const run = platform.exportPython;
  if (run === undefined)
    return failed('no process can be started here; open the folder in VS Code on a machine with Python');
  if (!session.trusted)
    return failed('the workspace is not trusted; trust it and run the command again', 'trust');
  const read = readInputTexts(written);
  if ('wrong' in read)
    return failed(
      `"${read.wrong}" is not a parameter with its type and sizes; write it as tokens=int64[batch, 128]`,
      'inputs',
    );
  const abort = new AbortController();
  const cancellation = token.onCancellationRequested(() => abort.abort());
  try {
    const outcome = await run({
      uri,
      name,
      inputs: read.inputs,
      python: (await settings.of(uri))['benchmark.python'] || (python ?? ''),
      signal: abort.signal,
      onProgress: (message) => {
        const params: ExportProgressParams = { uri, message };
        connection.sendNotification(exportProgress, params).catch(() => {});
      },
      onLog: (text) => connection.console.info(`export: ${text.trimEnd()}`),
    });
    if (outcome.kind === 'failed') connection.console.error(`export: ${outcome.message}`);
    return outcome;
  } finally {
    cancellation.dispose();
  }
}

const failed = (
  message: string,
  remedy?: Extract<ExportPythonResult, { kind: 'failed' }>['remedy'],
): ExportPythonResult => ({ kind: 'failed', message, ...(remedy === undefined ? {} : { remedy }) });
