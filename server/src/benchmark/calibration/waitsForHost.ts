/** Whether a step took longer than its kernels, because the GPU waited for its host. */

import type { Seconds } from '../../model/units.ts';
import type { BenchmarkMeasurements, MeasuredLayer, MeasuredStep } from '../benchmarkMeasurements.ts';

export interface TimedStep {
  readonly layers: ReadonlyMap<string, MeasuredLayer>;
  readonly step?: Partial<Pick<MeasuredStep, 'whole' | 'update' | 'host'>> | undefined;
  readonly gradientSums?: BenchmarkMeasurements['gradientSums'] | undefined;
}

/** Never on a processor, which is its own host. Layers without a time only make it less likely to be seen. */
export function waitsForHost({ layers, step, gradientSums }: TimedStep): boolean {
  if (step?.host === undefined || step.whole === undefined || layers.size === 0) return false;
  const parts: readonly (Seconds | undefined)[] = [
    ...[...layers.values()].flatMap(({ forward, backward }) => [forward, backward]),
    gradientSums?.seconds,
    step.update,
  ];
  const kernels = parts.reduce<number>((sum, time) => sum + (time === undefined ? 0 : time), 0);
  return step.whole > tolerance * kernels;
}

/** Layers alone add up to what kernels of a step take within this. */
const tolerance = 1.08;
