/**
 * `findings/load-imbalance`: workers wait for the slowest, because they are unlike or because a batch over all of them
 * does not divide.
 */

import { counted } from '../../model/counted.ts';
import { deviceNoun } from '../../model/deviceNoun.ts';
import { thresholdOf } from '../../model/findingThresholds.ts';
import { formatPercent, formatTime } from '../../model/format.ts';
import type { Finding } from '../../model/stepCost.ts';
import { seconds } from '../../model/units.ts';
import { waitingForSlower } from '../plan/plannedTimes.ts';
import { passesOf } from '../plan/stepPlan.ts';
import { saysHowWorkersDiffer } from '../plan/workerImbalance.ts';
import type { EstimatedStep } from './estimatedStep.ts';

export function loadImbalance({ plan, timeline }: EstimatedStep): readonly Finding[] {
  const { scenario, imbalance } = plan;
  const { gpus, globalBatch, batchPerGpu, workers } = scenario;
  if (gpus < 2 || timeline.step === 0) return [];
  const threshold = thresholdOf(scenario.thresholds, 'load-imbalance');
  const busy = timeline.forwardTime + timeline.backwardTime + timeline.updateTime - timeline.hostTime;
  const isTold = saysHowWorkersDiffer(workers);
  const unlike = isTold ? (busy * (1 - 1 / imbalance)) / timeline.step : 0;
  const passes = passesOf(scenario);
  const whole = batchPerGpu * passes * gpus;
  const idle = globalBatch === undefined ? 0 : 1 - globalBatch / whole;
  const findings: Finding[] = [];
  const { faster } = plan;
  const waits = waitingForSlower(plan, timeline.step);
  // The sum decides. Each part over the threshold is named, or the largest where none is.
  const parts = [waits / timeline.step, unlike, idle];
  const all = parts.reduce((total, part) => total + part, 0);
  if (all <= 0 || all < threshold) return [];
  const named = Math.min(threshold, Math.max(...parts));
  if (faster !== undefined && waits > 0 && waits >= named * timeline.step) {
    const [slow, fast] = [plan.cluster.gpu.title, faster.plan.cluster.gpu.title];
    findings.push({
      code: 'findings/load-imbalance',
      severity: 'warning',
      layer: '',
      message: `${faster.count} × ${fast} wait ${formatTime(waits)}, ${formatPercent(waits / timeline.step)} of the step, for ${gpus - faster.count} × ${slow}`,
      fix: `Remove ${slow}, give it fewer samples per step, or do not synchronize workers (an asynchronous parameter server)`,
    });
  }
  if (unlike > 0 && unlike >= named) {
    findings.push({
      code: 'findings/load-imbalance',
      severity: 'warning',
      layer: '',
      message: `Workers wait ${formatTime(seconds(unlike * timeline.step))}, ${formatPercent(unlike)} of the step, for the slowest of ${gpus}, which takes ${imbalance.toFixed(2)} times ${workers?.straggler === undefined ? 'the mean' : 'as long as the others'}`,
      fix: 'Give workers the same GPUs and the same amount of work (bucket samples by length), or find the slow worker',
    });
  }
  if (globalBatch !== undefined && idle > 0 && idle >= named) {
    const device = deviceNoun(plan.cluster.gpu);
    const divisor = passes * gpus;
    const among = passes === 1 ? counted(gpus, device) : `${passes} passes of ${counted(gpus, device)}`;
    findings.push({
      code: 'findings/load-imbalance',
      severity: 'warning',
      layer: '',
      message: `A batch of ${globalBatch} does not divide by ${among}: the busiest ${device} takes ${counted(batchPerGpu, 'sample')}${passes === 1 ? '' : ' in each'}, and ${formatPercent(idle)} of ${device} time is lost`,
      fix: `Use a batch of ${whole}${whole > divisor ? ` or ${whole - divisor}, multiples of ${divisor}` : ''}`,
    });
  }
  return findings;
}
