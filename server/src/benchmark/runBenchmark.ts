/**
 * Runs a plan on the machine's GPU or processor: starts the Python runner, checks every event on arrival and
 * collects the measurements. Trusted workspaces only; the caller sees to that.
 */

import { type Seconds, seconds } from '../model/units.ts';
import {
  type BenchmarkEvent,
  benchmarkEventSchema,
  type DeviceEvent,
  protocolVersion,
  type StepEvent,
  type Timing,
} from './benchmarkEvents.ts';
import {
  type BenchmarkFailure,
  type BenchmarkFailureKind,
  cancelled,
  cannotStart,
  endedEarly,
  newerProtocol,
  notAnEvent,
  nothingMeasured,
  otherPythons,
  reported,
  silent,
  tookTooLong,
} from './benchmarkFailure.ts';
import {
  type BenchmarkMeasurements,
  type MeasuredLayer,
  type MeasuredStep,
  originOf,
} from './benchmarkMeasurements.ts';
import type { BenchmarkPlan } from './benchmarkPlan.ts';
import { type FoundPython, findPythons } from './findPythons.ts';
import { startRunner } from './runnerProcess.ts';

export interface BenchmarkOptions {
  /** Folder of the runner: `dist/runner` in what ships. */
  readonly runner: string;
  /** Interpreter, `python3` unless given (`python` on Windows). */
  readonly python?: string;
  /** `auto` takes the GPU where there is one, otherwise the CPU, and says so. */
  readonly device?: 'auto' | 'cuda' | 'cpu';
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: BenchmarkProgress) => void;
  /** What the runner logs, as it comes. */
  readonly onLog?: (text: string) => void;
  /** The runner reports every second; silence this long means that it hangs. 60 unless given. */
  readonly silenceSeconds?: number;
  /** The Pythons of this machine, asked for where the chosen one cannot be used. */
  readonly findPythons?: () => Promise<readonly FoundPython[]>;
  /** Ten times the plan's budget and at least 600 unless given. */
  readonly totalSeconds?: number;
}

export interface BenchmarkProgress {
  /** What is being done, such as `step 3 of 10` or a layer's name, after the device once it is known. */
  readonly message: string;
  /** Between 0 and 1; does not fall. */
  readonly fraction: number;
}

export interface BenchmarkOutcome {
  /** What was measured; with a failure, what arrived before it. Absent where nothing was. */
  readonly measurements?: BenchmarkMeasurements;
  readonly failure?: BenchmarkFailure;
}

export const defaultPython = process.platform === 'win32' ? 'python' : 'python3';

const keptLog = 8_000;

/** Runs the plan. Never rejects: what goes wrong is a failure with a message, beside what was measured until then. */
export function runBenchmark(plan: BenchmarkPlan, options: BenchmarkOptions): Promise<BenchmarkOutcome> {
  const python = options.python ?? defaultPython;
  const silenceSeconds = options.silenceSeconds ?? 60;
  const totalSeconds = options.totalSeconds ?? Math.max(600, 10 * plan.budgetSeconds);

  return new Promise((resolve) => {
    const collected = new CollectedEvents(plan);
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
    const finish = (outcome: BenchmarkOutcome): void => {
      clearTimeout(silence);
      clearTimeout(total);
      options.signal?.removeEventListener('abort', onAbort);
      resolve(outcome);
    };
    const fail = (kind: BenchmarkFailureKind, message: string): void =>
      finish({ ...collected.outcome(), failure: { kind, message, log } });
    const failForPython = async (kind: BenchmarkFailureKind, message: string): Promise<void> =>
      fail(kind, `${message}. ${otherPythons(await (options.findPythons ?? findPythons)())}`);

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
          giveUp(event.kind, reported(event, python, plan.batch));
          return;
        default:
          collected.add(event);
      }
    };

    const runner = startRunner(
      python,
      [options.runner, '--device', options.device ?? 'auto'],
      JSON.stringify(plan),
      {
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
          void failForPython('no-interpreter', cannotStart(python, code));
        },
        ended(code, signal) {
          if (failure?.kind === 'torch-missing') void failForPython(failure.kind, failure.message);
          else if (failure !== undefined) fail(failure.kind, failure.message);
          // It said nothing at all: an interpreter too old to read the runner's source.
          else if (!greeted) void failForPython('crash', endedEarly(code, signal, phase, log));
          else if (!collected.done) fail('crash', endedEarly(code, signal, phase, log));
          else {
            const { measurements } = collected.outcome();
            if (measurements === undefined) fail('nothing-measured', nothingMeasured(collected.firstReason));
            else finish({ measurements });
          }
        },
      },
    );
    options.signal?.addEventListener('abort', onAbort, { once: true });
  });
}

function parseEvent(line: string): BenchmarkEvent | undefined {
  return benchmarkEventSchema.safeParse(parseJson(line)).data;
}

