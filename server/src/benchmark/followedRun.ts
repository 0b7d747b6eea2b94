/** One run of the Python runner while it goes on: its events, its timers, and how it ends. */

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
import { findPythons } from './findPythons.ts';
import type { RunnerCommand } from './runnerCommand.ts';
import type { Collected, Run, RunnerOutcome } from './runnerOptions.ts';
import { type RunnerListener, type RunnerProcess, startRunner } from './runnerProcess.ts';

interface Failure {
  readonly kind: BenchmarkFailureKind;
  readonly message: string;
  /** Another Python of this machine may do. */
  readonly isOfPython?: true;
}

const keptLog = 8_000;

export class FollowedRun<Measurements> implements RunnerListener {
  private text = '';
  private greeted = false;
  private phase = 'start-up';
  private fraction = 0;
  /** Set once the run is decided; the outcome is told when the process is gone. */
  private failure: Failure | undefined;
  private runner: RunnerProcess | undefined;
  private silence: NodeJS.Timeout | undefined;
  private total: NodeJS.Timeout | undefined;

  constructor(
    private readonly collected: Collected<Measurements>,
    private readonly options: Run & { readonly python: string },
    private readonly resolve: (outcome: RunnerOutcome<Measurements>) => void,
  ) {}

  start({ command, args, input }: RunnerCommand): void {
    const { totalSeconds, signal } = this.options;
    this.awaitLine();
    const onTotal = (): void => this.giveUp('timeout', tookTooLong(totalSeconds, this.phase));
    this.total = setTimeout(onTotal, totalSeconds * 1_000);
    this.runner = startRunner(command, args, input, this);
    signal?.addEventListener('abort', this.onAbort, { once: true });
  }

  line(text: string): void {
    if (this.failure !== undefined) return;
    const event = benchmarkEventSchema.safeParse(jsonOrUndefined(text)).data;
    if (event === undefined) {
      this.giveUp('protocol', protocolProblem(text));
      return;
    }
    this.awaitLine();
    this.receive(event);
  }

  log(text: string): void {
    this.text = (this.text + text).slice(-keptLog);
    this.options.onLog?.(text);
  }

  refused(code: string | undefined): void {
    const [reached] = this.options.launcher ?? [];
    void this.fail(
      reached === undefined
        ? { kind: 'no-interpreter', message: cannotStart(this.options.python, code), isOfPython: true }
        : { kind: 'no-launcher', message: noLauncher(reached, code) },
    );
  }

  ended(code: number | null, signal: NodeJS.Signals | null): void {
    const failure = this.failure ?? this.failureAtEnd(code, signal);
    const { measurements } = this.collected;
    if (failure !== undefined) void this.fail(failure);
    else if (measurements === undefined)
      void this.fail({ kind: 'nothing-measured', message: nothingMeasured(this.collected.firstReason) });
    else this.finish({ measurements });
  }

  /** `undefined` where the runner said all that it had to say. */
  private failureAtEnd(code: number | null, signal: NodeJS.Signals | null): Failure | undefined {
    const { ranks, python, batch, launcher = [] } = this.options;
    if (this.greeted)
      return this.collected.done
        ? undefined
        : { kind: 'crash', message: endedEarly(code, signal, this.phase, this.text) };
    if (ranks !== undefined && /No module named .?torch/.test(this.text))
      return { kind: 'torch-missing', message: reported(noTorch, python, batch), isOfPython: true };
    if (launcher.length > 0)
      return { kind: 'no-launcher', message: launcherEnded(launcher, python, code, signal, this.text) };
    // It said nothing at all: an interpreter too old to read the runner's source.
    return { kind: 'crash', message: endedEarly(code, signal, this.phase, this.text), isOfPython: true };
  }

  private receive(event: BenchmarkEvent): void {
    const { launcher = [], python, batch } = this.options;
    switch (event.event) {
      case 'hello':
        this.greeted = true;
        if (event.protocol !== protocolVersion)
          this.giveUp('protocol', newerProtocol(event.protocol, protocolVersion));
        return;
      case 'progress':
        this.report(event);
        return;
      case 'error':
        this.giveUp(event.kind, reported(event, python, batch));
        return;
      case 'device':
        this.collected.add(reachedBy(launcher, event));
        return;
      default:
        this.collected.add(event);
    }
  }

  private report({ phase, done, total }: Extract<BenchmarkEvent, { event: 'progress' }>): void {
    this.phase = phase;
    this.fraction = Math.max(this.fraction, total > 0 ? Math.min(1, done / total) : 0);
    const device = this.collected.device?.name;
    const message = device === undefined ? phase : `${device}: ${phase}`;
    this.options.onProgress?.({ message, fraction: this.fraction });
  }

  /** From now on silence counts. */
  private awaitLine(): void {
    const { silenceSeconds = 60 } = this.options;
    clearTimeout(this.silence);
    this.silence = setTimeout(
      () => this.giveUp('hang', silent(silenceSeconds, this.phase)),
      silenceSeconds * 1_000,
    );
  }

  private readonly onAbort = (): void => this.giveUp('cancelled', cancelled);

  private giveUp(kind: BenchmarkFailureKind, message: string): void {
    this.failure ??= { kind, message, ...(kind === 'torch-missing' ? { isOfPython: true } : {}) };
    clearTimeout(this.silence);
    this.runner?.stop();
  }

  private async fail({ kind, message, isOfPython }: Failure): Promise<void> {
    // The Pythons of this machine are of no use behind a launcher.
    const isOfThisMachine = isOfPython === true && (this.options.launcher ?? []).length === 0;
    const advice = isOfThisMachine ? otherPythons(await (this.options.findPythons ?? findPythons)()) : '';
    const failure: BenchmarkFailure = {
      kind,
      message: isOfThisMachine ? `${message}. ${advice}` : message,
      log: this.text,
    };
    const { measurements } = this.collected;
    this.finish({ ...(measurements === undefined ? {} : { measurements }), failure });
  }

  private finish(outcome: RunnerOutcome<Measurements>): void {
    clearTimeout(this.silence);
    clearTimeout(this.total);
    this.options.signal?.removeEventListener('abort', this.onAbort);
    this.resolve(outcome);
  }
}

/** Names the machine only where a launcher reached it: elsewhere it is this one, which Node.js names. */
function reachedBy(launcher: readonly string[], { machine, ...event }: DeviceEvent): DeviceEvent {
  return machine === undefined || launcher.length === 0
    ? event
    : { ...event, machine: { ...machine, launcher: launcher.join(' ') } };
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
