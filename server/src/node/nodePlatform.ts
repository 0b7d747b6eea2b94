/** What Node offers the language server: files by positioned reads, and processes. */

import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { URI } from 'vscode-uri';
import { planBenchmark } from '../benchmark/benchmarkPlan.ts';
import { notRunnable } from '../benchmark/notRunnable.ts';
import { defaultPython, runBenchmark } from '../benchmark/runBenchmark.ts';
import type { Platform } from '../lsp/platform.ts';
import { tooLong, unreadable } from '../lsp/readFile.ts';
import { formatCount, formatTime } from '../model/format.ts';
import { checkExternalData } from './externalData.ts';
import { openFileSource } from './fileSource.ts';
import { liesInside } from './liesInside.ts';
import { nextTurn } from './nextTurn.ts';

export const nodePlatform: Platform = {
  bytesEncoding: 'base64',
  openFile: (uri, bounds) => {
    const parsed = URI.parse(uri);
    if (parsed.scheme !== 'file') return undefined;
    if (bounds?.inside !== undefined && !liesInside(URI.parse(bounds.inside).fsPath, parsed.fsPath))
      return unreadable(uri, 'it is not inside the folder of the model');
    const result = openFileSource(parsed.fsPath);
    if (result.kind === 'failed') return result;
    const { source, close } = result.file;
    if (bounds !== undefined && source.size > bounds.longest) {
      close();
      return unreadable(uri, tooLong(bounds));
    }
    return { kind: 'open', ...result.file };
  },
  listFolder: (uri) => {
    const parsed = URI.parse(uri);
    if (parsed.scheme !== 'file') return undefined;
    try {
      return readdirSync(parsed.fsPath, { withFileTypes: true }).map((entry) => ({
        name: entry.name,
        isFolder: entry.isDirectory(),
      }));
    } catch {
      return [];
    }
  },
  nextTurn,
  checkNeighbours: (opened, uri) => {
    const parsed = URI.parse(uri);
    return parsed.scheme !== 'file' || opened.onnx === undefined
      ? []
      : checkExternalData(opened.onnx, parsed.fsPath);
  },
  benchmark: async ({ training, scenario, opened }, options) => {
    if (training === undefined || scenario === undefined)
      return { kind: 'failed', message: 'the model cannot be costed, so there is nothing to run' };
    const unfit = notRunnable(training, scenario);
    if (unfit !== undefined) return { kind: 'failed', message: unfit };
    const outcome = await runBenchmark(planBenchmark(training, scenario, { model: opened.name }), {
      runner: fileURLToPath(new URL('./runner', import.meta.url)),
      python: options.python === '' ? defaultPython : options.python,
      signal: options.signal,
      onProgress: ({ message, fraction }) => options.onProgress(message, fraction),
      onLog: options.onLog,
    });
    if (outcome.failure?.kind === 'cancelled') return { kind: 'cancelled' };
    if (outcome.failure !== undefined) {
      const { kind, message } = outcome.failure;
      const isPython = kind === 'no-interpreter' || kind === 'torch-missing' || kind === 'no-gpu';
      return { kind: 'failed', message, ...(isPython ? { remedy: 'python' as const } : {}) };
    }
    const { measurements } = outcome;
    for (const note of measurements.notes) options.onLog(note);
    for (const [layer, reason] of measurements.notMeasured)
      options.onLog(`${layer === '' ? 'the step' : layer} was not measured: ${reason}`);
    const step =
      measurements.step === undefined ? 'step not measured' : `step ${formatTime(measurements.step)}`;
    const device =
      measurements.device.kind === 'cpu' ? `on the CPU, no GPU: ${measurements.origin}` : measurements.origin;
    return {
      kind: 'done',
      measurements,
      summary: `${step}, ${formatCount(measurements.layers.size)} layers measured, ${device}`,
    };
  },
};
