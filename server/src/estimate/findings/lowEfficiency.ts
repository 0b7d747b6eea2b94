/**
 * `findings/low-efficiency` and `findings/slower-than-fewer`: what GPUs add is lost to waiting for each other.
 *
 * Efficiency is the step of a single GPU over the step here. It falls as GPUs are added, so that the largest
 * number that keeps it, of those that halve, is found by bisection.
 */

import { nodesFor } from '../../communication/placement.ts';
import type { Channel } from '../../frameworks/exchange.ts';
import { thresholdOf } from '../../model/findingThresholds.ts';
import { formatPercent } from '../../model/format.ts';
import type { Finding } from '../../model/stepCost.ts';
import { planForGpus, type StepPlan, timesOf } from '../plan/stepPlan.ts';
import { stepsByGpus } from '../stepsByGpus.ts';
import type { EstimatedStep } from './estimatedStep.ts';

export function lowEfficiency({ plan, timeline, alone }: EstimatedStep): readonly Finding[] {
  const { gpus, nodes, mode, thresholds } = plan.scenario;
  if (gpus < 2 || mode !== 'training' || timeline.step === 0 || alone === null) return [];
  const threshold = thresholdOf(thresholds, 'low-efficiency');
  const efficiency = alone / timeline.step;
  const steps = stepsByGpus(plan);
  if (nodes === nodesFor(plan.cluster, gpus)) steps.set(gpus, timeline.step);
  if (efficiency >= threshold) return [];
  const efficiencyOf = (fewer: number): number => {
    if (fewer === 1) return 1;
    const known = steps.get(fewer);
    if (known !== undefined) return alone / known;
    const there = planForGpus(plan, fewer);
    const most = alone / leastStep(there);
    // Where even that is too little, the timeline could only say so again.
    if (most < threshold) return most;
    const { step } = timesOf(there, 'middle');
    steps.set(fewer, step);
    return alone / step;
  };
  const { count, kept } = mostEfficient(gpus, threshold, efficiencyOf);
  const useful = gpus * efficiency;
  const slower = count * kept > useful;
  return [
    slower
      ? {
          code: 'findings/slower-than-fewer',
          severity: 'warning',
          layer: '',
          message: `${gpus} GPUs do the work of ${inWords(useful)} (efficiency ${formatPercent(efficiency)}), but ${count === 1 ? 'one does' : `${count} do`} the work of ${inWords(count * kept)}: the job is slower than on fewer GPUs`,
          fix: `Use ${count === 1 ? 'one GPU' : `${count} GPUs`}, or reduce communication: see the other findings`,
        }
      : {
          code: 'findings/low-efficiency',
          severity: 'warning',
          layer: '',
          message: `${gpus} GPUs do the work of ${inWords(useful)}: efficiency is ${formatPercent(efficiency)}. ${count === 1 ? `Two already have less than ${formatPercent(threshold)}` : `${count} still have ${formatPercent(kept)}`}`,
          fix: `Use ${count === 1 ? 'one GPU' : `at most ${count} GPUs`}, or hide communication: the other findings say where time is lost`,
        },
  ];
}

/** No step is shorter than what one of its channels carries in it, one message at a time. */
function leastStep({ traffic }: StepPlan): number {
  const busy = new Map<Channel, number>();
  for (const { stages, times, perStep } of traffic.routes) {
    stages.forEach(({ channel }, stage) => {
      busy.set(channel, (busy.get(channel) ?? 0) + (times[stage]?.time ?? 0) * perStep);
    });
  }
  return Math.max(0, ...busy.values());
}

const inWords = (count: number): string => (Math.round(count * 10) / 10).toString();

/** The largest of gpus/2, gpus/4, …, 1 that keeps the efficiency, and what it has. */
function mostEfficient(
  gpus: number,
  threshold: number,
  efficiencyOf: (gpus: number) => number,
): { readonly count: number; readonly kept: number } {
  const halved = (times: number): number => Math.max(1, Math.floor(gpus / 2 ** times));
  let fewest = Math.ceil(Math.log2(gpus));
  let kept = 1;
  let most = 0;
  while (fewest - most > 1) {
    const middle = (fewest + most) >> 1;
    const efficiency = efficiencyOf(halved(middle));
    if (efficiency >= threshold) {
      fewest = middle;
      kept = efficiency;
    } else most = middle;
  }
  return { count: halved(fewest), kept };
}
