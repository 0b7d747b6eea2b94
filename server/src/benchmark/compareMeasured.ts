/** Predicted beside measured, as rows for a table. Pure; knows nothing of how either is shown. */

import { computeOfStep } from '../estimate/computeOfStep.ts';
import type { LayerMeasurement, LayerMeasurements } from '../model/measurement.ts';
import type { LayerCost, StepCost } from '../model/stepCost.ts';
import type { Seconds } from '../model/units.ts';

export interface MeasuredComparison {
  readonly rows: readonly ComparedLayer[];
  readonly step: ComparedTime;
}

export interface ComparedLayer {
  readonly name: string;
  readonly type: string;
  readonly forward: ComparedTime;
  readonly backward: ComparedTime;
  /** Measured: backward for the data alone, and for the weights alone. */
  readonly dataGradient: Seconds | null;
  readonly weightGradient: Seconds | null;
}

export interface ComparedTime {
  readonly predicted: Seconds | null;
  readonly measured: Seconds | null;
  /** Measured over predicted; `null` where either is missing or the prediction is 0. */
  readonly ratio: number | null;
}

/**
 * One row per layer of the prediction, in its order. `cost` is the prediction alone, without
 * measurements in it. The step is compared without communication and input, as the benchmark runs it.
 */
export function compareMeasured(cost: StepCost, measurements: LayerMeasurements): MeasuredComparison {
  return {
    rows: cost.layers.map((layer) => {
      const measured = measurements.layers.get(layer.name);
      const predicted = predictedAlone(layer.time, measured);
      return {
        name: layer.name,
        type: layer.type,
        forward: compared(predicted.forward, measured?.forward),
        backward: compared(predicted.backward, measured?.backward),
        dataGradient: measured?.dataGradient ?? null,
        weightGradient: measured?.weightGradient ?? null,
      };
    }),
    step: compared(computeOfStep(cost), measurements.step),
  };
}

/** On a GPU layers are measured apart from the host: their kernels alone are what was predicted of that. */
const predictedAlone = (
  { kernels, forward, backward }: LayerCost['time'],
  measured: LayerMeasurement | undefined,
): Pick<LayerCost['time'], 'forward' | 'backward'> =>
  measured?.host === undefined || kernels === undefined ? { forward, backward } : kernels;

function compared(predicted: Seconds | null, measured: Seconds | undefined): ComparedTime {
  return {
    predicted,
    measured: measured ?? null,
    ratio: predicted === null || predicted === 0 || measured === undefined ? null : measured / predicted,
  };
}
