/** `findings/launch-bound`: the GPU waits for the host to launch kernels during a share of the step. */

import { hasOption } from '../../frameworks/registry.ts';
import { emptyKernelTime } from '../../hardware/kernelTime.ts';
import { capitalized } from '../../model/capitalized.ts';
import { thresholdOf } from '../../model/findingThresholds.ts';
import { formatCount, formatPercent, formatTime } from '../../model/format.ts';
import type { Finding } from '../../model/stepCost.ts';
import { seconds } from '../../model/units.ts';
import type { StepPlan } from '../plan/stepPlan.ts';
import { batchWhere } from './batchWhere.ts';
import type { EstimatedStep } from './estimatedStep.ts';

export function launchBound(step: EstimatedStep): readonly Finding[] {
  const { plan, timeline } = step;
  const { forward, backward } = plan.times;
  const model = plan.scenario.mode === 'training' ? [forward, backward] : [forward];
  const ofModel = totalOf(model.map(({ middle }) => middle));
  const ofUpdate = totalOf([plan.updateTimes.middle]);
  const threshold = thresholdOf(plan.scenario.thresholds, 'launch-bound');
  const waiting = timeline.hostTime / timeline.step;
  if (timeline.step === 0 || waiting < threshold) return [];
  const launches = totalOf([...model, plan.updateTimes].map((pass) => pass.launches));
  const onAverage = seconds((ofModel + ofUpdate) / Math.max(1, launches));
  // Only what is above the time of empty kernels grows with the batch; the host's work does not.
  const floor = emptyKernelTime * totalOf(model.map((pass) => pass.launches));
  const host = launches * plan.behaviour.launch.middle;
  const batch = batchWhere(plan.training.batch, (growth) => {
    const busy = floor + (ofModel - floor) * growth + ofUpdate;
    return busy >= (1 - threshold) * Math.max(busy, host);
  });
  const { advice, option } = compilation(plan);
  const otherwise = advice ?? 'use a smaller GPU';
  return [
    {
      code: 'findings/launch-bound',
      severity: 'information',
      layer: '',
      message: `The GPU waits for the host during ${formatPercent(waiting)} of the step: ${formatCount(launches)} kernels with a mean of ${formatTime(onAverage)}, launched every ${formatTime(plan.behaviour.launch.middle)}`,
      fix:
        batch === undefined
          ? `${capitalized(otherwise)}${advice === undefined ? '' : ', or use a smaller GPU'}`
          : `Raise the batch per GPU to ${batch} or more${advice === undefined ? '' : `, or ${advice}`}`,
      ...(batch !== undefined
        ? { change: { kind: 'batch', batch } }
        : option !== undefined
          ? { change: { kind: 'framework-option', ...option } }
          : {}),
    },
  ];
}

/** What compiling would still do: fuse kernels, and launch them together as a CUDA graph. */
function compilation({ behaviour, scenario }: StepPlan): {
  readonly advice?: string;
  readonly option?: { readonly name: string; readonly value: string };
} {
  if (!hasOption(behaviour.name, 'compile')) return {};
  const { compile = 'false' } = scenario.framework.options;
  if (compile === 'reduce-overhead' || compile === 'max-autotune') return {};
  const option = { name: 'compile', value: 'reduce-overhead' };
  return compile === 'false'
    ? { advice: 'compile the model (compile=reduce-overhead) to launch fewer kernels', option }
    : { advice: 'launch the kernels by CUDA graphs (compile=reduce-overhead)', option };
}

const totalOf = (columns: readonly Float64Array[]): number =>
  columns.reduce((total, column) => column.reduce((part, value) => part + value, total), 0);
