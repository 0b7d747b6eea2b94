/**
 * The plan of a step that several GPUs share a copy of the model for: one plan for each stage of the pipeline, which is
 * that of one of its workers beside its like in other copies, and the times of the pipeline's actions.
 *
 * Kernels are those of the shapes that a worker computes. Collectives of tensor parallelism are on the operators that need them.
 * What copies exchange is what the framework makes of the gradients of the stage.
 */

import type { TrainingGraph } from '../../analysis/modelAnalysis.ts';
import { collectiveTime } from '../../communication/collectiveTime.ts';
import type { Placement } from '../../communication/placement.ts';
import type { FrameworkBehaviour } from '../../frameworks/behaviour.ts';
import { findFramework, optionValues } from '../../frameworks/registry.ts';
import type { ClusterProfile } from '../../hardware/clusterProfile.ts';
import { floatAt, itemAt } from '../../model/at.ts';
import type { Bound, Estimate } from '../../model/estimate.ts';
import type { ParallelScenario, Scenario } from '../../model/scenario.ts';
import { type Bytes, bytes, type Seconds, seconds } from '../../model/units.ts';
import { areAlikeRanges, blockRun } from '../../parallel/blockRun.ts';
import type { OperatorRange } from '../../parallel/operatorRange.ts';
import { behindBlocks, crossingTensors, cutIntoStages, cutsOf } from '../../parallel/pipelineStages.ts';
import type { ShardedTraining } from '../../parallel/shardedTraining.ts';
import { shardTraining } from '../../parallel/shardTraining.ts';
import { likeStage, stageTraining } from '../../parallel/stageTraining.ts';
import { pipelineSchedule, sendsBesideCompute, stagesOfRanks } from '../../schedule/pipelineSchedules.ts';
import { type PipelineTimeline, pipelineTimeline } from '../../schedule/pipelineTimeline.ts';
import { stepTimes } from '../../schedule/stepTimeline.ts';
import { parameterBytes } from '../plan/gradients.ts';
import type { LoweredStep } from '../plan/loweredStep.ts';
import type { OperatorTimes } from '../plan/operatorTimes.ts';
import {
  computeStep,
  earlierPass,
  passesOf,
  planStep,
  type StepPlan,
  surerAsWhole,
  timesOf,
  weightTime,
  workOf,
} from '../plan/stepPlan.ts';
import { timesInBlocks } from './attentionBlocks.ts';
import { besideProducts } from './besideProducts.ts';
import { timesOfBusiest } from './busiestExperts.ts';
import { type TimedCollective, timeCollectives, withCollectives } from './collectiveTimes.ts';
import { type ParallelLayout, placeLayout } from './groupPlacements.ts';
import { type RankTimes, rankTimes, type StageTimes } from './rankTimes.ts';
import { timeRings } from './ringTimes.ts';
import { transferTime } from './transferTime.ts';

export interface ParallelPlan {
  readonly parallel: ParallelScenario;
  readonly layout: ParallelLayout;
  readonly sharded: ShardedTraining;
  /** Stages of each rank of the pipeline. */
  readonly ranks: readonly (readonly number[])[];
  readonly stages: readonly StagePlan[];
}

export interface StagePlan {
  readonly range: OperatorRange;
  /** Of the pipeline, that computes it. */
  readonly rank: number;
  /** Of one worker of the stage; its scenario has the copies of the model for GPUs. */
  readonly plan: StepPlan;
  /** Times of its operators without their collectives. */
  readonly kernels: OperatorTimes;
  /** Indices are those of the operators of the stage. */
  readonly collectives: readonly TimedCollective[];
  /** To the next stage, for one micro-batch; gradients as many back. */
  readonly sent: Bytes;
  /** The stage before it that has as many of the same blocks and nothing else: its plan but for names, and its times. */
  readonly like?: number;
  /** Once in a step: gradients of weights that several GPUs of a copy hold whole. */
  readonly sharedGradients: Estimate<Seconds>;
}

/** Of the operators of a stage. */
interface TimedStage extends Pick<StagePlan, 'kernels' | 'collectives'> {
  /** With what they wait for. */
  readonly times: OperatorTimes;
}

