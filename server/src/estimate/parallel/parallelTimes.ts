/** The times of a step in which several GPUs share a copy of the model: those of its stages, laid out by the schedule. */

import type { ClusterProfile } from '../../hardware/clusterProfile.ts';
import { floatAt, itemAt } from '../../model/at.ts';
import type { Bound } from '../../model/estimate.ts';
import { memoizeRecent } from '../../model/memoizeRecent.ts';
import type { Seconds } from '../../model/units.ts';
import { pipelineSchedule, sendsBesideCompute } from '../../schedule/pipelineSchedules.ts';
import { type PipelineTimeline, pipelineTimeline } from '../../schedule/pipelineTimeline.ts';
import { type StepTimes, stepTimes } from '../../schedule/stepTimeline.ts';
import { type PassesOfStep, timesOfPasses } from '../plan/plannedTimes.ts';
import { earlierPass, weightTime, workOf } from '../plan/plannedWork.ts';
import { passesOf, type StepPlan } from '../plan/stepPlan.ts';
import { surerAsWhole } from '../plan/surerPlan.ts';
import { withCollectives } from './collectiveTimes.ts';
import type { ParallelPlan, StagePlan } from './parallelPlan.ts';
import { launchesOfCall } from './plannedStage.ts';
import { type RankTimes, rankTimes, type StageTimes } from './rankTimes.ts';
import { transferTime } from './transferTime.ts';

/** The same with the bounds of a whole step in the place of those of its kernels (`surerAsWhole`); collectives keep theirs. */
export const surerStages = (parallel: ParallelPlan): ParallelPlan => ({
  ...parallel,
  stages: parallel.stages.map((stage) => {
    if (stage.like !== undefined) return stage;
    const whole = surerAsWhole({ ...stage.plan, times: stage.kernels });
    const times = withCollectives(whole.times, stage.collectives, launchesOfCall(whole.behaviour));
    return { ...stage, kernels: whole.times, plan: { ...whole, times } };
  }),
});

/** Found once for the plan of a stage: layouts that differ in their schedule have it in common. */
const passesOfStage = memoizeRecent(
  (plan: StepPlan, { bound, sent }: AskedBounds): Passes => {
    const work = workOf(plan, bound, 1, sent);
    return {
      last: stepTimes(work),
      earlier: stepTimes(earlierPass(plan, work, bound)),
      weight: weightTime(plan, bound),
    };
  },
  (known, asked) => known.bound === asked.bound && known.sent === asked.sent,
);

interface AskedBounds {
  readonly bound: Bound;
  /** Of what copies exchange. */
  readonly sent: Bound;
}

interface Passes extends PassesOfStep {
  readonly weight: Seconds;
}

/** Of a step of the stages of a rank, each by itself; a stage that is like another has its times. */
export const stepsOfRank = ({ ranks, stages }: ParallelPlan, rank: number): readonly StepTimes[] =>
  itemAt(ranks, rank).map((stage) => {
    const { like = stage } = itemAt(stages, stage);
    const { plan } = itemAt(stages, like);
    return timesOfPasses(plan, passesOfStage(plan, { bound: 'middle', sent: 'middle' }));
  });

/** For which a rank waits for its host in these steps of its stages. */
export const hostTimeOf = (lines: readonly StepTimes[]): number =>
  lines.reduce((total, { hostTime }) => total + hostTime, 0);

function stageTimes({ plan, sharedGradients }: StagePlan, asked: AskedBounds): StageTimes {
  const { last, earlier, weight } = passesOfStage(plan, asked);
  const backward = earlier.step - earlier.forwardTime;
  const shared = sharedGradients[asked.sent];
  return {
    forward: earlier.forwardTime,
    backward,
    weight: Math.min(backward, weight),
    rest: Math.max(0, last.step - earlier.step) + shared,
    update: last.updateTime,
    exchange: last.communicationTime + shared,
  };
}

export interface ParallelTimes {
  readonly stages: readonly StageTimes[];
  readonly ranks: readonly RankTimes[];
  readonly timeline: PipelineTimeline;
  /** The rank that ends last, with what it exchanges and updates. */
  readonly slowest: number;
  readonly step: number;
}

/**
 * The pipeline simulated, action by action; `undefined` where its schedule waits for itself. `sent`: the bound of what copies
 * exchange, where that is another.
 */
export function parallelTimes(
  parallel: ParallelPlan,
  cluster: ClusterProfile,
  bound: Bound,
  sent = bound,
): ParallelTimes | undefined {
  const { stages, layout, ranks } = parallel;
  const { schedule: asked, chunks } = parallel.parallel;
  // One rank that waits for no other has no reason to keep several micro-batches.
  const schedule = ranks.length === 1 ? '1f1b' : asked;
  const times: StageTimes[] = [];
  for (const stage of stages)
    times.push(stage.like === undefined ? stageTimes(stage, { bound, sent }) : itemAt(times, stage.like));
  const [first] = stages;
  if (first === undefined) return undefined;
  const timeline = pipelineTimeline({
    schedule: pipelineSchedule(schedule, {
      ranks: ranks.length,
      microBatches: passesOf(first.plan.scenario),
      chunks,
    }),
    forward: Float64Array.from(times, ({ forward }) => forward),
    backward: Float64Array.from(times, ({ backward }) => backward),
    weight: Float64Array.from(times, ({ weight }) => weight),
    transfer: Float64Array.from(stages, ({ sent, rank }, stage) => {
      // On the way up a V a stage is followed by one of the rank before.
      const after = stages[stage + 1]?.rank ?? rank;
      return transferTime(cluster, layout.crossesNodes[after === rank - 1 ? after : rank] === true, sent);
    }),
    sendsBeside: sendsBesideCompute(schedule),
  });
  if (timeline === undefined) return undefined;
  const ofRanks = rankTimes(ranks, times, timeline);
  // One stage waits for no other: its passes are those of a step without a pipeline, to the last digit.
  if (stages.length === 1)
    return {
      stages: times,
      ranks: ofRanks,
      timeline,
      slowest: 0,
      step:
        timesOfPasses(first.plan, passesOfStage(first.plan, { bound, sent })).step +
        first.sharedGradients[sent],
    };
  const ends = ofRanks.map(({ rest }, rank) => floatAt(timeline.ends, rank) + rest);
  const step = Math.max(...ends);
  return { stages: times, ranks: ofRanks, timeline, slowest: ends.indexOf(step), step };
}