/** A hello of another version may not fit this version's schema, and is still better named as such. */
function protocolProblem(line: string): string {
  const event = parseJson(line);
  if (typeof event === 'object' && event !== null && 'protocol' in event) {
    const { protocol } = event;
    if (typeof protocol === 'number' && protocol !== protocolVersion) {
      return newerProtocol(protocol, protocolVersion);
    }
  }
  return notAnEvent(line);
}

function parseJson(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

/** What the events of one run say, put together. */
class CollectedEvents {
  device: DeviceEvent | undefined;
  done = false;
  readonly #layers = new Map<string, MeasuredLayer>();
  readonly #notMeasured = new Map<string, string>();
  readonly #notes: string[] = [];
  readonly #known: ReadonlySet<string>;
  #step: StepEvent | undefined;
  #again: Seconds | undefined;
  #gradientSums: BenchmarkMeasurements['gradientSums'];
  #program: string | undefined;

  constructor(plan: BenchmarkPlan) {
    this.#known = new Set(plan.layers.map((layer) => layer.name));
  }

  add(event: Exclude<BenchmarkEvent, { event: 'hello' | 'progress' | 'error' }>): void {
    switch (event.event) {
      case 'device':
        this.device = event;
        this.#notes.push(...event.notes);
        return;
      case 'layer':
        if (!this.#known.has(event.name)) return;
        if (event.reason !== undefined) this.#notMeasured.set(event.name, event.reason);
        if (event.forward !== null || event.backward !== null) {
          this.#layers.set(event.name, {
            ...(event.forward === null ? {} : spreadOf('forward', event.forward)),
            ...(event.backward === null ? {} : spreadOf('backward', event.backward)),
            ...(event.dataGradient === undefined ? {} : { dataGradient: seconds(event.dataGradient.median) }),
            ...(event.weightGradient === undefined
              ? {}
              : { weightGradient: seconds(event.weightGradient.median) }),
            ...(event.forwardInStep === undefined ? {} : { forwardInStep: seconds(event.forwardInStep) }),
          });
        }
        return;
      case 'step':
        this.#step = event;
        if (event.reason !== undefined) this.#notMeasured.set('', event.reason);
        return;
      case 'stepAgain':
        this.#again = seconds(event.whole.median);
        return;
      case 'gradientSums':
        this.#gradientSums = { count: event.count, seconds: seconds(event.seconds) };
        return;
      case 'note':
        if (this.#notes.length < 50) this.#notes.push(event.message);
        return;
      case 'program':
        this.#program = event.source;
        return;
      case 'done':
        this.done = true;
    }
  }

  /** Why the first of what could not be measured was not; '' where nothing is known. */
  get firstReason(): string {
    const [reason = ''] = this.#notMeasured.values();
    return reason;
  }

  outcome(): Pick<BenchmarkOutcome, 'measurements'> {
    const device = this.device;
    const step = measuredStep(this.#step, this.#again);
    if (device === undefined || (this.#layers.size === 0 && step === undefined)) return {};
    return {
      measurements: {
        origin: originOf(device, new Date()),
        device: {
          kind: device.kind,
          name: device.name,
          torch: device.torch,
          precision: device.precision,
          ...(device.cuda === null ? {} : { cuda: device.cuda }),
          ...(device.memoryBytes === null ? {} : { memoryBytes: device.memoryBytes }),
        },
        layers: this.#layers,
        notMeasured: this.#notMeasured,
        notes: this.#notes,
        ...(this.#gradientSums === undefined ? {} : { gradientSums: this.#gradientSums }),
        ...(this.#program === undefined ? {} : { program: this.#program }),
        ...(step === undefined ? {} : { step: step.whole, wholeStep: step }),
      },
    };
  }
}

function spreadOf<Direction extends 'forward' | 'backward'>(
  direction: Direction,
  timing: Timing,
): MeasuredLayer {
  const quartiles = { low: seconds(timing.low), high: seconds(timing.high) };
  return direction === 'forward'
    ? { forward: seconds(timing.median), forwardQuartiles: quartiles }
    : { backward: seconds(timing.median), backwardQuartiles: quartiles };
}

function measuredStep(event: StepEvent | undefined, again: Seconds | undefined): MeasuredStep | undefined {
  if (event === undefined || event.whole === null) return undefined;
  const { whole, forward, backward, update, peakMemoryBytes } = event;
  return {
    whole: seconds(whole.median),
    quartiles: { low: seconds(whole.low), high: seconds(whole.high) },
    repeats: whole.repeats,
    ...(again === undefined ? {} : { again }),
    ...(forward === null ? {} : { forward: seconds(forward.median) }),
    ...(backward === null ? {} : { backward: seconds(backward.median) }),
    ...(update === null ? {} : { update: seconds(update.median) }),
    ...(peakMemoryBytes === null ? {} : { peakMemoryBytes }),
  };
}
