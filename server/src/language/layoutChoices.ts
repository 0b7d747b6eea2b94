/** Planned layouts as an editor lists them: what each takes, why it is not the first, and what choosing it changes. */

import { bestOfDegrees } from '../estimate/planner/bestOfDegrees.ts';
import { chooseLayout, gpuSecondsOf, moneyOf, type PlanGoal } from '../estimate/planner/chooseLayout.ts';
import { whySlower } from '../estimate/planner/compareLayouts.ts';
import { type LauncherOptions, launcherOptions } from '../estimate/planner/launcherOptions.ts';
import { parallelPairs, stepText } from '../estimate/planner/parallelText.ts';
import type { PlannedLayout } from '../estimate/planner/paretoFront.ts';
import type { LayoutsOnGpus } from '../estimate/planner/planEstimate.ts';
import { labelFramework, printFramework } from '../formats/frameworkText.ts';
import { formatDigits, formatPrice } from '../model/format.ts';
import { gpuMemory, markedMemory } from '../model/gpuMemory.ts';
import type { ScenarioChange } from '../model/scenarioChange.ts';

export interface LayoutChoice {
  readonly gpus: number;
  /** `tp 2 · pp 4 · dp 8 · micro-batch 16 × 4`: passes × samples. */
  readonly layout: string;
  /** Framework, schedule of a pipeline and checkpointing. */
  readonly setup: string;
  /** Step, memory, and the price of a run or GPU-seconds. */
  readonly costs: string;
  /** Why it loses against the first with as many GPUs; of the one that serves the goal, why the next one loses. */
  readonly why: string;
  readonly change: ScenarioChange;
  /** The same layout in the words of launchers that run it. */
  readonly launchers: readonly LauncherOptions[];
}

/** The one that serves the goal first, then the best of each set of degrees, by GPUs, the fastest first. */
export function layoutChoices(
  planned: readonly LayoutsOnGpus[],
  { goal, top, globalBatch, cluster }: AskedChoices,
): readonly LayoutChoice[] | { readonly problem: string } {
  const all = planned.flatMap(({ gpus, found }) => found.fitting.map((layout) => ({ gpus, layout })));
  const choice = chooseLayout(all, goal);
  if ('problem' in choice) return choice;
  const { chosen, why } = choice;
  const ofPlan = { globalBatch, ...(cluster === undefined ? {} : { cluster }) };
  const others = planned.flatMap(({ gpus, found }) => {
    const listed = bestOfDegrees(found.fitting).slice(0, top);
    const [best] = listed;
    return listed
      .filter((layout) => layout !== chosen.layout)
      .map((layout) => choiceOf({ gpus, layout }, best === undefined ? '' : whySlower(layout, best), ofPlan));
  });
  return [choiceOf(chosen, why, ofPlan), ...others];
}

export interface AskedChoices {
  readonly goal: PlanGoal;
  /** Layouts that are listed for each number of GPUs. */
  readonly top: number;
  readonly globalBatch: number;
  /** Where another cluster than that of the scenario was planned for. */
  readonly cluster?: string;
}

function choiceOf(
  planned: PlannedLayout,
  why: string,
  ofPlan: Pick<AskedChoices, 'globalBatch' | 'cluster'>,
): LayoutChoice {
  const { gpus, layout } = planned;
  const { tensor, context, expert, pipeline, chunks, schedule, replicas, microBatch, passes } = layout;
  const { checkpoint, framework, cost } = layout;
  const degrees = { tp: tensor, cp: context, ep: expert, pp: pipeline, vp: chunks };
  const money = moneyOf(planned);
  return {
    gpus,
    layout: [
      ...Object.entries(degrees).flatMap(([name, degree]) => (degree > 1 ? [`${name} ${degree}`] : [])),
      `dp ${replicas}`,
      `micro-batch ${passes > 1 ? `${passes} × ` : ''}${microBatch}`,
    ].join(' · '),
    setup: [
      labelFramework(framework),
      ...(pipeline > 1 ? [schedule] : []),
      ...(checkpoint === 'none' ? [] : [`checkpoint ${checkpoint}`]),
    ].join(' · '),
    costs: [
      stepText(layout),
      markedMemory(gpuMemory(cost)),
      money === undefined ? `${formatDigits(gpuSecondsOf(planned))} GPU-seconds` : formatPrice(money),
    ].join(' · '),
    why,
    change: {
      ...(ofPlan.cluster === undefined ? {} : { cluster: ofPlan.cluster }),
      nodes: null,
      gpus,
      batch: null,
      globalBatch: ofPlan.globalBatch,
      accumulate: null,
      parallel: parallelPairs(layout),
      checkpoint,
      framework: printFramework(framework),
    },
    launchers: launcherOptions(layout),
  };
}
