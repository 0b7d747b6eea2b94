/** A step laid out over the GPUs of copies of a model: its plan, its times, and the memory of each rank of the pipeline. */

import type { TrainingGraph } from '../../analysis/modelAnalysis.ts';
import type { ClusterProfile } from '../../hardware/clusterProfile.ts';
import { floatAt, itemAt } from '../../model/at.ts';
import { lazy } from '../../model/lazy.ts';
import { memoizeRecent } from '../../model/memoizeRecent.ts';
import type { ParallelScenario, Scenario } from '../../model/scenario.ts';
import { finish, type Steps } from '../../model/steps.ts';
import type { MeshAxis } from '../../parallel/division.ts';
import { memoryOf } from '../memory/memoryOf.ts';
import { type ReservedMemory, reservedMemory } from '../memory/reservedMemory.ts';
import type { StepMemory } from '../memory/stepMemory.ts';
import { passesOf, type StepPlan } from '../plan/stepPlan.ts';
import { type ParallelPlan, planParallel, type StagePlan } from './parallelPlan.ts';
import { type ParallelTimes, parallelTimes } from './parallelTimes.ts';
import { type RankMemory, rankMemory } from './rankMemory.ts';

export interface LaidOutStep {
  readonly training: TrainingGraph;
  readonly scenario: Scenario;
  readonly parallel: ParallelScenario;
  readonly cluster: ClusterProfile;
  readonly plan: ParallelPlan;
  readonly times: ParallelTimes;
  /** By rank. */
  readonly memories: readonly RankMemory[];
  /** The rank that needs the most. */
  readonly fullest: number;
  /** Of the fullest rank. */
  readonly reserved: () => ReservedMemory;
}

/** `undefined` where the model cannot be cut so, or where the schedule waits for itself. */
export const layOutStep = (...asked: Parameters<typeof layOutInSteps>): LaidOutStep | undefined =>
  finish(layOutInSteps(...asked));

/** The same in steps: stages one by one, their times, and the memory of each. */
export function* layOutInSteps(
  training: TrainingGraph,
  scenario: Scenario,
  parallel: ParallelScenario,
  cluster: ClusterProfile,
): Steps<LaidOutStep | undefined> {
  const plan = yield* planParallel(training, scenario, parallel, cluster);
  const times = plan && parallelTimes(plan, cluster, 'middle');
  if (plan === undefined || times === undefined) return undefined;
  yield;
  const held: StepMemory[] = [];
  for (const { like, plan: own } of plan.stages) {
    held.push(like === undefined ? memoryOfStage(own, 'one micro-batch') : itemAt(held, like));
    if (like === undefined) yield;
  }
  const memories = plan.ranks.map((own, rank) =>
    rankMemory(
      own.map((stage) => ({ stage, memory: itemAt(held, stage) })),
      itemAt(times.timeline.schedule, rank),
    ),
  );
  const fullest = memories.reduce((most, memory, rank) => {
    return memory.peak > itemAt(memories, most).peak ? rank : most;
  }, 0);
  const { peak, stage } = itemAt(memories, fullest);
  const { like = stage } = itemAt(plan.stages, stage);
  const reserved = lazy(() => reservedMemory(itemAt(plan.stages, like).plan, peak));
  return { training, scenario, parallel, cluster, plan, times, memories, fullest, reserved };
}

/** Found once for the plan of a stage: layouts that differ in their schedule have it in common. */
const memoryOfStage = memoizeRecent(
  (plan: StepPlan, _: 'one micro-batch'): StepMemory => memoryOf(plan),
  (known, asked) => known === asked,
);

/** For which the rank that ends last neither computes nor exchanges what the framework sends. */
export const bubbleOf = ({ times: { timeline, slowest } }: LaidOutStep): number =>
  Math.max(0, floatAt(timeline.ends, slowest) - floatAt(timeline.busy, slowest));

/** Of the collectives of an axis in the rank that ends last, in one step: without what computing hides. */
export const exchangeTimeOf = ({ plan, times: { slowest } }: LaidOutStep, axis: MeshAxis): number =>
  stagesOf(plan, slowest).reduce((total, { plan: own, collectives }) => {
    const time = collectives.reduce((sum, each) => (each.axis === axis ? sum + each.time : sum), 0);
    return total + passesOf(own.scenario) * time;
  }, 0);

export const stagesOf = ({ ranks, stages }: ParallelPlan, rank: number): readonly StagePlan[] =>
  itemAt(ranks, rank).map((stage) => itemAt(stages, stage));
