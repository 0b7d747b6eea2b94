/** The cost of one line: the sum over the layers that stand on it. */

import { formatTime } from '../model/format.ts';
import type { LayerMeasurements } from '../model/measurement.ts';
import type { LayerCost } from '../model/stepCost.ts';
import { type Bytes, bytes, type Flops, flops, type Seconds, seconds } from '../model/units.ts';
import type { LayerRow } from './modelView.ts';

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

export function lineCost(row: LayerRow): LineCost {
  const total = (part: (layer: LayerCost) => number | null): number =>
    row.layers.reduce((sum, layer) => sum + (part(layer) ?? 0), 0);
  const missing = (layer: LayerCost): boolean =>
    layer.unknown !== undefined || layer.time.forward === null || layer.flops.forward === null;
  return {
    layers: row.layers.length,
    parameters: total((layer) => layer.parameters),
    flops: {
      forward: flops(total((layer) => layer.flops.forward)),
      backward: flops(
        total((layer) => layer.flops.backwardData) + total((layer) => layer.flops.backwardWeight),
      ),
    },
    time: {
      forward: seconds(total((layer) => layer.time.forward)),
      backward: seconds(total((layer) => layer.time.backward)),
      communication: seconds(total((layer) => layer.time.communication)),
      exposed: row.layers.some((layer) => layer.time.exposedCommunication === null)
        ? null
        : seconds(total((layer) => layer.time.exposedCommunication)),
    },
    gradient: bytes(total((layer) => layer.memory.gradient)),
    saved: bytes(total((layer) => layer.memory.activations)),
    optimizerState: bytes(total((layer) => layer.memory.optimizerState)),
    exact: !row.layers.some(missing),
    unknown: row.layers.every((layer) => layer.time.forward === null && layer.flops.forward === null),
  };
}

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
    total += (measured.forward ?? 0) + (measured.backward ?? 0);
  }
  return found ? seconds(total) : undefined;
}

/** `measured 3.75 ms on CPU`: a time that no GPU took must not look like one. */
export const measuredText = (time: Seconds, measurements: LayerMeasurements | undefined): string =>
  `measured ${formatTime(time)}${/^CPU\b/.test(measurements?.origin ?? '') ? ' on CPU' : ''}`;
