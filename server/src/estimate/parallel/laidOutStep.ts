/** A step laid out over the GPUs of copies of a model: its plan, its times, and the memory of each stage. */

import type { TrainingGraph } from '../../analysis/modelAnalysis.ts';
import type { ClusterProfile } from '../../hardware/clusterProfile.ts';
import { floatAt, itemAt } from '../../model/at.ts';
import { lazy } from '../../model/lazy.ts';
import type { ParallelScenario, Scenario } from '../../model/scenario.ts';
import { type ReservedMemory, reservedMemory } from '../memory/reservedMemory.ts';
import { passesOf } from '../plan/stepPlan.ts';
import { type ParallelPlan, type ParallelTimes, parallelTimes, planParallel } from './parallelPlan.ts';
import { type StageMemory, stageMemory } from './stageMemory.ts';

export interface LaidOutStep {
  readonly training: TrainingGraph;
  readonly scenario: Scenario;
  readonly parallel: ParallelScenario;
  readonly cluster: ClusterProfile;
  readonly plan: ParallelPlan;
  readonly times: ParallelTimes;
  /** By stage. */
  readonly memories: readonly StageMemory[];
  /** The stage that needs the most. */
  readonly fullest: number;
  /** Of the fullest stage. */
  readonly reserved: () => ReservedMemory;
}

/** `undefined` where the model cannot be cut so, or where the schedule waits for itself. */
export function layOutStep(
  training: TrainingGraph,
  scenario: Scenario,
  parallel: ParallelScenario,
  cluster: ClusterProfile,
): LaidOutStep | undefined {
  const plan = planParallel(training, scenario, parallel, cluster);
  const times = plan && parallelTimes(plan, cluster, 'middle');
  if (plan === undefined || times === undefined) return undefined;
  const memories = plan.stages.map((stage, index) =>
    stageMemory(stage.plan, floatAt(itemAt(times.timeline.alive, index), 0)),
  );
  const fullest = memories.reduce((most, memory, stage) => {
    return memory.peak > itemAt(memories, most).peak ? stage : most;
  }, 0);
  const { peak } = itemAt(memories, fullest);
  const reserved = lazy(() => reservedMemory(itemAt(plan.stages, fullest).plan, peak));
  return { training, scenario, parallel, cluster, plan, times, memories, fullest, reserved };
}

/** For which the stage that ends last neither computes nor exchanges what the framework sends. */
export const bubbleOf = ({ times: { timeline, slowest } }: LaidOutStep): number =>
  Math.max(0, floatAt(timeline.ends, slowest) - floatAt(timeline.busy, slowest));

/** Of collectives of tensor parallelism in the stage that ends last, in one step. */
export function tensorTimeOf({ plan: { stages }, times: { slowest } }: LaidOutStep): number {
  const { plan, collectives } = itemAt(stages, slowest);
  return passesOf(plan.scenario) * collectives.reduce((total, { time }) => total + time, 0);
}
