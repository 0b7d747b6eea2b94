/** `findings/slow-start`: a large share of a whole run is spent before its first step. */

import { thresholdOf } from '../../model/findingThresholds.ts';
import { formatPercent, formatTime } from '../../model/format.ts';
import type { Finding } from '../../model/stepCost.ts';
import { meanStep } from '../throughput.ts';
import { wholeRun } from '../wholeRun.ts';
import type { EstimatedStep } from './estimatedStep.ts';

export function slowStart({ plan, timeline, exact }: EstimatedStep): readonly Finding[] {
  const { scenario } = plan;
  const time = meanStep(plan, timeline.step);
  const run = wholeRun(plan, { time, isExact: exact, waitingForHost: null });
  if (run === undefined || run.initialisation === null || run.time === 0) return [];
  const share = run.initialisation / run.time;
  if (share < thresholdOf(scenario.thresholds, 'slow-start')) return [];
  const loading = run.loading ?? 0;
  const reads = scenario.gpus > 1 && loading > run.initialisation / 2;
  return [
    {
      code: 'findings/slow-start',
      severity: 'warning',
      layer: '',
      message: `${formatPercent(share)} of the run (${formatTime(run.initialisation)} of ${formatTime(run.time)}) is spent before its first step${loading > 0 ? `, including ${formatTime(run.loading)} to read the data set` : ''}${reads ? `: each of ${scenario.gpus} workers reads all of it` : ''}`,
      fix: reads
        ? 'Use fewer workers, stripe the file over more storage, or copy it to local disks'
        : 'Use fewer workers, faster storage, or a longer run per start',
    },
  ];
}
