/**
 * Writes a model of Python as an archive of `torch.export`, by a script in the person's own interpreter. The script builds
 * the model, so it runs the person's code: trusted workspaces only; the caller sees to that.
 */

import { z } from 'zod';
import { type FoundPython, findPythons } from '../benchmark/findPythons.ts';
import { defaultPython } from '../benchmark/followRunner.ts';
import { startRunner } from '../benchmark/runnerProcess.ts';
import { jsonOrUndefined } from '../formats/parseJson.ts';
import { type ExportFailureKind, failureText, refusals } from './exportFailure.ts';

export interface ExportRequest {
  /** `FILE.py:NAME`, `MODULE:NAME`, `hf:ID`, `timm:NAME` or `torchvision:NAME`. */
  readonly target: string;
  /** Path of the archive. */
  readonly output: string;
  /** By parameter of `forward`: `int64[batch, 128]`; left out, they are found. */
  readonly inputs: Readonly<Record<string, string>>;
}

export interface ExportOptions {
  /** Folder of the script: `dist/export` in what ships. */
  readonly script: string;
  readonly python?: string;
  readonly signal?: AbortSignal;
  readonly onProgress?: (message: string) => void;
  /** What the script and the model print, as it comes. */
  readonly onLog?: (text: string) => void;
  /** 600 unless given: the largest models take a minute. */
  readonly totalSeconds?: number;
  /** The Pythons of this machine, asked for where the chosen one cannot be used. */
  readonly findPythons?: () => Promise<readonly FoundPython[]>;
}

export type ExportOutcome =
  | {
      readonly kind: 'done';
      readonly notes: readonly string[];
      /** What `forward` was called with, by parameter. */
      readonly inputs: Readonly<Record<string, string>>;
      readonly torch: string;
    }
  | { readonly kind: 'cancelled' }
  | { readonly kind: 'failed'; readonly failure: ExportFailureKind; readonly message: string };

const exportEventSchema = z.discriminatedUnion('event', [
  z.strictObject({ event: z.literal('progress'), message: z.string() }),
  z.strictObject({
    event: z.literal('done'),
    notes: z.array(z.string()),
    inputs: z.record(z.string(), z.string()),
    torch: z.string(),
  }),
  z.strictObject({ event: z.literal('refused'), kind: z.enum(refusals), message: z.string() }),
]);

const keptLog = 4_000;

/** Python that cannot start its script says why; what says nothing may be no Python. */
const silentEnd = (phase: string, python: string): string =>
  phase === firstPhase ? `; check that ${python} is a Python interpreter` : '';

const firstPhase = 'start-up';

/** Never rejects: what goes wrong is an outcome with a message. */
export function exportModel(request: ExportRequest, options: ExportOptions): Promise<ExportOutcome> {
  const python = options.python ?? defaultPython;
  const totalSeconds = options.totalSeconds ?? 600;
  return new Promise((resolve) => {
    let log = '';
    let phase: string = firstPhase;
    let outcome: ExportOutcome | undefined;
    const failed = (failure: ExportFailureKind, message: string): ExportOutcome => ({
      kind: 'failed',
      failure,
      message: failureText(failure, message, python),
    });
    if (options.signal?.aborted) {
      resolve({ kind: 'cancelled' });
      return;
    }
    const stop = (decided: ExportOutcome): void => {
      outcome ??= decided;
      runner.stop();
    };
    const onAbort = (): void => stop({ kind: 'cancelled' });
    const total = setTimeout(
      () => stop(failed('timeout', `it took longer than ${totalSeconds} s, during ${phase}`)),
      totalSeconds * 1_000,
    );
    const finish = (decided: ExportOutcome): void => {
      clearTimeout(total);
      options.signal?.removeEventListener('abort', onAbort);
      resolve(decided);
    };
    const runner = startRunner(python, [options.script], JSON.stringify(request), {
      line(text) {
        const event = exportEventSchema.safeParse(jsonOrUndefined(text)).data;
        if (event === undefined)
          return stop(failed('crash', `it sent a line that is no event: ${text.slice(0, 200)}`));
        if (event.event === 'progress') {
          phase = event.message;
          options.onProgress?.(event.message);
        } else if (event.event === 'done')
          outcome ??= { kind: 'done', notes: event.notes, inputs: event.inputs, torch: event.torch };
        else outcome ??= failed(event.kind, event.message);
      },
      log(text) {
        log = (log + text).slice(-keptLog);
        options.onLog?.(text);
      },
      refused(code) {
        void otherPythons(options, failed('no-interpreter', code ?? 'unknown reason')).then(finish);
      },
      ended(code, signal) {
        const last = log.trim().split('\n').at(-1) ?? '';
        const decided =
          outcome ??
          failed(
            'crash',
            `it ended with ${signal ?? `status ${code}`} during ${phase}${last === '' ? silentEnd(phase, python) : `: ${last}`}`,
          );
        const needsPython = decided.kind === 'failed' && decided.failure.startsWith('torch-');
        if (needsPython) void otherPythons(options, decided).then(finish);
        else finish(decided);
      },
    });
    options.signal?.addEventListener('abort', onAbort, { once: true });
  });
}

/** The failure with the interpreters that would do. */
async function otherPythons(options: ExportOptions, failed: ExportOutcome): Promise<ExportOutcome> {
  if (failed.kind !== 'failed') return failed;
  const found = await (options.findPythons ?? findPythons)();
  const usable = found.filter(({ hasTorch }) => hasTorch).map(({ path, version }) => `${path} (${version})`);
  const others =
    usable.length === 0 ? 'No Python with torch was found on PATH' : `With torch: ${usable.join(', ')}`;
  return { ...failed, message: `${failed.message}. ${others}` };
}
