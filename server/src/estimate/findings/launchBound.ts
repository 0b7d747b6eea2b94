/** `findings/launch-bound`: the GPU waits for the host to launch kernels during a share of the step. */

import { thresholdOf } from '../../model/findingThresholds.ts';
import { formatCount, formatPercent, formatTime } from '../../model/format.ts';
import type { Finding } from '../../model/stepCost.ts';
import { seconds } from '../../model/units.ts';
import type { EstimatedStep } from './findings.ts';

export function launchBound({ plan, timeline }: EstimatedStep): readonly Finding[] {
  const { forward, backward } = plan.times;
  const passes = plan.scenario.mode === 'training' ? [forward, backward, plan.updateTimes] : [forward];
  const launches = passes.reduce((total, pass) => total + sumOf(pass.launches), 0);
  const device = passes.reduce((total, pass) => total + sumOf(pass.middle), 0);
  const busyOrSending = device + timeline.exposedTime;
  const waiting = timeline.step - busyOrSending;
  const threshold = thresholdOf(plan.scenario.thresholds, 'launch-bound');
  if (timeline.step === 0 || waiting < threshold * timeline.step) return [];
  const host = seconds(launches * plan.behaviour.launch[0]);
  const batch = Math.ceil((plan.training.batch * host) / Math.max(device, 1e-9));
  return [
    {
      code: 'findings/launch-bound',
      severity: 'information',
      layer: '',
      message: `The GPU waits for the host during ${formatPercent(waiting / timeline.step)} of the step: ${formatCount(launches)} kernels of ${formatTime(seconds(device / Math.max(1, launches)))} on average, launched every ${formatTime(plan.behaviour.launch[0])}`,
      fix: `Raise the batch per GPU towards ${batch}, or compile the model so that fewer kernels are launched`,
      change: { kind: 'batch', batch },
    },
  ];
}

function sumOf(column: Float64Array): number {
  let total = 0;
  for (let index = 0; index < column.length; index += 1) total += column[index] ?? 0;
  return total;
}
