/**
 * Measured times of a model: what a benchmark run, a profiler or a trace file gives, and `planStep`
 * (estimate/) puts in the place of predicted compute.
 */

import type { Seconds } from './units.ts';

export interface LayerMeasurements {
  /** Where it ran, for notes and labels: "NVIDIA H200, torch 2.13.0, 2026-11-21" or the name of a trace file. */
  readonly origin: string;
  /** By `LayerCost.name`. A layer that is absent keeps its predicted time. */
  readonly layers: ReadonlyMap<string, LayerMeasurement>;
  /** The whole step on one GPU without communication: forward, backward and update. */
  readonly step?: Seconds;
  /** Lines for a report: whether the layers add up to the step, and why not. */
  readonly notes?: readonly string[];
}

/** Times of one layer on one GPU, at the scenario's batch and precision. Absent where it was not measured. */
export interface LayerMeasurement {
  readonly forward?: Seconds;
  readonly backward?: Seconds;
  /** Backward for the data alone, and for the weights alone. */
  readonly dataGradient?: Seconds;
  readonly weightGradient?: Seconds;
  /** Of the host, to launch each part, where the times above are of the GPU alone; absent on a processor. */
  readonly host?: HostTimes;
}

export interface HostTimes {
  readonly forward?: Seconds;
  readonly backward?: Seconds;
  readonly dataGradient?: Seconds;
  readonly weightGradient?: Seconds;
}
