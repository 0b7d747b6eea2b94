/** `findings/launch-bound`: the GPU waits for the host to launch kernels during a share of the step. */

import { takesOption } from '../../frameworks/registry.ts';
import { emptyKernelTime } from '../../hardware/kernelTime.ts';
import { capitalized } from '../../model/capitalized.ts';
import { thresholdOf } from '../../model/findingThresholds.ts';
import { formatCount, formatPercent, formatTime } from '../../model/format.ts';
import type { Finding } from '../../model/stepCost.ts';
import { type Seconds, seconds } from '../../model/units.ts';
import { timesOf } from '../plan/plannedTimes.ts';
import { passTimesOf, type StepPlan } from '../plan/stepPlan.ts';
import { batchWhere } from './batchWhere.ts';
import type { EstimatedStep } from './estimatedStep.ts';

export function launchBound(step: EstimatedStep): readonly Finding[] {
  const { plan, timeline } = step;
  const threshold = thresholdOf(plan.scenario.thresholds, 'launch-bound');
  const waiting = timeline.hostTime / timeline.step;
  if (timeline.step === 0 || waiting < threshold) return [];
  const { launches, ofModel, ofUpdate } = kernelsOf(plan);
  const onAverage = seconds((ofModel + ofUpdate) / Math.max(1, launches));
  const found = batchWhere(plan, (there, growth) => {
    if (growth === 1) {
      const { hostTime, step: time } = timesOf(there, 'middle');
      return threshold * time - hostTime;
    }
    const kernels = kernelsOf(there);
    // Only what is above the time of empty kernels grows with the batch; the host's work does not.
    const busy = kernels.floor + (kernels.ofModel - kernels.floor) * growth + kernels.ofUpdate;
    return busy - (1 - threshold) * Math.max(busy, kernels.hostLaunches * there.behaviour.launch.middle);
  });
  const batch = found?.batch;
  const { advice, option } = compilation(plan);
  const otherwise = advice ?? 'use a smaller GPU';
  return [
    {
      code: 'findings/launch-bound',
      severity: 'information',
      layer: '',
      message: `The GPU waits for the host during ${formatPercent(waiting)} of the step. ${kernelsText(launches, onAverage, plan)}`,
      fix:
        batch === undefined
          ? `${capitalized(otherwise)}${advice === undefined ? '' : ', or use a smaller GPU'}`
          : `Raise the batch per GPU to ${found?.plan === undefined ? 'about ' : ''}${batch}${advice === undefined ? '' : `, or ${advice}`}`,
      ...(found?.plan !== undefined
        ? { change: { kind: 'batch', batch: found.batch } }
        : option !== undefined
          ? { change: { kind: 'framework-option', ...option } }
          : {}),
    },
  ];
}

/** `1,228 kernels with a mean of 6.78 µs are launched every 37.0 µs`. */
export const kernelsText = (launches: number, onAverage: Seconds, { behaviour }: StepPlan): string =>
  `${formatCount(launches)} kernels with a mean of ${formatTime(onAverage)} are launched every ${formatTime(behaviour.launch.middle)}`;

interface Kernels {
  readonly launches: number;
  /** What the host does, in launches. */
  readonly hostLaunches: number;
  /** Seconds, of the model and of the update; `floor` were the model's kernels empty. */
  readonly ofModel: number;
  readonly ofUpdate: number;
  readonly floor: number;
}

export function kernelsOf(plan: StepPlan): Kernels {
  const { updateTimes, scenario } = plan;
  const { forward, backward } = passTimesOf(plan);
  const model = scenario.mode === 'training' ? [forward, backward] : [forward];
  const ofPasses = totalOf(model.map((pass) => pass.launches));
  return {
    launches: ofPasses + totalOf([updateTimes.launches]),
    hostLaunches: ofPasses + updateTimes.hostLaunches,
    ofModel: totalOf(model.map(({ middle }) => middle)),
    ofUpdate: totalOf([updateTimes.middle]),
    floor: emptyKernelTime * ofPasses,
  };
}

/** What compiling would still do: fuse kernels, and launch them together as a CUDA graph. */
export function compilation({ scenario }: Pick<StepPlan, 'scenario'>): {
  readonly advice?: string;
  readonly option?: { readonly name: string; readonly value: string };
} {
  const option = { name: 'compile', value: 'reduce-overhead' };
  if (!takesOption(scenario.framework, option.name, option.value)) return {};
  const { compile = 'false' } = scenario.framework.options;
  if (compile === 'reduce-overhead' || compile === 'max-autotune') return {};
  return compile === 'false'
    ? { advice: 'compile the model (compile=reduce-overhead) to launch fewer kernels', option }
    : { advice: 'launch the kernels by CUDA graphs (compile=reduce-overhead)', option };
}

const totalOf = (columns: readonly Float64Array[]): number =>
  columns.reduce((total, column) => column.reduce((part, value) => part + value, total), 0);
