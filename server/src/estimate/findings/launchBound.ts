/** `findings/launch-bound`: the GPU waits for the host to launch kernels during a share of the step. */

import { emptyKernelTime } from '../../hardware/kernelTime.ts';
import { thresholdOf } from '../../model/findingThresholds.ts';
import { formatCount, formatPercent, formatTime } from '../../model/format.ts';
import type { Finding } from '../../model/stepCost.ts';
import { seconds } from '../../model/units.ts';
import { batchWhere } from './batchWhere.ts';
import type { EstimatedStep } from './findings.ts';

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
  const host = launches * plan.behaviour.launch[0];
  const batch = batchWhere(plan.training.batch, (growth) => {
    const busy = floor + (ofModel - floor) * growth + ofUpdate;
    return busy >= (1 - threshold) * Math.max(busy, host);
  });
  const compile = 'compile the model so that fewer kernels are launched';
  return [
    {
      code: 'findings/launch-bound',
      severity: 'information',
      layer: '',
      message: `The GPU waits for the host during ${formatPercent(waiting)} of the step: ${formatCount(launches)} kernels of ${formatTime(onAverage)} on average, launched every ${formatTime(plan.behaviour.launch[0])}`,
      fix:
        batch === undefined
          ? `${compile.charAt(0).toUpperCase()}${compile.slice(1)}, or use a smaller GPU`
          : `Raise the batch per GPU to ${batch} or more, or ${compile}`,
      ...(batch === undefined ? {} : { change: { kind: 'batch', batch } }),
    },
  ];
}

const totalOf = (columns: readonly Float64Array[]): number =>
  columns.reduce((total, column) => column.reduce((part, value) => part + value, total), 0);
