/**
 * `findings/load-imbalance`: workers wait for the slowest, because they are unlike or because a batch over all of them
 * does not divide.
 */

import { thresholdOf } from '../../model/findingThresholds.ts';
import { formatPercent, formatTime } from '../../model/format.ts';
import type { Finding } from '../../model/stepCost.ts';
import { seconds } from '../../model/units.ts';
import type { EstimatedStep } from './findings.ts';

export function loadImbalance({ plan, timeline }: EstimatedStep): readonly Finding[] {
  const { scenario, imbalance } = plan;
  const { gpus, globalBatch, batchPerGpu } = scenario;
  if (gpus < 2 || timeline.step === 0) return [];
  const threshold = thresholdOf(scenario.thresholds, 'load-imbalance');
  const busy = timeline.forwardTime + timeline.backwardTime + timeline.updateTime - timeline.hostTime;
  const unlike = (busy * (1 - 1 / imbalance)) / timeline.step;
  const idle = globalBatch === undefined ? 0 : 1 - globalBatch / (batchPerGpu * gpus);
  const findings: Finding[] = [];
  if (unlike >= threshold) {
    findings.push({
      code: 'findings/load-imbalance',
      severity: 'warning',
      layer: '',
      message: `Workers wait ${formatTime(seconds(unlike * timeline.step))}, ${formatPercent(unlike)} of the step, for the slowest of ${gpus}, which takes ${imbalance.toFixed(2)} times the average`,
      fix: 'Give workers the same GPUs and the same amount of work (bucket samples by length), or find the slow one',
    });
  }
  if (globalBatch !== undefined && idle >= threshold) {
    const divides = batchPerGpu * gpus;
    findings.push({
      code: 'findings/load-imbalance',
      severity: 'warning',
      layer: '',
      message: `A batch of ${globalBatch} does not divide by ${gpus} GPUs: the busiest takes ${batchPerGpu} samples, and ${formatPercent(idle)} of the GPUs' time is lost`,
      fix: `Use a batch of ${divides} or of ${divides - gpus}, which divide by ${gpus}`,
    });
  }
  return findings;
}
