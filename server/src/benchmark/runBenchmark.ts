/**
 * Runs a plan on the machine's GPU or processor and collects the measurements. Trusted workspaces only; the caller sees to
 * that.
 */

import type { HostTimes } from '../model/measurement.ts';
import { type Seconds, seconds } from '../model/units.ts';
import type { LayerEvent, SharedStepEvent, StepEvent, Timing } from './benchmarkEvents.ts';
import {
  type BenchmarkMeasurements,
  type MeasuredLayer,
  type MeasuredSharedStep,
  type MeasuredStep,
  originOf,
} from './benchmarkMeasurements.ts';
import { CollectedRun, type MeasuringEvent } from './collectedRun.ts';
import { deviceOf } from './deviceOf.ts';
import { followRunner } from './followRunner.ts';
import type { BenchmarkPlan } from './planSchema.ts';
import type { RunnerOptions } from './runnerOptions.ts';
import type { SharedStepPlan } from './sharedStep.ts';

export interface BenchmarkOptions extends RunnerOptions {
  /** Ten times the plan's budget and at least 600 unless given. */
  readonly totalSeconds?: number;
  /** Processes of this machine that share the step, and how; one process measures it by itself unless given. */
  readonly shared?: { readonly ranks: number; readonly how: SharedStepPlan };
}

export type BenchmarkOutcome = Awaited<ReturnType<typeof runBenchmark>>;

/** Never rejects: what goes wrong is a failure with a message, beside what was measured until then. */
export const runBenchmark = (
  plan: BenchmarkPlan,
  { shared, totalSeconds = Math.max(600, 10 * plan.budgetSeconds), ...options }: BenchmarkOptions,
) =>
  followRunner(shared === undefined ? plan : { ...plan, shared: shared.how }, new CollectedEvents(plan), {
    ...options,
    totalSeconds,
    batch: plan.batch,
    ...(shared === undefined ? {} : { ranks: shared.ranks }),
  });

/** What the events of one run say, put together. */
class CollectedEvents extends CollectedRun<BenchmarkMeasurements> {
  readonly #layers = new Map<string, MeasuredLayer>();
  readonly #notMeasured = new Map<string, string>();
  readonly #known: ReadonlySet<string>;
  #step: StepEvent | undefined;
  #again: Seconds | undefined;
  #gradientSums: BenchmarkMeasurements['gradientSums'];
  #program: string | undefined;
  #shared: SharedStepEvent | undefined;

  constructor(plan: BenchmarkPlan) {
    super();
    this.#known = new Set(plan.layers.map((layer) => layer.name));
  }

  protected measured(event: MeasuringEvent): void {
    switch (event.event) {
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
            ...(event.host === undefined ? {} : { host: hostTimes(event.host) }),
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
      case 'sharedStep':
        this.#shared = event;
        return;
      case 'program':
        this.#program = event.source;
    }
  }

  /** Why the first of what could not be measured was not; '' where nothing is known. */
  get firstReason(): string {
    const [reason = ''] = this.#notMeasured.values();
    return reason;
  }

  get measurements(): BenchmarkMeasurements | undefined {
    const device = this.device;
    const shared = this.#shared;
    const step = measuredStep(
      shared === undefined
        ? this.#step
        : { ...shared.alone, event: 'step', peakMemoryBytes: shared.peakMemoryBytes },
      this.#again,
    );
    if (device === undefined || (this.#layers.size === 0 && step === undefined)) return undefined;
    return {
      origin: originOf(device, new Date()),
      device: deviceOf(device),
      ...(this.machineState === undefined ? {} : { machineState: this.machineState }),
      ...(device.machine === undefined ? {} : { reached: device.machine }),
      layers: this.#layers,
      notMeasured: this.#notMeasured,
      notes: this.notes,
      ...(this.#gradientSums === undefined ? {} : { gradientSums: this.#gradientSums }),
      ...(this.#program === undefined ? {} : { program: this.#program }),
      ...(step === undefined ? {} : { step: step.whole, wholeStep: step }),
      ...(shared === undefined ? {} : { sharedStep: sharedStepOf(shared) }),
    };
  }
}

function hostTimes({ forward, backward, dataGradient, weightGradient }: HostSeconds): HostTimes {
  return {
    ...(forward === undefined ? {} : { forward: seconds(forward) }),
    ...(backward === undefined ? {} : { backward: seconds(backward) }),
    ...(dataGradient === undefined ? {} : { dataGradient: seconds(dataGradient) }),
    ...(weightGradient === undefined ? {} : { weightGradient: seconds(weightGradient) }),
  };
}

type HostSeconds = NonNullable<LayerEvent['host']>;

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
  const { whole, forward, backward, update, peakMemoryBytes, peakReservedBytes = null, host = null } = event;
  return {
    whole: seconds(whole.median),
    quartiles: { low: seconds(whole.low), high: seconds(whole.high) },
    repeats: whole.repeats,
    ...(again === undefined ? {} : { again }),
    ...(forward === null ? {} : { forward: seconds(forward.median) }),
    ...(backward === null ? {} : { backward: seconds(backward.median) }),
    ...(update === null ? {} : { update: seconds(update.median) }),
    ...(peakMemoryBytes === null ? {} : { peakMemoryBytes }),
    ...(peakReservedBytes === null ? {} : { peakReservedBytes }),
    ...(host === null ? {} : { host: seconds(host) }),
  };
}

const sharedStepOf = ({ ranks, backend, together }: SharedStepEvent): MeasuredSharedStep => ({
  ranks,
  backend,
  whole: seconds(together.whole.median),
  quartiles: { low: seconds(together.whole.low), high: seconds(together.whole.high) },
});
