/** The cost of one line: the sum over the layers that stand on it. */

import { formatTime } from '../model/format.ts';
import { knownPart } from '../model/knownPart.ts';
import type { LayerMeasurements } from '../model/measurement.ts';
import type { LayerCost } from '../model/stepCost.ts';
import { type Bytes, bytes, type Flops, flops, type Seconds, seconds } from '../model/units.ts';
import type { LayerRow, ModelView } from './modelView.ts';
import { layerNames } from './wholeLayers.ts';

export interface LineCost {
  readonly layers: number;
  readonly parameters: number;
  readonly flops: { readonly forward: Flops; readonly backward: Flops };
  readonly time: {
    readonly forward: Seconds;
    readonly backward: Seconds;
    readonly communication: Seconds;
    /** `null` where unknown work in backward may hide it. */
    readonly exposed: Seconds | null;
  };
  readonly gradient: Bytes;
  readonly saved: Bytes;
  readonly optimizerState: Bytes;
  /** False where a part of a layer is unknown and the rest is a lower bound. */
  readonly exact: boolean;
  /** True where nothing at all is known of the cost. */
  readonly unknown: boolean;
}

/** One walk over the layers: it is done for every line after every keystroke. */
export function lineCost(row: LayerRow): LineCost {
  let parameters = 0;
  let flopsForward = 0;
  let flopsBackward = 0;
  let forward = 0;
  let backward = 0;
  let communication = 0;
  let exposed: number | null = 0;
  let gradient = 0;
  let saved = 0;
  let optimizerState = 0;
  let exact = row.partial !== true;
  let unknown = true;
  for (const layer of row.layers) {
    const { time, memory } = layer;
    parameters += layer.parameters;
    flopsForward += knownPart(layer.flops.forward);
    flopsBackward += knownPart(layer.flops.backwardData) + knownPart(layer.flops.backwardWeight);
    forward += knownPart(time.forward);
    backward += knownPart(time.backward);
    communication += knownPart(time.communication);
    if (time.exposedCommunication === null) exposed = null;
    else if (exposed !== null) exposed += time.exposedCommunication;
    gradient += knownPart(memory.gradient);
    saved += knownPart(memory.activations);
    optimizerState += knownPart(memory.optimizerState);
    if (!isWhole(layer)) exact = false;
    if (time.forward !== null || layer.flops.forward !== null) unknown = false;
  }
  return {
    layers: layerNames(row).length,
    parameters,
    flops: { forward: flops(flopsForward), backward: flops(flopsBackward) },
    time: {
      forward: seconds(forward),
      backward: seconds(backward),
      communication: seconds(communication),
      exposed: exposed === null ? null : seconds(exposed),
    },
    gradient: bytes(gradient),
    saved: bytes(saved),
    optimizerState: bytes(optimizerState),
    exact,
    unknown,
  };
}

/** Whether nothing of what the layers on a line cost is unknown. */
export const isExact = (row: LayerRow): boolean => row.partial !== true && row.layers.every(isWhole);

const isWhole = ({ time, flops, unknown }: LayerCost): boolean =>
  time.forward !== null && flops.forward !== null && unknown === undefined;

/** Measured forward plus backward of a line, where every layer on it that costs time was measured. */
export function measuredTime(
  row: LayerRow,
  measurements: LayerMeasurements | undefined,
): Seconds | undefined {
  if (measurements === undefined) return undefined;
  let total = 0;
  let found = false;
  for (const layer of row.layers) {
    const measured = measurements.layers.get(layer.name);
    if (measured === undefined) {
      if ((layer.time.forward ?? 1) > 0) return undefined;
      continue;
    }
    found = true;
    total += knownPart(measured.forward) + knownPart(measured.backward);
  }
  return found ? seconds(total) : undefined;
}

/**
 * What is predicted for the device that was measured: forward and backward of a line; `undefined` where it has no profile
 * or a part is unknown.
 */
export function predictedOfDevice(row: LayerRow, { costOfDevice }: ModelView): LineTime | undefined {
  if (costOfDevice === undefined) return undefined;
  const names = new Set(row.layers.map(({ name }) => name));
  let forward = 0;
  let backward = 0;
  for (const { name, time } of costOfDevice.layers) {
    if (!names.has(name)) continue;
    if (time.forward === null || time.backward === null) return undefined;
    forward += time.forward;
    backward += time.backward;
  }
  return { forward: seconds(forward), backward: seconds(backward) };
}

/** Whether the times of the scenario are those of the device that was measured. */
export const isOfScenario = ({ estimate: { cost }, costOfDevice }: ModelView): boolean =>
  cost !== undefined &&
  costOfDevice !== undefined &&
  cost.gpu === costOfDevice.gpu &&
  cost.scenario.precision === costOfDevice.scenario.precision;

export interface LineTime {
  readonly forward: Seconds;
  readonly backward: Seconds;
}

/** `measured 3.75 ms on H200, predicted 3.61 ms`: a time of another GPU may stand before it, the scenario's. */
export const measuredText = (
  time: Seconds,
  { origin }: LayerMeasurements,
  predicted?: Seconds | null,
): string =>
  `measured ${formatTime(time)} on ${deviceOf(origin)}${predicted === undefined || predicted === null ? '' : `, predicted ${formatTime(predicted)}`}`;

/** The device of "NVIDIA H200, torch 2.13.0, 2026-11-21"; which processor it was, the hover says. */
const deviceOf = (origin: string): string =>
  /^CPU\b/.test(origin) ? 'CPU' : (origin.split(',')[0] ?? origin).replace(/^NVIDIA /, '');
