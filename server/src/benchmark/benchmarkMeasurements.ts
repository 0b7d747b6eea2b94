/** What one benchmark run measured, and what it did not and why. Satisfies `LayerMeasurements`. */

import type { Range } from '../model/estimate.ts';
import type { LayerMeasurement, LayerMeasurements } from '../model/measurement.ts';
import type { Seconds } from '../model/units.ts';
import type { BenchmarkDevice } from './deviceSchema.ts';
import type { Machine } from './machine.ts';
import type { MachineState } from './machineState.ts';

export interface BenchmarkMeasurements extends LayerMeasurements {
  readonly device: BenchmarkDevice;
  /** Absent where the run ended before the runner looked. */
  readonly machineState?: MachineState;
  readonly layers: ReadonlyMap<string, MeasuredLayer>;
  /** Of the whole step; `step` is its median. Absent where the step could not run. */
  readonly wholeStep?: MeasuredStep;
  /** Where several processes shared the step; `wholeStep` is that of the same processes without communication. */
  readonly sharedStep?: MeasuredSharedStep;
  /** Of gradients that arrive from several layers, in one pass: part of the step and of no layer. */
  readonly gradientSums?: { readonly count: number; readonly seconds: Seconds };
  /** Layers that could not be measured, and the step under the name '', each with the reason. */
  readonly notMeasured: ReadonlyMap<string, string>;
  /** What a reader must know to judge the times: fallbacks, shapes that differ from the prediction. */
  readonly notes: readonly string[];
  /** Where a launcher reached it: the machine, with the launcher's words. */
  readonly reached?: Machine;
  /** The step as Python; absent where it could not be written. */
  readonly program?: string;
}

export interface MeasuredLayer extends LayerMeasurement {
  /** From the lower to the upper quartile. */
  readonly forwardQuartiles?: Range<Seconds>;
  readonly backwardQuartiles?: Range<Seconds>;
  /** Forward where the layer runs within the whole network. */
  readonly forwardInStep?: Seconds;
}

export interface MeasuredStep {
  readonly whole: Seconds;
  /** From the lower to the upper quartile. */
  readonly quartiles: Range<Seconds>;
  readonly forward?: Seconds;
  readonly backward?: Seconds;
  readonly update?: Seconds;
  /** Allocated by tensors. */
  readonly peakMemoryBytes?: number;
  /** Taken from the driver, with what torch keeps for later. */
  readonly peakReservedBytes?: number;
  /** Of the host, to launch the step; absent on a processor. */
  readonly host?: Seconds;
  readonly repeats: number;
  /** The whole step once more, after all layers. */
  readonly again?: Seconds;
}

export interface MeasuredSharedStep {
  readonly ranks: number;
  /** Of torch.distributed: nccl, gloo. */
  readonly backend: string;
  readonly whole: Seconds;
  /** From the lower to the upper quartile. */
  readonly quartiles: Range<Seconds>;
}

/** What a person reads beside a time: "NVIDIA H200, torch 2.13.0, 2026-11-21". */
export const originOf = ({ name, torch }: Pick<BenchmarkDevice, 'name' | 'torch'>, date: Date): string =>
  `${name}, torch ${torch}, ${date.toISOString().slice(0, 10)}`;