/** `undefined` where the model has fewer blocks than stages. */
export function planParallel(
  training: TrainingGraph,
  scenario: Scenario,
  parallel: ParallelScenario,
  cluster: ClusterProfile,
): ParallelPlan | undefined {
  const layout = placeLayout(cluster, parallel, scenario.gpus);
  const bindings = new Map(Object.entries(scenario.dimensions));
  const sharded = shardTraining(training, bindings, {
    ways: parallel.tensor,
    sequence: parallel.sequence,
    keepsGathered: parallel.gathered === 'keep',
    context: { ways: parallel.context, exchange: parallel.contextExchange },
    expert: { ways: parallel.expert, imbalance: parallel.expertImbalance },
  });
  const { globalBatch: _, parallel: __, ...whole } = scenario;
  const own: Scenario = {
    ...whole,
    gpus: layout.context * layout.replicas,
    nodes: layout.dataGroup.nodes,
    ...(parallel.pipeline > 1 ? { pipelined: true } : {}),
  };
  const overlap = findFramework(scenario.framework.name)?.layout?.overlap?.(
    optionValues(scenario.framework),
    { sequence: parallel.sequence, crossesNodes: layout.tensorGroup.nodes > 1 },
  );
  /** Kernels of operators from `begin` on, with what they wait for in a copy. */
  const timed = (
    graph: TrainingGraph,
    begin: number,
    { lowered, times }: Pick<LoweredStep, 'lowered' | 'times'>,
    behaviour: FrameworkBehaviour,
  ): TimedStage => {
    const isOwn = (operator: number): boolean => operator >= 0 && operator < graph.costs.length;
    const asked = sharded.collectives
      .filter(({ operator }) => isOwn(operator - begin))
      .map((collective) =>
        begin === 0 ? collective : { ...collective, operator: collective.operator - begin },
      );
    const cores = sharded.cores.flatMap(({ operators: all, exchange }) => {
      const inside = all.map((index) => index - begin).filter(isOwn);
      return exchange === 'all-to-all' || inside.length === 0 ? [] : [inside];
    });
    const kernels = timesOfBusiest(
      timesInBlocks(cluster.gpu, lowered, times, cores, parallel.context),
      sharded.mixtures.map((index) => index - begin).filter(isOwn),
      parallel.expertImbalance,
    );
    const groups = { tensor: layout.tensorGroup, context: layout.contextGroup, expert: layout.expertGroup };
    const waiting = timeCollectives(asked, lowered, cluster, (axis) => groups[axis]);
    const once = [
      ...(overlap === undefined
        ? waiting
        : besideProducts(waiting, { lowered, training: graph }, cluster.gpu, parallel.tensor, overlap)),
      ...timeRings(asked, { lowered, times: kernels, cluster }, cores, {
        ways: parallel.context,
        crossesNodes: layout.contextGroup.nodes > 1,
      }),
    ];
    const again = once.flatMap((collective) =>
      collective.pass === 'forward' && lowered.operators[collective.operator]?.recomputed !== undefined
        ? [{ ...collective, pass: 'backward' as const }]
        : [],
    );
    const collectives = [...once, ...again];
    return {
      kernels,
      collectives,
      times:
        collectives.length === 0 ? kernels : withCollectives(kernels, collectives, launchesOfCall(behaviour)),
    };
  };
  const planned = (
    graph: TrainingGraph,
    begin: number,
  ): Pick<StagePlan, 'plan' | 'kernels' | 'collectives'> => {
    const whole = planStep(graph, own, cluster);
    const { times, kernels, collectives } = timed(graph, begin, whole, whole.behaviour);
    return { plan: times === whole.times ? whole : { ...whole, times }, kernels, collectives };
  };
  const operators = sharded.training.costs.length;
  if (parallel.pipeline === 1) {
    const range = { begin: 0, end: operators };
    return {
      parallel,
      layout,
      sharded,
      ranks: [[0]],
      stages: withSharedGradients(
        [{ ...planned(sharded.training, 0), range, rank: 0, sent: bytes(0) }],
        sharded,
        layout,
        cluster,
      ),
    };
  }
  // Where to cut is a question of kernels: nothing is exchanged.
  const { behaviour, computed } = computeStep(sharded.training, { ...own, gpus: 1, nodes: 1 }, cluster);
  const { forward, backward } = timed(sharded.training, 0, computed, behaviour).times;
  const cuts = cutsOf(training.analysis);
  const { middle } = backward;
  const times = forward.middle.map((time, index) => time + floatAt(middle, index));
  const shape = { ranks: parallel.pipeline, chunks: parallel.chunks };
  const ranks = stagesOfRanks(parallel.schedule, shape);
  const ranges = cutIntoStages(
    parallel.stages,
    { cuts, behind: behindBlocks(training.analysis) },
    times,
    ranks,
  );
  if (ranges === undefined) return undefined;
  const run = blockRun(training.analysis, cuts);
  const known: ReturnType<typeof planned>[] = [];
  const plannedAs = (
    range: OperatorRange,
    stage: number,
  ): Pick<StagePlan, 'plan' | 'kernels' | 'collectives' | 'like'> => {
    const like = ranges.findIndex((other) => areAlikeRanges(run, other, range));
    const before = like < stage ? known[like] : undefined;
    const own = before ?? planned(stageTraining(sharded.training, range), range.begin);
    known.push(own);
    if (before === undefined) return own;
    const graph = likeStage(sharded.training, range, own.plan.training);
    return { ...own, plan: { ...own.plan, training: graph }, like };
  };
  const stages = ranges.map((range, stage) => ({
    ...plannedAs(range, stage),
    range,
    rank: rankOf(ranks, stage),
    sent: bytes(
      stage === ranges.length - 1 || rankOf(ranks, stage) === rankOf(ranks, stage + 1)
        ? 0
        : crossingTensors(sharded.training, range.end).reduce(
            (total, { elements, producer }) =>
              total + elements * (computed.lowered.operators[producer]?.bytesPerElement ?? 4),
            0,
          ),
    ),
  }));
  return { parallel, layout, sharded, ranks, stages: withSharedGradients(stages, sharded, layout, cluster) };
}

