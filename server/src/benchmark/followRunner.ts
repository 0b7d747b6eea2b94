/**
 * Follows the Python runner: starts it, checks every event on arrival, tells progress, and ends it when it hangs, takes too
 * long, sends what is no event, or is cancelled. Knows nothing of what is measured.
 */

import { cancelled } from './benchmarkFailure.ts';
import { FollowedRun } from './followedRun.ts';
import { runnerCommand } from './runnerCommand.ts';
import type { Collected, Run, RunnerOutcome } from './runnerOptions.ts';

export const defaultPython = process.platform === 'win32' ? 'python' : 'python3';

/** `input` goes to the runner as JSON. Never rejects: what goes wrong is a failure, beside what was measured until then. */
export function followRunner<Measurements>(
  input: unknown,
  collected: Collected<Measurements>,
  options: Run,
): Promise<RunnerOutcome<Measurements>> {
  const { runner, device = 'auto', ranks, nodes, launcher = [] } = options;
  // Behind a launcher may be another system than this one.
  const python = options.python ?? (launcher.length === 0 ? defaultPython : 'python3');
  return new Promise((resolve) => {
    if (options.signal?.aborted) {
      resolve({ failure: { kind: 'cancelled', message: cancelled, log: '' } });
      return;
    }
    const started = runnerCommand(JSON.stringify(input), { runner, python, device, ranks, nodes, launcher });
    new FollowedRun(collected, { ...options, python }, resolve).start(started);
  });
}
