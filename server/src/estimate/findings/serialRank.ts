/** `findings/serial-rank`: every worker waits while the first one gathers from each, one by one. */

import { itemAt } from '../../model/at.ts';
import { thresholdOf } from '../../model/findingThresholds.ts';
import { formatPercent, formatTime } from '../../model/format.ts';
import type { Finding } from '../../model/stepCost.ts';
import { seconds } from '../../model/units.ts';
import type { EstimatedStep } from './estimatedStep.ts';

export function serialRank({ plan, timeline }: EstimatedStep): readonly Finding[] {
  let time = 0;
  for (const { stages, times, perStep } of plan.traffic.routes) {
    stages.forEach(({ operation }, position) => {
      if (operation.kind === 'gather at rank 0') time += perStep * itemAt(times, position).time;
    });
  }
  if (time === 0 || time < thresholdOf(plan.scenario.thresholds, 'serial-rank') * timeline.step) return [];
  const workers = plan.scenario.gpus;
  return [
    {
      code: 'findings/serial-rank',
      severity: 'warning',
      layer: '',
      message: `Rank 0 exchanges a header with each of ${workers - 1} other workers, one by one: ${formatTime(seconds(time))}, ${formatPercent(time / timeline.step)} of the step, growing linearly with the number of workers`,
      fix: 'Raise the batch per GPU for fewer, longer steps, use fewer workers, or use a framework without header exchange',
    },
  ];
}
