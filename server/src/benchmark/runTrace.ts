/** Runs one step of a plan under torch.profiler: kernels by layer, gaps of the host, and a trace for Perfetto. */

import { seconds } from '../model/units.ts';
import type { LayerKernelsEvent, StepEvent, TracedStepEvent } from './benchmarkEvents.ts';
import { CollectedRun, type MeasuringEvent } from './collectedRun.ts';
import { deviceOf } from './deviceOf.ts';
import type { BenchmarkDevice } from './deviceSchema.ts';
import { followRunner } from './followRunner.ts';
import type { BenchmarkPlan } from './planSchema.ts';
import type { RunnerOptions } from './runnerOptions.ts';

/** Times in seconds. */
export interface MeasuredTrace {
  readonly device: BenchmarkDevice;
  readonly step: TracedStep;
  /** By layer, those that launched anything. */
  readonly layers: ReadonlyMap<string, LayerKernels>;
  /** The step without the profiler; absent where it could not be measured. */
  readonly untraced?: number;
  /** gzip of the JSON that Perfetto and chrome://tracing read. */
  readonly file: Uint8Array;
  readonly notes: readonly string[];
}

export type LayerKernels = Pick<LayerKernelsEvent, 'forward' | 'backward'>;
export type TracedStep = Omit<TracedStepEvent, 'event'>;

/** Never rejects: what goes wrong is a failure with a message, beside what was measured until then. */
export const runTrace = (plan: BenchmarkPlan, options: RunnerOptions) =>
  followRunner({ ...plan, traced: true }, new CollectedTrace(), {
    ...options,
    batch: plan.batch,
    totalSeconds: Math.max(600, 10 * plan.budgetSeconds),
  });

class CollectedTrace extends CollectedRun<MeasuredTrace> {
  readonly #layers = new Map<string, LayerKernels>();
  readonly #parts: Buffer[] = [];
  #traced: TracedStep | undefined;
  #step: StepEvent | undefined;

  protected measured(event: MeasuringEvent): void {
    switch (event.event) {
      case 'layerKernels': {
        const { event: _, name, ...directions } = event;
        this.#layers.set(name, directions);
        return;
      }
      case 'tracedStep': {
        const { event: _, ...traced } = event;
        this.#traced = traced;
        return;
      }
      case 'traceFile':
        this.#parts.push(Buffer.from(event.part, 'base64'));
        return;
      case 'step':
        this.#step = event;
    }
  }

  get firstReason(): string {
    return this.#step?.reason ?? this.notes[0] ?? '';
  }

  get measurements(): MeasuredTrace | undefined {
    if (this.device === undefined || this.#traced === undefined) return undefined;
    const whole = this.#step?.whole;
    return {
      device: deviceOf(this.device),
      step: this.#traced,
      layers: this.#layers,
      ...(whole == null ? {} : { untraced: seconds(whole.median) }),
      file: Buffer.concat(this.#parts),
      notes: this.notes,
    };
  }
}
