/**
 * `findings/low-efficiency` and `findings/slower-than-fewer`: what GPUs add is lost to waiting for each other.
 *
 * Weak scaling efficiency is the step of a single GPU over the step here; of sharded training, of one that updates as much
 * as each does here. It falls as GPUs are added, so that the largest
 * number that keeps it, of those that halve, is found by bisection.
 */

import { nodesFor } from '../../communication/placement.ts';
import type { Channel } from '../../frameworks/exchange.ts';
import { itemAt } from '../../model/at.ts';
import { deviceNoun } from '../../model/deviceNoun.ts';
import { thresholdOf } from '../../model/findingThresholds.ts';
import { formatPercent, formatTime } from '../../model/format.ts';
import type { Finding } from '../../model/stepCost.ts';
import { tally } from '../../model/tally.ts';
import { seconds } from '../../model/units.ts';
import { memoryOf } from '../memory/memoryOf.ts';
import { timesAlone, timesOf } from '../plan/plannedTimes.ts';
import { planForGpus } from '../plan/planStep.ts';
import type { StepPlan } from '../plan/stepPlan.ts';
import { stepsByGpus } from '../stepsByGpus.ts';
import type { EstimatedStep } from './estimatedStep.ts';
import { largestBatch } from './outOfMemory.ts';

export function lowEfficiency({ plan, timeline, alone }: EstimatedStep): readonly Finding[] {
  const { gpus, nodes, mode, thresholds } = plan.scenario;
  if (gpus < 2 || mode !== 'training' || timeline.step === 0 || alone === null) return [];
  const threshold = thresholdOf(thresholds, 'low-efficiency');
  const isSharded = plan.exchange.shards.optimizerState > 1 && plan.exchange.update !== 'at servers';
  const baseline = isSharded ? updatingShard(plan) : alone;
  const efficiency = baseline / timeline.step;
  const steps = stepsByGpus(plan);
  if (nodes === nodesFor(plan.cluster, gpus)) steps.set(gpus, timeline.step);
  if (efficiency >= threshold) return [];
  const efficiencyOf = (fewer: number): number => {
    if (fewer === 1) return 1;
    const known = steps.get(fewer);
    if (known !== undefined && !isSharded) return alone / known;
    const there = planForGpus(plan, fewer);
    const base = isSharded ? updatingShard(there) : alone;
    const most = base / leastStep(there);
    // Where even that is too little, the timeline could only say so again.
    if (most < threshold) return most;
    const { step } = known === undefined ? timesOf(there, 'middle') : { step: known };
    steps.set(fewer, step);
    return base / step;
  };
  const { count, kept } = mostEfficient(gpus, threshold, efficiencyOf);
  const useful = gpus * efficiency;
  const there = isSharded ? planForGpus(plan, count) : undefined;
  const baseThere = there === undefined ? alone : updatingShard(there);
  // By samples per second: of sharded training a GPU updates more where there are fewer.
  const slower = (count * kept) / baseThere > useful / baseline;
  const fits = there === undefined || largestBatch(memoryOf(there)) >= plan.training.batch;
  const lost = timeline.step - baseline;
  const forHost = timeline.hostTime - timesAlone(plan, 'middle').hostTime;
  const byHost =
    forHost > lost / 2
      ? `launch fewer kernels: the GPU waits ${formatTime(seconds(forHost))} longer for the host than a single GPU does`
      : undefined;
  const device = deviceNoun(plan.cluster.gpu);
  const those = count === 1 ? `one ${device}` : `${count} ${device}s`;
  const fewer = count === 1 ? those : `at most ${those}`;
  const ofWhat = isSharded ? 'It is that of a GPU that updates its shard and waits for nobody. ' : '';
  return [
    slower
      ? {
          code: 'findings/slower-than-fewer',
          severity: 'warning',
          layer: '',
          message: `The job is slower than on fewer ${device}s: ${gpus} do the work of ${inWords(useful)}, ${count === 1 ? 'one' : count} that of ${inWords(count * kept)}. Weak scaling efficiency is ${formatPercent(efficiency)}`,
          fix: `Use ${those}, or ${byHost ?? 'reduce communication: see the other findings'}`,
        }
      : {
          code: 'findings/low-efficiency',
          severity: 'warning',
          layer: '',
          message: `${gpus} ${device}s do the work of ${inWords(useful)}: weak scaling efficiency is ${beside(efficiency, threshold)}. ${ofWhat}${count === 1 ? `Two already have less than ${formatPercent(threshold)}` : `${count} still have ${beside(kept, threshold)}`}`,
          fix: `${fits ? `Use ${fewer}` : `Raise the batch per ${device} (${those} ${count === 1 ? 'has' : 'have'} no memory for the step)`}, or ${byHost ?? 'hide communication: the other findings say where time is lost'}`,
        },
  ];
}

/**
 * The step of one GPU that sends nothing and updates its shard alone. A GPU that updates all parameters takes longer, so
 * that sharded training would seem efficient however long it waits.
 */
const updatingShard = (plan: StepPlan): number =>
  timesAlone({ ...plan, wholeUpdateTimes: plan.updateTimes }, 'middle').step;

/** No step is shorter than what one of its channels carries in it, one message at a time. */
function leastStep({ traffic }: StepPlan): number {
  const busy = new Map<Channel, number>();
  for (const { stages, times, perStep } of traffic.routes) {
    stages.forEach(({ channel }, stage) => {
      tally(busy, channel, itemAt(times, stage).time * perStep);
    });
  }
  return Math.max(0, ...busy.values());
}

/** A share close to a limit with a digit more, so that one below does not read as the limit. */
const beside = (share: number, limit: number): string =>
  formatPercent(share) === formatPercent(limit) ? `${(100 * share).toFixed(1)} %` : formatPercent(share);

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
