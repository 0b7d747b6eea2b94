/**
 * Measured times replace predicted ones: of layers by name, and of the whole step.
 *
 * They are of one GPU without communication and include the host, so they replace kernels and launches. Messages stay
 * predicted and overlap them. A measured step fills what was not measured, the update included, in proportion to the
 * prediction.
 */

import { floatAt } from '../../model/at.ts';
import { type Estimate, estimateOf } from '../../model/estimate.ts';
import type { Layer } from '../../model/graph.ts';
import type { LayerMeasurement, LayerMeasurements } from '../../model/measurement.ts';
import type { LayerCost } from '../../model/stepCost.ts';
import { type Seconds, seconds } from '../../model/units.ts';
import type { StepTimes } from '../../schedule/stepTimeline.ts';

/** Columns by operator, in the order of the graph, with middle, low and high times. */
export interface MeasuredWork {
  readonly given: LayerMeasurements;
  readonly forward: Estimate<Float64Array>;
  readonly backward: Estimate<Float64Array>;
  readonly update: Estimate<Seconds>;
}

/** `alone` is what one GPU is predicted to take, with middle, low and high times; backward in the order it runs. */
export function measuredWork(
  given: LayerMeasurements,
  layers: readonly Layer[],
  alone: Estimate<StepTimes>,
): MeasuredWork {
  const inGraphOrder = ({ backward }: StepTimes): Float64Array => backward.toReversed();
  const { middle } = alone;
  const fromStep = given.step === undefined ? undefined : fillOf(given, given.step, layers, middle);
  // What fills a measured step is not uncertain as a whole; without one the prediction keeps its bounds.
  const lines: Estimate<StepTimes> = fromStep === undefined ? alone : { middle, low: middle, high: middle };
  const scale = fromStep ?? 1;
  const replaced = (column: Float64Array, pass: 'forward' | 'backward'): Float64Array =>
    replaceLayers(column, layers, scale, (layer) => given.layers.get(layer.name)?.[pass]);
  const each = <Value>(make: (line: StepTimes) => Value): Estimate<Value> =>
    estimateOf((bound) => make(lines[bound]));
  return {
    given,
    forward: each(({ forward }) => replaced(forward, 'forward')),
    backward: each((line) =>
      line.backward.length === 0 ? line.backward : replaced(inGraphOrder(line), 'backward'),
    ),
    update: each(({ updateTime }) => seconds(updateTime * scale)),
  };
}

export const isMeasured = ({ layers, step }: LayerMeasurements): boolean =>
  layers.size > 0 || step !== undefined;

/** By what predicted times are multiplied to fill what the measured layers leave of the step. */
function fillOf(
  given: LayerMeasurements,
  step: Seconds,
  layers: readonly Layer[],
  { forward, backward, updateTime }: StepTimes,
): number {
  const last = forward.length - 1;
  let fixed = 0;
  let open: number = updateTime;
  for (const layer of layers) {
    const measured = given.layers.get(layer.name);
    for (const [pass, timeOf] of [
      ['forward', (operator: number) => floatAt(forward, operator)],
      ['backward', (operator: number) => (backward.length === 0 ? 0 : floatAt(backward, last - operator))],
    ] as const) {
      // Inference has no backward, whatever was measured of one.
      const time = pass === 'backward' && backward.length === 0 ? seconds(0) : measured?.[pass];
      if (time !== undefined) fixed += time;
      else for (const operator of layer.operators) open += timeOf(operator);
    }
  }
  return open === 0 ? 1 : Math.max(0, step - fixed) / open;
}

function replaceLayers(
  column: Float64Array,
  layers: readonly Layer[],
  scale: number,
  measuredTime: (layer: Layer) => Seconds | undefined,
): Float64Array {
  const result = new Float64Array(column.length);
  for (const layer of layers) {
    const time = measuredTime(layer);
    let predicted = 0;
    if (time !== undefined) for (const operator of layer.operators) predicted += floatAt(column, operator);
    const factor = time === undefined ? scale : predicted > 0 ? time / predicted : 0;
    for (const operator of layer.operators) result[operator] = floatAt(column, operator) * factor;
    const [first] = layer.operators;
    if (time !== undefined && predicted === 0 && first !== undefined) result[first] = time;
  }
  return result;
}

/** A layer with its measured times, or those that fill a measured step, of all passes; the others as they were. */
export function withMeasurement(
  layer: LayerCost,
  operators: Layer,
  work: MeasuredWork,
  passes: number,
): LayerCost {
  const { layers, step, origin } = work.given;
  const measured: LayerMeasurement = layers.get(layer.name) ?? {};
  const isReplaced = measured.forward !== undefined || measured.backward !== undefined;
  if (!isReplaced && step === undefined) return layer;
  // Inference has no column of backward.
  const total = (column: Float64Array): number =>
    column.length === 0
      ? 0
      : operators.operators.reduce((sum, operator) => sum + passes * floatAt(column, operator), 0);
  const { middle, low, high } = estimateOf(
    (bound) => total(work.forward[bound]) + total(work.backward[bound]),
  );
  const timeOf = (predicted: Seconds | null, given: Seconds | undefined, column: Float64Array) =>
    given === undefined || column.length === 0
      ? predicted === null
        ? null
        : seconds(total(column))
      : seconds(given * passes);
  const forward = timeOf(layer.time.forward, measured.forward, work.forward.middle);
  const backward = timeOf(layer.time.backward, measured.backward, work.backward.middle);
  return {
    ...layer,
    time: { ...layer.time, forward, backward },
    source: isReplaced ? 'measured' : layer.source,
    range:
      forward === null && backward === null
        ? null
        : { low: seconds(Math.min(middle, low, high)), high: seconds(Math.max(middle, low, high)) },
    notes: [isReplaced ? `measured: ${origin}` : `scaled to ${origin}`, ...layer.notes],
  };
}
