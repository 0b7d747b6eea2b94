/** What a benchmark measured, as timings of the kernels that its prediction launches. */

import { asUpdate } from '../../estimate/plan/planStep.ts';
import type { StepPlan } from '../../estimate/plan/stepPlan.ts';
import type { KernelWork } from '../../hardware/kernelWork.ts';
import { type Seconds, seconds } from '../../model/units.ts';
import type { MeasuredLayer } from '../benchmarkMeasurements.ts';
import type { KernelTiming } from './fitKernels.ts';
import { type TimedStep, waitsForHost } from './waitsForHost.ts';

/**
 * Of each layer forward, data gradient and weight gradient, each where it was timed; sums of gradients that several layers make,
 * which no layer has; and the update, unless its kernels waited for the host.
 */
export function timingsOfRun(
  { training, lowered, update }: Pick<StepPlan, 'training' | 'lowered' | 'update'>,
  measured: TimedStep,
): readonly KernelTiming[] {
  const { layers, step, gradientSums } = measured;
  const timings: KernelTiming[] = [];
  const add = (of: KernelTiming['of'], kernels: readonly KernelWork[], time: Seconds | undefined): void => {
    if (time !== undefined) timings.push({ kernels, time, of });
  };
  const sums: KernelWork[] = [];
  for (const { name, operators } of training.analysis.layers) {
    const kernelsOf = (part: 'forward' | 'backwardData' | 'backwardWeight'): readonly KernelWork[] =>
      operators.flatMap((index) => lowered.operators[index]?.[part] ?? []);
    const [handedBack, weights] = [kernelsOf('backwardData'), kernelsOf('backwardWeight')];
    const data = handedBack.filter(({ purpose }) => purpose !== 'gradient sum');
    sums.push(...handedBack.filter(({ purpose }) => purpose === 'gradient sum'));
    const layer = layers.get(name);
    if (layer === undefined) continue;
    add('forward', kernelsOf('forward'), layer.forward);
    for (const [of, ofWeights, time] of backwardOf(layer))
      add(of, ofWeights === undefined ? [...data, ...weights] : ofWeights ? weights : data, time);
  }
  add('step', sums, gradientSums?.seconds);
  if (!waitsForHost(measured)) add('step', asUpdate(update.kernels), step?.update);
  return timings;
}

/**
 * Parts of backward: whether each is of the weights. Where both gradients together take less than each alone, as where one kernel
 * computes both, that of the weights is what it adds to the other.
 */
function backwardOf({
  backward,
  dataGradient,
  weightGradient,
}: MeasuredLayer): readonly (readonly [KernelTiming['of'], boolean | undefined, Seconds | undefined])[] {
  if (backward === undefined || dataGradient === undefined || weightGradient === undefined)
    return [['backward', undefined, backward]];
  if (dataGradient + weightGradient <= shared * backward)
    return [
      ['backward', false, dataGradient],
      ['backward', true, weightGradient],
    ];
  const added = seconds(Math.max(backward - dataGradient, least * weightGradient));
  return [
    ['backward', false, dataGradient],
    ['step', true, added],
  ];
}

/** Of both gradients over each alone, from which they share kernels: timings differ by less. */
const shared = 1.1;
/** Of a weight gradient by itself: what a difference of two timings tells at least. */
const least = 0.05;
