/**
 * Follows the Python runner: starts it, checks every event on arrival, tells progress, and ends it when it hangs, takes too
 * long, sends what is no event, or is cancelled. Knows nothing of what is measured.
 */

import { jsonOrUndefined } from '../formats/parseJson.ts';
import {
  type BenchmarkEvent,
  benchmarkEventSchema,
  type DeviceEvent,
  protocolVersion,
} from './benchmarkEvents.ts';
import {
  type BenchmarkFailure,
  type BenchmarkFailureKind,
  cancelled,
  cannotStart,
  endedEarly,
  launcherEnded,
  newerProtocol,
  noLauncher,
  notAnEvent,
  nothingMeasured,
  otherPythons,
  reported,
  silent,
  tookTooLong,
} from './benchmarkFailure.ts';
import type { DeviceChoice } from './deviceChoice.ts';
import { type FoundPython, findPythons } from './findPythons.ts';
import { type Nodes, runnerCommand } from './runnerCommand.ts';
import { startRunner } from './runnerProcess.ts';

export interface RunnerOptions {
  /** Folder of the runner: `dist/runner` in what ships. */
  readonly runner: string;
  /** Interpreter, `python3` unless given (`python` on Windows). */
  readonly python?: string;
  /** `auto` unless given. */
  readonly device?: DeviceChoice;
  /** Words that reach Python on another machine; it needs none of Layercost's files. */
  readonly launcher?: readonly string[];
  /** Machines that the launcher reaches at once; one unless given. */
  readonly nodes?: Nodes;
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: BenchmarkProgress) => void;
  /** What the runner logs, as it comes. */
  readonly onLog?: (text: string) => void;
  /** The runner reports every second; silence this long means that it hangs. 60 unless given. */
  readonly silenceSeconds?: number;
  /** The Pythons of this machine, asked for where the chosen one cannot be used. */
  readonly findPythons?: () => Promise<readonly FoundPython[]>;
}

export interface BenchmarkProgress {
  /** What is being done, such as `step 3 of 10` or a layer's name, after the device once it is known. */
  readonly message: string;
  /** Between 0 and 1; does not fall. */
  readonly fraction: number;
}

export interface RunnerOutcome<Measurements> {
  /** What was measured; with a failure, what arrived before it. Absent where nothing was. */
  readonly measurements?: Measurements;
  readonly failure?: BenchmarkFailure;
}

export type ResultEvent = Exclude<BenchmarkEvent, { event: 'hello' | 'progress' | 'error' }>;

/** What the events of one run say, put together. */
export interface Collected<Measurements> {
  add(event: ResultEvent): void;
  readonly device: DeviceEvent | undefined;
  /** The runner said that nothing follows. */
  readonly done: boolean;
  /** `undefined` where nothing was measured. */
  readonly measurements: Measurements | undefined;
  /** Why the first of what could not be measured was not; '' where nothing is known. */
  readonly firstReason: string;
}

interface Run extends RunnerOptions {
  readonly totalSeconds: number;
  /** For the messages of a run that does not fit. */
  readonly batch: number;
  /** Processes of each machine, started by `torchrun`. */
  readonly ranks?: number;
}

export const defaultPython = process.platform === 'win32' ? 'python' : 'python3';

const keptLog = 8_000;

