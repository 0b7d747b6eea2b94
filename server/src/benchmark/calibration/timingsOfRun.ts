/** What a benchmark measured, as timings of the kernels that its prediction launches. */

import { asUpdate, type StepPlan } from '../../estimate/plan/stepPlan.ts';
import type { KernelWork } from '../../hardware/kernelWork.ts';
import type { Seconds } from '../../model/units.ts';
import type { MeasuredLayer } from '../benchmarkMeasurements.ts';
import type { KernelTiming } from './fitKernels.ts';

/** Of each layer forward, data gradient and weight gradient, each where it was timed; and the update. */
export function timingsOfRun(
  { training, lowered, update }: Pick<StepPlan, 'training' | 'lowered' | 'update'>,
  layers: ReadonlyMap<string, MeasuredLayer>,
  updateTime: Seconds | undefined,
): readonly KernelTiming[] {
  const timings: KernelTiming[] = [];
  const add = (of: KernelTiming['of'], kernels: readonly KernelWork[], time: Seconds | undefined): void => {
    if (time !== undefined) timings.push({ kernels, time, of });
  };
  for (const { name, operators } of training.analysis.layers) {
    const measured = layers.get(name);
    if (measured === undefined) continue;
    const kernelsOf = (part: 'forward' | 'backwardData' | 'backwardWeight'): readonly KernelWork[] =>
      operators.flatMap((index) => lowered.operators[index]?.[part] ?? []);
    const [data, weights] = [kernelsOf('backwardData'), kernelsOf('backwardWeight')];
    add('forward', kernelsOf('forward'), measured.forward);
    if (measured.dataGradient !== undefined && measured.weightGradient !== undefined) {
      add('backward', data, measured.dataGradient);
      add('backward', weights, measured.weightGradient);
    } else add('backward', [...data, ...weights], measured.backward);
  }
  add('step', asUpdate(update.kernels), updateTime);
  return timings;
}
