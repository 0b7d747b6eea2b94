/** `layercost/benchmark`: runs the open model on this machine, in trusted workspaces only, and sends progress. */

import type { CancellationToken, ResponseError } from 'vscode-languageserver';
import { viewOfModel } from '../../language/modelView.ts';
import {
  type BenchmarkParams,
  type BenchmarkProgressParams,
  type BenchmarkRemedy,
  type BenchmarkResult,
  benchmarkProgress,
  runBenchmark,
} from '../../protocol.ts';
import type { ServerContext } from '../serverContext.ts';
import { modelBehind } from '../virtualText.ts';
import type { Request } from './request.ts';

export const benchmark: Request = {
  serve: (context) => {
    context.connection.onRequest<BenchmarkResult | ResponseError<void>, void>(
      runBenchmark,
      context.handler<BenchmarkParams, BenchmarkResult>(
        'benchmark',
        failed('the benchmark failed inside Layercost; the log has the details'),
        (params, token) => measure(context, params, token),
      ),
    );
  },
};

async function measure(
  { connection, platform, session, settings, texts, documents }: ServerContext,
  { uri, model, python }: BenchmarkParams,
  token: CancellationToken,
): Promise<BenchmarkResult> {
  const run = platform.benchmark;
  if (run === undefined)
    return failed('no process can be started here; open the folder in VS Code on the machine with the GPU');
  if (!session.trusted)
    return failed('the workspace is not trusted; trust it and run the command again', 'trust');
  const shown = await documents.view(uri);
  const view = shown && viewOfModel(shown, model);
  if (view?.estimate.cost === undefined)
    return failed('the model cannot be costed, so it cannot be run; see its errors in the Problems view');
  const abort = new AbortController();
  const cancellation = token.onCancellationRequested(() => abort.abort());
  try {
    const file = modelBehind(uri) ?? uri;
    const chosen = await settings.of(file);
    const launcher = chosen['benchmark.launcher'];
    const outcome = await run(view.estimate, {
      uri: file,
      model: view.part?.name,
      // The setting is a choice for this; the editor's interpreter is one for everything on this machine.
      python: chosen['benchmark.python'] || (launcher.length === 0 ? (python ?? '') : ''),
      device: chosen['benchmark.device'],
      launcher,
      signal: abort.signal,
      onProgress: (message, fraction) => {
        const params: BenchmarkProgressParams = {
          uri,
          message,
          ...(fraction === undefined ? {} : { fraction }),
        };
        connection.sendNotification(benchmarkProgress, params).catch(() => {});
      },
      onLog: (line) => connection.console.info(`benchmark: ${line}`),
    });
    documents.keepMeasured(uri, view.part?.name, outcome.unsaved);
    const document = texts.get(uri);
    if (document !== undefined) documents.touch(document, 'other');
    if (outcome.kind === 'failed') connection.console.error(`benchmark: ${outcome.message}`);
    const { unsaved: _, ...result } = outcome;
    return result;
  } finally {
    cancellation.dispose();
  }
}

const failed = (message: string, remedy?: BenchmarkRemedy): BenchmarkResult => ({
  kind: 'failed',
  message,
  ...(remedy === undefined ? {} : { remedy }),
});
