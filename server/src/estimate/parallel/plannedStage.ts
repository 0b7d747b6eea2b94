/**
 * The plan of one stage of a pipeline, which is that of one of its workers beside its like in other copies: kernels of the shapes
 * that it computes, and the collectives that they wait for.
 *
 * It depends on the stage and on who shares it, and on nothing of the order in which ranks do their work: layouts that differ in
 * their schedule have the same stages.
 */

import type { TrainingGraph } from '../../analysis/modelAnalysis.ts';
import type { Placement } from '../../communication/placement.ts';
import type { FrameworkBehaviour } from '../../frameworks/behaviour.ts';
import { sendsRowsOnce } from '../../frameworks/layoutRules.ts';
import { findFramework, optionValues } from '../../frameworks/registry.ts';
import type { ClusterProfile } from '../../hardware/clusterProfile.ts';
import { floatAt } from '../../model/at.ts';
import { memoizeRecentSteps } from '../../model/memoizeRecent.ts';
import { isSameContent } from '../../model/sameContent.ts';
import type { ParallelScenario, Scenario } from '../../model/scenario.ts';
import type { Steps } from '../../model/steps.ts';
import type { MeshAxis } from '../../parallel/division.ts';
import type { OperatorRange } from '../../parallel/operatorRange.ts';
import type { ShardedTraining } from '../../parallel/shardedTraining.ts';
import { stageTraining } from '../../parallel/stageTraining.ts';
import type { LoweredStep } from '../plan/loweredStep.ts';
import type { OperatorTimes } from '../plan/operatorTimes.ts';
import { computeStep, planStep } from '../plan/planStep.ts';
import type { StepPlan } from '../plan/stepPlan.ts';
import { timesInBlocks } from './attentionBlocks.ts';
import { besideProducts } from './besideProducts.ts';
import { timesOfBusiest } from './busiestExperts.ts';
import { type TimedCollective, timeCollectives, withCollectives } from './collectiveTimes.ts';
import { timeRings } from './ringTimes.ts';

export interface PlannedStage {
  /** Of one worker of the stage; its scenario has the copies of the model for GPUs. */
  readonly plan: StepPlan;
  /** Times of its operators without their collectives. */
  readonly kernels: OperatorTimes;
  /** Indices are those of the operators of the stage. */
  readonly collectives: readonly TimedCollective[];
}

/** Who computes a stage, and where they are. */
export interface StageWorkers {
  /** Of one worker: the GPUs are those that add up gradients. */
  readonly scenario: Scenario;
  readonly cluster: ClusterProfile;
  readonly shares: Pick<ParallelScenario, 'tensor' | 'context' | 'sequence' | 'expertImbalance'>;
  readonly groups: Readonly<Record<MeshAxis, Placement>>;
}

/** A range of the operators of the whole graph: in steps its graph, its kernels, and the rest. */
export const planStage = (
  sharded: ShardedTraining,
  range: OperatorRange,
  workers: StageWorkers,
): Steps<PlannedStage> => knownStages(sharded, { range, workers });

interface StageQuestion {
  readonly range: OperatorRange;
  readonly workers: StageWorkers;
}

const knownStages = memoizeRecentSteps(
  function* (sharded: ShardedTraining, { range, workers }: StageQuestion): Steps<PlannedStage> {
    const isWhole = range.begin === 0 && range.end === sharded.training.costs.length;
    const graph = isWhole ? sharded.training : stageTraining(sharded.training, range);
    yield;
    computeStep(graph, workers.scenario, workers.cluster);
    yield;
    const whole = planStep(graph, workers.scenario, workers.cluster);
    yield;
    const { times, kernels, collectives } = timed({ sharded, graph, begin: range.begin }, whole, workers);
    return { plan: times === whole.times ? whole : { ...whole, times }, kernels, collectives };
  },
  (known, asked) => isSameContent(known.range, asked.range) && areSameWorkers(known.workers, asked.workers),
  // The first, the last and the others of pipelines of two to sixty-four stages.
  24,
);

/** What the operators of the whole graph take forward and backward where nothing is exchanged, and their kernels; in steps. */
export const wholeTimes = memoizeRecentSteps(
  function* (sharded: ShardedTraining, workers: StageWorkers): Steps<WholeTimes> {
    const scenario = { ...workers.scenario, gpus: 1, nodes: 1 };
    const { behaviour, computed } = computeStep(sharded.training, scenario, workers.cluster);
    yield;
    const { forward, backward } = timed(
      { sharded, graph: sharded.training, begin: 0 },
      { ...computed, behaviour },
      workers,
    ).times;
    const [there, back] = [forward.middle, backward.middle];
    return { times: added(there, back), lowered: computed.lowered };
  },
  (known, asked) =>
    areSameWorkers(
      { ...known, scenario: { ...known.scenario, gpus: 1, nodes: 1 } },
      { ...asked, scenario: { ...asked.scenario, gpus: 1, nodes: 1 } },
    ),
);

export interface WholeTimes extends Pick<LoweredStep, 'lowered'> {
  /** Seconds, by operator. */
  readonly times: Float64Array;
}

const areSameWorkers = (known: StageWorkers, asked: StageWorkers): boolean =>
  known.cluster === asked.cluster &&
  isSameContent(known.shares, asked.shares) &&
  isSameContent(known.groups, asked.groups) &&
  isSameContent(known.scenario, asked.scenario);

/** A graph of operators of the sharded one, from `begin` on. */
interface StageGraph {
  readonly sharded: ShardedTraining;
  readonly graph: TrainingGraph;
  readonly begin: number;
}

interface TimedStage extends Pick<PlannedStage, 'kernels' | 'collectives'> {
  /** With what they wait for. */
  readonly times: OperatorTimes;
}

/** Kernels of a stage with what they wait for in a copy. */
function timed(
  { sharded, graph, begin }: StageGraph,
  { lowered, times, behaviour }: Pick<StepPlan, 'lowered' | 'times' | 'behaviour'>,
  { scenario, cluster, shares, groups }: StageWorkers,
): TimedStage {
  const { tensor, context, expertImbalance, sequence } = shares;
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
    timesInBlocks(cluster.gpu, lowered, times, cores, context),
    sharded.mixtures.map((index) => index - begin).filter(isOwn),
    expertImbalance,
  );
  const rules = findFramework(scenario.framework.name)?.layout;
  const options = optionValues(scenario.framework);
  const waiting = timeCollectives(
    asked,
    lowered,
    cluster,
    (axis) => groups[axis],
    rules !== undefined && sendsRowsOnce(rules, options),
  );
  const overlap = rules?.overlap?.(options, { sequence, crossesNodes: groups.tensor.nodes > 1 });
  const once = [
    ...(overlap === undefined
      ? waiting
      : besideProducts(waiting, { lowered, training: graph }, cluster.gpu, tensor, overlap)),
    ...timeRings(asked, { lowered, times: kernels, cluster }, cores, {
      ways: context,
      crossesNodes: groups.context.nodes > 1,
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
}

/** Of the host, for one collective. */
export const launchesOfCall = ({ collectiveCall, launch }: FrameworkBehaviour): number =>
  collectiveCall === undefined ? 1 : collectiveCall / launch.middle;

function added(left: Float64Array, right: Float64Array): Float64Array {
  return left.map((time, index) => time + floatAt(right, index));
}