/** `input` goes to the runner as JSON. Never rejects: what goes wrong is a failure, beside what was measured until then. */
export function followRunner<Measurements>(
  input: unknown,
  collected: Collected<Measurements>,
  options: Run,
): Promise<RunnerOutcome<Measurements>> {
  const { totalSeconds, batch, ranks, launcher = [] } = options;
  const [reached] = launcher;
  // Behind a launcher may be another system than this one.
  const python = options.python ?? (reached === undefined ? defaultPython : 'python3');
  const silenceSeconds = options.silenceSeconds ?? 60;

  return new Promise((resolve) => {
    let log = '';
    let greeted = false;
    let phase = 'start-up';
    let fraction = 0;
    /** Set once the run is decided; the promise resolves when the process is gone. */
    let failure: { readonly kind: BenchmarkFailureKind; readonly message: string } | undefined;

    if (options.signal?.aborted) {
      resolve({ failure: { kind: 'cancelled', message: cancelled, log: '' } });
      return;
    }

    const giveUp = (kind: BenchmarkFailureKind, message: string): void => {
      failure ??= { kind, message };
      clearTimeout(silence);
      runner.stop();
    };
    const onAbort = (): void => giveUp('cancelled', cancelled);
    const onSilence = (): void => giveUp('hang', silent(silenceSeconds, phase));
    let silence = setTimeout(onSilence, silenceSeconds * 1_000);
    const total = setTimeout(() => giveUp('timeout', tookTooLong(totalSeconds, phase)), totalSeconds * 1_000);
    const finish = (outcome: RunnerOutcome<Measurements>): void => {
      clearTimeout(silence);
      clearTimeout(total);
      options.signal?.removeEventListener('abort', onAbort);
      resolve(outcome);
    };
    const fail = (kind: BenchmarkFailureKind, message: string): void => {
      const { measurements } = collected;
      finish({ ...(measurements === undefined ? {} : { measurements }), failure: { kind, message, log } });
    };
    // The Pythons of this machine are of no use behind a launcher.
    const failForPython = async (kind: BenchmarkFailureKind, message: string): Promise<void> =>
      fail(
        kind,
        reached === undefined
          ? `${message}. ${otherPythons(await (options.findPythons ?? findPythons)())}`
          : message,
      );

    const receive = (event: BenchmarkEvent): void => {
      switch (event.event) {
        case 'hello':
          greeted = true;
          if (event.protocol !== protocolVersion) {
            giveUp('protocol', newerProtocol(event.protocol, protocolVersion));
          }
          return;
        case 'progress': {
          phase = event.phase;
          fraction = Math.max(fraction, event.total > 0 ? Math.min(1, event.done / event.total) : 0);
          const device = collected.device?.name;
          options.onProgress?.({
            message: device === undefined ? phase : `${device}: ${phase}`,
            fraction,
          });
          return;
        }
        case 'error':
          giveUp(event.kind, reported(event, python, batch));
          return;
        case 'device':
          collected.add(reachedBy(launcher, event));
          return;
        default:
          collected.add(event);
      }
    };

    const started = runnerCommand(JSON.stringify(input), {
      runner: options.runner,
      python,
      device: options.device ?? 'auto',
      ranks,
      nodes: options.nodes,
      launcher,
    });
    const runner = startRunner(started.command, started.args, started.input, {
      line(text) {
        if (failure !== undefined) return;
        const event = parseEvent(text);
        if (event === undefined) {
          giveUp('protocol', protocolProblem(text));
          return;
        }
        clearTimeout(silence);
        silence = setTimeout(onSilence, silenceSeconds * 1_000);
        receive(event);
      },
      log(text) {
        log = (log + text).slice(-keptLog);
        options.onLog?.(text);
      },
      refused(code) {
        if (reached === undefined) void failForPython('no-interpreter', cannotStart(python, code));
        else fail('no-launcher', noLauncher(reached, code));
      },
      ended(code, signal) {
        if (failure?.kind === 'torch-missing') void failForPython(failure.kind, failure.message);
        else if (failure !== undefined) fail(failure.kind, failure.message);
        else if (!greeted && ranks !== undefined && /No module named .?torch/.test(log))
          void failForPython('torch-missing', reported(noTorch, python, batch));
        // It said nothing at all: an interpreter too old to read the runner's source.
        else if (!greeted && reached !== undefined)
          fail('no-launcher', launcherEnded(launcher, python, code, signal, log));
        else if (!greeted) void failForPython('crash', endedEarly(code, signal, phase, log));
        else if (!collected.done) fail('crash', endedEarly(code, signal, phase, log));
        else {
          const { measurements } = collected;
          if (measurements === undefined) fail('nothing-measured', nothingMeasured(collected.firstReason));
          else finish({ measurements });
        }
      },
    });
    options.signal?.addEventListener('abort', onAbort, { once: true });
  });
}

/** Names the machine only where a launcher reached it: elsewhere it is this one, which Node.js names. */
function reachedBy(launcher: readonly string[], { machine, ...event }: DeviceEvent): DeviceEvent {
  return machine === undefined || launcher.length === 0
    ? event
    : { ...event, machine: { ...machine, launcher: launcher.join(' ') } };
}

function parseEvent(line: string): BenchmarkEvent | undefined {
  return benchmarkEventSchema.safeParse(jsonOrUndefined(line)).data;
}

/** A hello of another version may not fit this version's schema, and is still better named as such. */
function protocolProblem(line: string): string {
  const event = jsonOrUndefined(line);
  if (typeof event === 'object' && event !== null && 'protocol' in event) {
    const { protocol } = event;
    if (typeof protocol === 'number' && protocol !== protocolVersion) {
      return newerProtocol(protocol, protocolVersion);
    }
  }
  return notAnEvent(line);
}

const noTorch = { event: 'error', kind: 'torch-missing', message: 'no module named torch' } as const;
