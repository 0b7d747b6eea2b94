/** Runs the Python runner from a terminal: one line of progress, Ctrl+C ends it, what failed is said with its log. */

import { fileURLToPath } from 'node:url';
import type { Nodes } from '../benchmark/runnerCommand.ts';
import type { RunnerOptions, RunnerOutcome } from '../benchmark/runnerOptions.ts';
import { withBenchmarkOptions } from './optionAdvice.ts';
import { printMessage } from './streams.ts';

/** As they stand on the command line. */
type RunnerArguments = Required<Pick<RunnerOptions, 'device' | 'launcher'>> & {
  readonly python: string | undefined;
  readonly nodes: Nodes | undefined;
};

export async function runWithProgress<Outcome extends RunnerOutcome<unknown>>(
  { device, launcher, nodes, python }: RunnerArguments,
  run: (options: RunnerOptions) => Promise<Outcome>,
): Promise<Outcome> {
  const abort = new AbortController();
  const interrupt = (): void => abort.abort();
  process.once('SIGINT', interrupt);
  const showProgress = progressLine();
  const outcome = await run({
    runner: fileURLToPath(new URL('./runner', import.meta.url)),
    device,
    launcher,
    signal: abort.signal,
    onProgress: ({ message, fraction }) =>
      showProgress(`${(fraction * 100).toFixed(0).padStart(3)} %  ${message}`),
    ...(nodes === undefined ? {} : { nodes }),
    ...(python === undefined ? {} : { python }),
  });
  showProgress('');
  process.removeListener('SIGINT', interrupt);
  if (outcome.failure !== undefined) {
    if (outcome.failure.log !== '') printMessage(outcome.failure.log.trimEnd());
    printMessage(`layercost: ${withBenchmarkOptions(outcome.failure)}`);
  }
  return outcome;
}

/** Rewrites one line on a terminal; on anything else progress would be noise, so nothing is printed. */
function progressLine(): (text: string) => void {
  if (!process.stderr.isTTY) return () => {};
  return (text) => process.stderr.write(`\r\u001b[2K${text.slice(0, (process.stderr.columns ?? 80) - 1)}`);
}
