/** The layout that serves a goal, among the best on several numbers of GPUs; and why the next one loses, in one sentence. */

import { counted } from '../../model/counted.ts';
import { formatPercent, formatTime } from '../../model/format.ts';
import { seconds } from '../../model/units.ts';
import { priceOfRun, stepsOfRun } from '../wholeRun.ts';
import { whySlower } from './compareLayouts.ts';
import type { PlannedLayout } from './paretoFront.ts';

/** `cheapest`: the fewest GPU-hours for as many samples. `fewest`: the fewest GPUs that the model fits on. */
export const planGoals = ['fastest', 'cheapest', 'fewest'] as const;
export type PlanGoal = (typeof planGoals)[number];

export interface ChosenLayout {
  readonly chosen: PlannedLayout;
  /** '' where nothing else fits. */
  readonly why: string;
}

/** `deadline`: seconds that a run may take, without its start. */
export function chooseLayout(
  layouts: readonly PlannedLayout[],
  goal: PlanGoal,
  deadline?: number,
): ChosenLayout | { readonly problem: string } {
  if (layouts.length === 0) return { problem: 'No layout fits; use more GPUs, or GPUs with more memory' };
  if (deadline !== undefined && layouts.some((each) => runTimeOf(each) === undefined))
    return {
      problem: 'A deadline is one of a whole run; say how long it is, such as `samples=1e9` of `run`',
    };
  const ranked = layouts.toSorted((one, other) => compare[goal](one, other) || byStep(one, other));
  const inTime = ranked.filter((each) => {
    const time = runTimeOf(each);
    return deadline === undefined || (time !== undefined && time <= deadline);
  });
  const [chosen] = inTime;
  if (chosen === undefined) {
    const least = Math.min(...layouts.flatMap((each) => runTimeOf(each) ?? []));
    const within = deadline === undefined ? '' : ` within ${formatTime(seconds(deadline))}`;
    return {
      problem: `No layout ends${within}: the fastest takes ${formatTime(seconds(least))}; use more GPUs, or a later deadline`,
    };
  }
  // One that isSameLayout in its degrees or GPUs: the same with another micro-batch says little.
  const next = inTime.find((each) => !isLike(each, chosen));
  const tooLate = ranked.find((each) => !inTime.includes(each) && compare[goal](each, chosen) < 0);
  return {
    chosen,
    why: whyLater(tooLate, deadline) ?? (next === undefined ? '' : whyNext(chosen, next)),
  };
}

/** Seconds of a run, without what comes before its first step; `undefined` where its samples are not known. */
export function runTimeOf({ layout }: PlannedLayout): number | undefined {
  const steps = stepsOfRun(layout.cost.scenario);
  return steps === undefined ? undefined : steps * layout.step;
}

/** US dollars of a run; `undefined` where its samples or its price are not known. */
export function moneyOf(planned: PlannedLayout): number | undefined {
  const time = runTimeOf(planned);
  return time === undefined ? undefined : priceOfRun(planned.layout.cost.scenario, time);
}

/** Of one step: money is in proportion to it. */
export const gpuSecondsOf = ({ gpus, layout }: PlannedLayout): number => gpus * layout.step;

const byStep = (one: PlannedLayout, other: PlannedLayout): number => one.layout.step - other.layout.step;

const compare: Readonly<Record<PlanGoal, (one: PlannedLayout, other: PlannedLayout) => number>> = {
  fastest: byStep,
  cheapest: (one, other) => gpuSecondsOf(one) - gpuSecondsOf(other),
  fewest: (one, other) => one.gpus - other.gpus,
};

const isLike = (one: PlannedLayout, other: PlannedLayout): boolean =>
  one.gpus === other.gpus &&
  (['tensor', 'pipeline', 'context', 'expert'] as const).every(
    (key) => one.layout[key] === other.layout[key],
  ) &&
  one.layout.framework.name === other.layout.framework.name;

function whyLater(late: PlannedLayout | undefined, deadline: number | undefined): string | undefined {
  if (late === undefined || deadline === undefined) return undefined;
  const over = (runTimeOf(late) ?? deadline) - deadline;
  return `${nameOf(late)} would be better, and ends ${formatTime(seconds(over))} too late.`;
}

/** On as many GPUs the next is no faster, whatever the goal. */
function whyNext(chosen: PlannedLayout, next: PlannedLayout): string {
  const longer = formatTime(seconds(Math.abs(next.layout.step - chosen.layout.step)));
  const slower = next.layout.step >= chosen.layout.step ? `${longer} longer` : `${longer} less`;
  if (next.gpus !== chosen.gpus) {
    const more = gpuSecondsOf(next) / gpuSecondsOf(chosen) - 1;
    const hours = `${formatPercent(Math.abs(more))} ${more < 0 ? 'fewer' : 'more'} GPU-hours`;
    return `The next, ${nameOf(next)}, takes ${slower} a step and ${hours}.`;
  }
  const part = whySlower(next.layout, chosen.layout);
  // Of layouts that differ in their framework alone, its name is all there is to say.
  const isSameLayout = isLike(
    { ...next, layout: { ...next.layout, framework: chosen.layout.framework } },
    chosen,
  );
  const name = isSameLayout ? next.layout.framework.name : nameOf(next);
  return `The next, ${name}, takes ${slower} a step${part === '' ? '' : `: ${part}`}.`;
}

/** `16 GPUs with tp 2, pp 4 and pytorch-ddp`. */
const nameOf = ({ gpus, layout }: PlannedLayout): string => {
  const { tensor, pipeline, context, expert, framework } = layout;
  const degrees = [
    `tp ${tensor}`,
    `pp ${pipeline}`,
    ...(context === 1 ? [] : [`cp ${context}`]),
    ...(expert === 1 ? [] : [`ep ${expert}`]),
  ];
  return `${counted(gpus, 'GPU')} with ${degrees.join(', ')} and ${framework.name}`;
};
