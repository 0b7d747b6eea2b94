/** What serves a goal, why the next loses, and the layouts that no other beats. */

import {
  type chooseLayout,
  gpuSecondsOf,
  moneyOf,
  type PlanGoal,
  runTimeOf,
} from '../../estimate/planner/chooseLayout.ts';
import { parallelText, stepText } from '../../estimate/planner/parallelText.ts';
import { memoryOf, type PlannedLayout, paretoFront } from '../../estimate/planner/paretoFront.ts';
import { layoutColumns } from '../../estimate/report/columns.ts';
import { counted } from '../../model/counted.ts';
import { atLeast, formatCount, formatDigits, formatTime } from '../../model/format.ts';
import { gpuMemory, markedMemory } from '../../model/gpuMemory.ts';
import { seconds } from '../../model/units.ts';

export interface AskedGoal {
  readonly goal: PlanGoal;
  /** Seconds of a run. */
  readonly deadline?: number;
}

export function goalText(result: ReturnType<typeof chooseLayout>, { goal, deadline }: AskedGoal): string {
  if ('problem' in result) return `${result.problem}.`;
  const within = deadline === undefined ? '' : ` within ${formatTime(seconds(deadline))}`;
  const { chosen, why } = result;
  const goalName = { fastest: 'Fastest', cheapest: 'Cheapest', fewest: 'Fewest GPUs' }[goal];
  return `${goalName}${within}: ${counted(chosen.gpus, 'GPU')}, ${parallelText(chosen.layout)}, ${stepText(chosen.layout)} a step.${why === '' ? '' : ` ${why}`}`;
}

const isExact = ({ layout }: PlannedLayout): boolean => layout.cost.totals.time.exact;

export function frontTable(layouts: readonly PlannedLayout[], top: number): string {
  const front = paretoFront(layouts).slice(0, top);
  const hasRun = front.some((each) => runTimeOf(each) !== undefined);
  const lines = layoutColumns(
    [
      { title: 'GPUs', align: 'right' },
      { title: 'layout', align: 'left' },
      { title: 'checkpoint', align: 'left' },
      { title: 'framework', align: 'left' },
      { title: 'step', align: 'right' },
      { title: 'memory', align: 'right' },
      { title: 'GPU-seconds', align: 'right' },
      ...(hasRun
        ? ([
            { title: 'run', align: 'right' },
            { title: 'price', align: 'right' },
          ] as const)
        : []),
    ],
    front.map((each) => {
      const { layout } = each;
      const [time, money] = [runTimeOf(each), moneyOf(each)];
      return [
        formatCount(each.gpus),
        parallelText(layout),
        layout.checkpoint,
        layout.framework.name,
        stepText(layout),
        markedMemory(gpuMemory(layout.cost)),
        atLeast(formatDigits(gpuSecondsOf(each)), isExact(each)),
        ...(hasRun
          ? [
              time === undefined ? '' : atLeast(formatTime(seconds(time)), isExact(each)),
              money === undefined ? '' : atLeast(`$${formatCount(Math.round(money))}`, isExact(each)),
            ]
          : []),
      ];
    }),
  );
  return [
    'No other layout of those costed is faster with as few GPUs and as little memory:',
    '',
    ...lines,
  ].join('\n');
}

/** In base units. */
export const plainFront = (layouts: readonly PlannedLayout[]) =>
  paretoFront(layouts).map((each) => {
    const { gpus, layout } = each;
    const { tensor, pipeline, context, expert, chunks, schedule, microBatch, checkpoint, framework } = layout;
    return {
      gpus,
      ...{ tensor, pipeline, context, expert, chunks, schedule, microBatch, checkpoint, framework },
      step: layout.step,
      memory: memoryOf(each),
      gpuSeconds: gpuSecondsOf(each),
      ...(runTimeOf(each) === undefined ? {} : { run: runTimeOf(each) }),
      ...(moneyOf(each) === undefined ? {} : { price: moneyOf(each) }),
    };
  });
