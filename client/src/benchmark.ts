/** `Layercost: Benchmark on GPU`: runs the open model on the machine of the workspace. */

import * as vscode from 'vscode';
import type { BaseLanguageClient } from 'vscode-languageclient';
import {
  type BenchmarkParams,
  type BenchmarkProgressParams,
  type BenchmarkResult,
  benchmarkProgress,
  commands,
  runBenchmark,
} from '../../server/src/protocol.ts';
import { activeModel, type Estimates, modelAtCursor, openModelFirst } from './estimates.ts';
import { interpreterOf } from './pythonInterpreter.ts';
import { type Refusal, tellRefusal } from './refusal.ts';

export function registerBenchmark(
  client: BaseLanguageClient,
  canBenchmark: boolean,
  estimates: Estimates,
  log: vscode.LogOutputChannel,
): vscode.Disposable {
  const running = new Set<string>();
  return vscode.commands.registerCommand(commands.benchmark, async (uri?: unknown) => {
    const model = typeof uri === 'string' ? vscode.Uri.parse(uri) : activeModel()?.uri;
    const refusal = refuse(canBenchmark, model);
    if (refusal !== undefined || model === undefined) {
      await tellRefusal(refusal ?? { message: '' }, log);
      return;
    }
    const part = typeof uri === 'string' ? undefined : modelAtCursor(estimates);
    const key = `${model.toString()}#${part ?? ''}`;
    if (running.has(key)) return;
    running.add(key);
    try {
      const result = await runWithProgress(client, model, part);
      if (result.kind === 'done') vscode.window.setStatusBarMessage(`Layercost: ${result.summary}`, 30_000);
      if (result.kind === 'failed') {
        log.error(`benchmark: ${result.message}`);
        await tellRefusal(result, log);
      }
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      log.error(`benchmark: ${message}`);
      await tellRefusal({ message }, log);
    } finally {
      running.delete(key);
    }
  });
}

function refuse(canBenchmark: boolean, model: vscode.Uri | undefined): Refusal | undefined {
  if (!canBenchmark)
    return {
      message: vscode.l10n.t(
        'The benchmark starts a process, which a browser cannot do. Open the folder in desktop VS Code, or on the machine with the GPU.',
      ),
    };
  if (!vscode.workspace.isTrusted)
    return {
      message: vscode.l10n.t('The benchmark runs Python in this folder. Trust the workspace first.'),
      remedy: 'trust',
    };
  if (model === undefined)
    return {
      message: openModelFirst(),
    };
  return undefined;
}

function runWithProgress(
  client: BaseLanguageClient,
  model: vscode.Uri,
  part: string | undefined,
): Thenable<BenchmarkResult> {
  const options = {
    location: vscode.ProgressLocation.Notification,
    title: vscode.l10n.t('Benchmark'),
    cancellable: true,
  };
  return vscode.window.withProgress(options, async (progress, token) => {
    const uri = client.code2ProtocolConverter.asUri(model);
    let shown = 0;
    const listening = client.onNotification(benchmarkProgress, (event: BenchmarkProgressParams) => {
      if (event.uri !== uri) return;
      const percent = (event.fraction ?? 0) * 100;
      progress.report({ message: event.message, increment: Math.max(0, percent - shown) });
      shown = Math.max(shown, percent);
    });
    const python = await interpreterOf(model);
    const params: BenchmarkParams = {
      uri,
      ...(part === undefined ? {} : { model: part }),
      ...(python === undefined ? {} : { python }),
    };
    try {
      return await client.sendRequest<BenchmarkResult>(runBenchmark, params, token);
    } catch (error) {
      if (token.isCancellationRequested) return { kind: 'cancelled' };
      throw error;
    } finally {
      listening.dispose();
    }
  });
}
