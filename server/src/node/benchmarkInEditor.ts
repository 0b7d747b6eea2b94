/** Runs the open model for an editor, keeps what was measured in its workspace, and says in one line what came of it. */

import { fileURLToPath } from 'node:url';
import { URI } from 'vscode-uri';
import type { BenchmarkMeasurements } from '../benchmark/benchmarkMeasurements.ts';
import { plannedRun, plannedWithBatch } from '../benchmark/plannedRun.ts';
import { runBenchmark } from '../benchmark/runBenchmark.ts';
import { runSmaller } from '../benchmark/runSmaller.ts';
import type { Benchmark, BenchmarkOptions, BenchmarkOutcome } from '../lsp/platform.ts';
import { formatCount, formatTime } from '../model/format.ts';
import { keepResult, type RunOfFile, resultOfRun } from './keepResult.ts';
import { measuredOf } from './keptResults.ts';

export const benchmarkInEditor: Benchmark = async (estimate, options) => {
  const named = { model: estimate.opened.name };
  const first = plannedRun(estimate, named);
  if (first === undefined)
    return { kind: 'failed', message: 'the model cannot be costed, so there is nothing to run' };
  if ('refusal' in first) return { kind: 'failed', message: first.refusal };
  const outcome = await runSmaller(
    first,
    (batch) => plannedWithBatch(estimate, batch, named),
    ({ plan }) =>
      runBenchmark(plan, {
        runner: fileURLToPath(new URL('./runner', import.meta.url)),
        ...(options.python === '' ? {} : { python: options.python }),
        device: options.device,
        launcher: options.launcher,
        signal: options.signal,
        onProgress: ({ message, fraction }) => options.onProgress(message, fraction),
        onLog: options.onLog,
      }),
  );
  const { plan, scenario } = outcome.made;
  const uri = URI.parse(options.uri);
  const unsaved = keep(
    { path: uri.fsPath, model: options.model, plan, scenario, outcome },
    uri.scheme,
    options,
  );
  const { measurements, failure } = outcome;
  if (failure?.kind === 'cancelled') return { kind: 'cancelled', ...unsaved };
  if (failure !== undefined || measurements === undefined) {
    const isPython =
      failure?.kind === 'no-interpreter' || failure?.kind === 'torch-missing' || failure?.kind === 'no-gpu';
    return {
      kind: 'failed',
      message: failure?.message ?? '',
      ...(isPython ? { remedy: 'python' as const } : {}),
      ...unsaved,
    };
  }
  const isSmaller = plan.batch < first.plan.batch;
  const summary = summaryOf(measurements, options);
  return {
    kind: 'done',
    summary: isSmaller
      ? `${summary}, at batch ${plan.batch}: ${first.plan.batch} does not fit into memory`
      : summary,
    ...unsaved,
  };
};

/** What could not be written to a file. */
function keep(
  run: RunOfFile,
  scheme: string,
  { onLog }: BenchmarkOptions,
): Pick<BenchmarkOutcome, 'unsaved'> {
  const result = resultOfRun(run);
  if (result === undefined) return {};
  const kept = scheme === 'file' ? keepResult(run) : undefined;
  if (kept !== undefined && 'path' in kept) {
    onLog(`kept ${kept.path}`);
    return {};
  }
  onLog(kept?.problem ?? 'the model is no file yet: the result is kept until the editor is closed');
  return { unsaved: measuredOf([result]) };
}

function summaryOf(measurements: BenchmarkMeasurements, { onLog }: BenchmarkOptions): string {
  for (const note of measurements.notes) onLog(note);
  for (const [layer, reason] of measurements.notMeasured)
    onLog(`${layer === '' ? 'the step' : layer} was not measured: ${reason}`);
  const step =
    measurements.step === undefined ? 'step not measured' : `step ${formatTime(measurements.step)}`;
  const device =
    measurements.device.kind === 'cpu' ? `on the CPU, no GPU: ${measurements.origin}` : measurements.origin;
  return `${step}, ${formatCount(measurements.layers.size)} layers measured, ${device}`;
}