const launchesOfCall = ({ collectiveCall, launch }: FrameworkBehaviour): number =>
  collectiveCall === undefined ? 1 : collectiveCall / launch.middle;

const rankOf = (ranks: readonly (readonly number[])[], stage: number): number =>
  ranks.findIndex((own) => own.includes(stage));

/**
 * Weights between the pairs of tensor parallelism have a part of their gradient on each GPU of a group where tokens are split; a
 * table of words with a tied head is on two stages. Source: NVIDIA/Megatron-LM, megatron/core/distributed/finalize_model_grads.py,
 * `_allreduce_non_tensor_model_parallel_grads` and `_allreduce_word_embedding_grads`.
 */
function withSharedGradients(
  stages: readonly Omit<StagePlan, 'sharedGradients'>[],
  { partialGradients }: ShardedTraining,
  layout: ParallelLayout,
  cluster: ClusterProfile,
): readonly StagePlan[] {
  const holders = new Map<string, Set<number>>();
  for (const { plan, rank } of stages)
    for (const { name } of plan.training.analysis.parameters)
      holders.set(name, (holders.get(name) ?? new Set()).add(rank));
  const crosses = layout.crossesNodes.some((each) => each);
  const twoStages: Placement = crosses ? { nodes: 2, gpusPerNode: 1 } : { nodes: 1, gpusPerNode: 2 };
  return stages.map((stage) => {
    const { training, weightBytesPerElement } = stage.plan;
    const bytesOf = (isShared: (name: string) => boolean): Bytes =>
      bytes(
        training.analysis.parameters.reduce(
          (total, parameter) =>
            isShared(parameter.name) ? total + parameterBytes(parameter, weightBytesPerElement) : total,
          0,
        ),
      );
    const all: readonly (readonly [Bytes, Placement])[] = [
      [bytesOf((name) => partialGradients.has(name)), layout.tensorGroup],
      [bytesOf((name) => (holders.get(name)?.size ?? 0) > 1), twoStages],
    ];
    const sent = all.flatMap(([size, group]) =>
      size === 0 ? [] : [collectiveTime(cluster, group, { kind: 'all-reduce', bytes: size })],
    );
    const of = (key: 'time' | 'low' | 'high'): Seconds =>
      seconds(sent.reduce((total, each) => total + each[key], 0));
    return { ...stage, sharedGradients: { middle: of('time'), low: of('low'), high: of('high') } };
  });
}

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

function stageTimes({ plan, sharedGradients }: StagePlan, bound: Bound, sent: Bound): StageTimes {
  const work = workOf(plan, bound, 1, sent);
  const last = stepTimes(work);
  const earlier = stepTimes(earlierPass(plan, work, bound));
  const backward = earlier.step - earlier.forwardTime;
  return {
    forward: earlier.forwardTime,
    backward,
    weight: Math.min(backward, weightTime(plan, bound)),
    rest: Math.max(0, last.step - earlier.step) + sharedGradients[sent],
    update: last.updateTime,
    exchange: last.communicationTime + sharedGradients[sent],
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
    times.push(stage.like === undefined ? stageTimes(stage, bound, sent) : itemAt(times, stage.like));
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
      step: timesOf(first.plan, bound, 1, sent).step + first.sharedGradients[sent],
    };
  const ends = ofRanks.map(({ rest }, rank) => floatAt(timeline.ends, rank) + rest);
  const step = Math.max(...ends);
  return { stages: times, ranks: ofRanks, timeline, slowest: ends.indexOf(step), step };
}
