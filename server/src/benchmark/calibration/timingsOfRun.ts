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
  const add = (kernels: readonly KernelWork[], time: Seconds | undefined): void => {
    if (time !== undefined && kernels.length > 0) timings.push({ kernels, time });
  };
  for (const { name, operators } of training.analysis.layers) {
    const measured = layers.get(name);
    if (measured === undefined) continue;
    const kernelsOf = (part: 'forward' | 'backwardData' | 'backwardWeight'): readonly KernelWork[] =>
      operators.flatMap((index) => lowered.operators[index]?.[part] ?? []);
    const [data, weights] = [kernelsOf('backwardData'), kernelsOf('backwardWeight')];
    add(kernelsOf('forward'), measured.forward);
    const isApart = measured.dataGradient !== undefined && measured.weightGradient !== undefined;
    add(isApart ? data : [], measured.dataGradient);
    add(isApart ? weights : [], measured.weightGradient);
    add(isApart ? [] : [...data, ...weights], measured.backward);
  }
  add(asUpdate(update.kernels), updateTime);
  return timings;
}
