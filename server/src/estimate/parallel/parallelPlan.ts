/**
 * The plan of a step that several GPUs share a copy of the model for: one plan for each stage of the pipeline
 * (`plannedStage.ts`), laid out by `parallelTimes.ts`.
 *
 * Kernels are those of the shapes that a worker computes. Collectives of tensor parallelism are on the operators that need them.
 * What copies exchange is what the framework makes of the gradients of the stage.
 */

import type { TrainingGraph } from '../../analysis/modelAnalysis.ts';
import { findFramework } from '../../frameworks/registry.ts';
import type { ClusterProfile } from '../../hardware/clusterProfile.ts';
import { itemAt } from '../../model/at.ts';
import type { Estimate } from '../../model/estimate.ts';
import type { ParallelScenario, Scenario } from '../../model/scenario.ts';
import type { Steps } from '../../model/steps.ts';
import { type Bytes, bytes, type Seconds } from '../../model/units.ts';
import { areAlikeRanges, blockRun } from '../../parallel/blockRun.ts';
import type { OperatorRange } from '../../parallel/operatorRange.ts';
import { behindBlocks, crossingTensors, cutIntoStages, cutsOf } from '../../parallel/pipelineStages.ts';
import type { ShardedTraining } from '../../parallel/shardedTraining.ts';
import { shardTraining } from '../../parallel/shardTraining.ts';
import { likeStage } from '../../parallel/stageTraining.ts';
import { stagesOfRanks } from '../../schedule/pipelineSchedules.ts';
import { type ParallelLayout, placeLayout } from './groupPlacements.ts';
import { type PlannedStage, planStage, type StageWorkers, wholeTimes } from './plannedStage.ts';
import { sharedGradients } from './sharedGradients.ts';

export interface ParallelPlan {
  readonly parallel: ParallelScenario;
  readonly layout: ParallelLayout;
  readonly sharded: ShardedTraining;
  /** Stages of each rank of the pipeline. */
  readonly ranks: readonly (readonly number[])[];
  readonly stages: readonly StagePlan[];
}

export interface StagePlan extends PlannedStage {
  readonly range: OperatorRange;
  /** Of the pipeline, that computes it. */
  readonly rank: number;
  /** To the next stage, for one micro-batch; gradients as many back. */
  readonly sent: Bytes;
  /** The stage before it that has as many of the same blocks and nothing else: its plan but for names, and its times. */
  readonly like?: number;
  /** Once in a step: gradients of weights that several GPUs of a copy hold whole. */
  readonly sharedGradients: Estimate<Seconds>;
}

/** `undefined` where the model has fewer blocks than stages. A step is no more than what one stage needs of its own. */
export function* planParallel(
  training: TrainingGraph,
  scenario: Scenario,
  parallel: ParallelScenario,
  cluster: ClusterProfile,
): Steps<ParallelPlan | undefined> {
  const layout = placeLayout(cluster, parallel, scenario.gpus);
  const bindings = new Map(Object.entries(scenario.dimensions));
  const sharded = shardTraining(training, bindings, {
    ways: parallel.tensor,
    sequence: parallel.sequence,
    keepsGathered: parallel.gathered === 'keep',
    sharesHeads: findFramework(scenario.framework.name)?.layout?.sharesHeads === true,
    context: { ways: parallel.context, exchange: parallel.contextExchange },
    expert: { ways: parallel.expert, imbalance: parallel.expertImbalance },
  });
  yield;
  const workers = workersOf(scenario, parallel, layout, cluster);
  if (parallel.pipeline === 1) {
    const range = { begin: 0, end: sharded.training.costs.length };
    const only = { ...(yield* planStage(sharded, range, workers)), range, rank: 0, sent: bytes(0) };
    return {
      parallel,
      layout,
      sharded,
      ranks: [[0]],
      stages: withSharedGradients([only], sharded, layout, cluster),
    };
  }
  // Where to cut is a question of kernels: nothing is exchanged.
  const { times, lowered } = yield* wholeTimes(sharded, workers);
  yield;
  const cuts = cutsOf(training.analysis);
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
  const planned: (PlannedStage & Pick<StagePlan, 'like'>)[] = [];
  for (const [stage, range] of ranges.entries()) {
    const like = ranges.findIndex((other) => areAlikeRanges(run, other, range));
    const before = like < stage ? planned[like] : undefined;
    if (before === undefined) {
      planned.push(yield* planStage(sharded, range, workers));
      yield;
    } else {
      const graph = likeStage(sharded.training, range, before.plan.training);
      planned.push({ ...before, plan: { ...before.plan, training: graph }, like });
    }
  }
  const stages = ranges.map((range, stage) => ({
    ...itemAt(planned, stage),
    range,
    rank: rankOf(ranks, stage),
    sent: bytes(
      stage === ranges.length - 1 || rankOf(ranks, stage) === rankOf(ranks, stage + 1)
        ? 0
        : crossingTensors(sharded.training, range.end).reduce(
            (total, { elements, producer }) =>
              total + elements * (lowered.operators[producer]?.bytesPerElement ?? 4),
            0,
          ),
    ),
  }));
  return { parallel, layout, sharded, ranks, stages: withSharedGradients(stages, sharded, layout, cluster) };
}

function withSharedGradients(
  stages: readonly Omit<StagePlan, 'sharedGradients'>[],
  sharded: ShardedTraining,
  layout: ParallelLayout,
  cluster: ClusterProfile,
): readonly StagePlan[] {
  const shared = sharedGradients(stages, sharded, layout, cluster);
  return stages.map((stage, index) => ({ ...stage, sharedGradients: itemAt(shared, index) }));
}

/** A worker and its like in other copies: to the framework they are all there is. */
function workersOf(
  { globalBatch: _, parallel: __, ...whole }: Scenario,
  { tensor, context, sequence, expertImbalance, pipeline }: ParallelScenario,
  { replicas, dataGroup, tensorGroup, contextGroup, expertGroup }: ParallelLayout,
  cluster: ClusterProfile,
): StageWorkers {
  return {
    scenario: {
      ...whole,
      gpus: context * replicas,
      nodes: dataGroup.nodes,
      ...(pipeline > 1 ? { pipelined: true } : {}),
    },
    cluster,
    shares: { tensor, context, sequence, expertImbalance },
    groups: { tensor: tensorGroup, context: contextGroup, expert: expertGroup },
  };
}

const rankOf = (ranks: readonly (readonly number[])[], stage: number): number =>
  ranks.findIndex((own) => own.includes(stage));
