/** Runs the open model on this machine, in trusted workspaces only, and tells the editor how far it is. */

import type { CancellationToken, Connection } from 'vscode-languageserver';
import { type ModelView, viewOfModel } from '../language/modelView.ts';
import type { LayerMeasurements } from '../model/measurement.ts';
import {
  type BenchmarkParams,
  type BenchmarkProgressParams,
  type BenchmarkResult,
  benchmarkProgress,
} from '../protocol.ts';
import type { Platform } from './platform.ts';

export interface BenchmarkServices {
  readonly connection: Connection;
  readonly platform: Platform;
  readonly isTrusted: () => boolean;
  readonly view: (uri: string) => Promise<ModelView | undefined>;
  readonly pythonOf: (uri: string) => Promise<string>;
  readonly onMeasured: (uri: string, model: string | undefined, measurements: LayerMeasurements) => void;
}

export function benchmarkHandler(services: BenchmarkServices) {
  const { connection, platform } = services;
  return async ({ uri, model }: BenchmarkParams, token: CancellationToken): Promise<BenchmarkResult> => {
    const { benchmark } = platform;
    if (benchmark === undefined)
      return failed('no process can be started here; open the folder in VS Code on the machine with the GPU');
    if (!services.isTrusted())
      return failed(
        'the workspace is not trusted, so nothing is run in it; trust it and run the command again',
      );
    const shown = await services.view(uri);
    const view = shown && viewOfModel(shown, model);
    if (view?.estimate.cost === undefined)
      return failed('the model cannot be costed, so it cannot be run; see its errors in the Problems view');
    const abort = new AbortController();
    const cancellation = token.onCancellationRequested(() => abort.abort());
    try {
      const outcome = await benchmark(view.estimate, {
        python: await services.pythonOf(uri),
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
      if (outcome.kind === 'done') services.onMeasured(uri, view.part?.name, outcome.measurements);
      if (outcome.kind === 'failed') connection.console.error(`benchmark: ${outcome.message}`);
      return outcome.kind === 'done' ? { kind: 'done', summary: outcome.summary } : outcome;
    } finally {
      cancellation.dispose();
    }
  };
}

const failed = (message: string): BenchmarkResult => ({ kind: 'failed', message });
