/** The cost of a step in which several GPUs share a copy of the model: layer by layer, stage by stage, and in total. */

import type { TrainingGraph } from '../../analysis/modelAnalysis.ts';
import { unknownOrigins } from '../../analysis/unknownOrigins.ts';
import type { ClusterProfile } from '../../hardware/clusterProfile.ts';
import { floatAt, itemAt } from '../../model/at.ts';
import { deviceNoun } from '../../model/deviceNoun.ts';
import { estimateOf } from '../../model/estimate.ts';
import { lazy } from '../../model/lazy.ts';
import { memoizeRecent } from '../../model/memoizeRecent.ts';
import type { ParallelScenario, Scenario } from '../../model/scenario.ts';
import type { ParallelCost, StepCost, StepLimit, TotalCost } from '../../model/stepCost.ts';
import type { Steps } from '../../model/steps.ts';
import { totalElements } from '../../model/totalElements.ts';
import { bytes, flops, seconds } from '../../model/units.ts';
import type { OperatorCost } from '../../operators/definition.ts';
import type { StepTimes } from '../../schedule/stepTimeline.ts';
import { layersOf } from '../layersOfStep.ts';
import { partsLeftOut } from '../leftOut.ts';
import { fitOf, fitsAtBest, runtimeReserve } from '../memory/reservedMemory.ts';
import { messageCosts } from '../messageCosts.ts';
import { rangeOfCauses } from '../plan/independentRange.ts';
import { timelineOf, timesOf } from '../plan/plannedTimes.ts';
import { passesOf } from '../plan/stepPlan.ts';
import { smallShare } from '../stepLimit.ts';
import { timeAtPeak } from '../timeAtPeak.ts';
import { basisOf } from '../timeBasis.ts';
import { tokensPerSample } from '../tokens.ts';
import { unknownParts } from '../unknownParts.ts';
import { bubbleOf, exchangeTimeOf, type LaidOutStep, layOutInSteps, stagesOf } from './laidOutStep.ts';
import { collectivesOfLayers, wholeLayers } from './layersOfWorkers.ts';
import { layoutFindings } from './layoutFindings.ts';
import type { ParallelPlan } from './parallelPlan.ts';
import { hostTimeOf, parallelTimes, stepsOfRank, surerStages } from './parallelTimes.ts';
import type { RankMemory } from './rankMemory.ts';
import { shardingsOfLayers } from './shardingsOfLayers.ts';

/** `undefined` where the model cannot be cut so (`resolveParallel` says why); `leftOut` is that of `estimateStep`. */
export function* estimateParallelStep(
  training: TrainingGraph,
  scenario: Scenario,
  parallel: ParallelScenario,
  cluster: ClusterProfile,
  leftOut: readonly string[] = [],
): Steps<StepCost | undefined> {
  const laidOut = yield* layOutInSteps(training, scenario, parallel, cluster);
  if (laidOut === undefined) return undefined;
  const { plan, times, memories, fullest, reserved } = laidOut;
  const unknown = [...unknownParts(training, unknownOrigins(training)), ...partsLeftOut(leftOut)];
  const exact = unknown.length === 0;
  const memory = itemAt(memories, fullest);
  const findings = lazy(() => layoutFindings(laidOut, exact));
  const messages = lazy(() => messagesOf(plan, times.slowest));
  const layers = lazy(() =>
    plan.stages.flatMap(({ plan: own }) => {
      const timelines = estimateOf((bound) => timesOf(own, bound));
      return layersOf(own, timelines, messageCosts(own, timelineOf(own, 'middle')), exact, new Map());
    }),
  );
  return {
    scenario,
    gpu: cluster.gpu.title,
    device: deviceNoun(cluster.gpu),
    totals: {
      ...totalsOf(laidOut, exact),
      memory: {
        ...memory.kinds,
        get reserved() {
          return reserved().bounds;
        },
        context: runtimeReserve,
        largestBatch: null,
        peakAt: {
          ...memory.peakAt,
          layer: layerAt(plan, memory),
        },
      },
      unknown,
    },
    parallel: parallelCost(laidOut),
    get mayFit() {
      return fitsAtBest(memory, reserved);
    },
    get fits() {
      const fit = fitOf(memory, reserved);
      return exact || fit === 'no' ? fit : 'may';
    },
    get layers() {
      return layers();
    },
    get findings() {
      return findings();
    },
    get messages() {
      const own = messages();
      return own.length === 0 ? undefined : own;
    },
  };
}

/** Of the rank that ends last, its last stage first; layers are counted over all stages. */
function messagesOf({ stages, ranks }: ParallelPlan, slowest: number): NonNullable<StepCost['messages']> {
  return itemAt(ranks, slowest)
    .toReversed()
    .flatMap((stage) => {
      const { plan } = itemAt(stages, stage);
      const before = stages
        .slice(0, stage)
        .reduce((total, { plan: own }) => total + own.training.analysis.layers.length, 0);
      return messageCosts(plan, timelineOf(plan, 'middle')).map((message) => ({
        ...message,
        layers: message.layers.map(({ index, bytes: size }) => ({ index: index + before, bytes: size })),
        readyAfter: message.readyAfter + before,
      }));
    });
}

function layerAt({ stages }: ParallelPlan, { stage, operator }: RankMemory): string {
  if (operator === undefined) return '';
  const { layers } = itemAt(stages, stage).plan.training.analysis;
  return layers.find(({ operators }) => operators.includes(operator))?.name ?? '';
}

function totalsOf(laidOut: LaidOutStep, exact: boolean): Omit<TotalCost, 'memory' | 'unknown'> {
  const { training, scenario, cluster, plan, times } = laidOut;
  const passes = passesOf(scenario);
  const { layout, stages } = plan;
  const slowest = stagesOf(plan, times.slowest);
  const own = itemAt(times.ranks, times.slowest);
  const lines = stepsOfRank(plan, times.slowest);
  const hostTime = seconds(hostTimeOf(lines));
  const work = workOfStages(plan, passes);
  const { communication, exposed, slowed } = messageTimesOf(laidOut, lines);
  const step = seconds(times.step);
  const samples = scenario.globalBatch ?? training.batch * passes * layout.replicas;
  const tokens = tokensPerSample(training);
  const atPeak = stages.reduce((total, { plan: each }) => total + timeAtPeak(each), 0);
  const whole = flopsOf(training);
  const local = stages.reduce(
    (total, { like, plan: each }) =>
      total + flopsOf(like === undefined ? each.training : itemAt(stages, like).plan.training),
    0,
  );
  return {
    flops: { forward: flops(work.forward), backward: flops(work.backward) },
    time: {
      input: null,
      exposedInput: null,
      forward: seconds(own.forward * passes),
      // Messages of the last pass slow its backward, too, and the host issues them: that is no waiting for what is sent.
      backward: seconds(own.backward * passes + slowed),
      communication: seconds(communication),
      exposedCommunication: exact ? seconds(exposed) : null,
      update: seconds(own.update),
      waitingForHost: hostTime,
      step,
      get range() {
        const surer = surerStages(plan);
        const { low, high } = rangeOfCauses((computed, sent) =>
          seconds(parallelTimes(surer, cluster, computed, sent)?.step ?? times.step),
        );
        return { low: seconds(Math.min(low, times.step)), high: seconds(Math.max(high, times.step)) };
      },
      exact,
    },
    throughput: samples / times.step,
    ...(tokens === undefined ? {} : { tokensPerSample: tokens }),
    scalingEfficiency: null,
    strongScalingEfficiency: null,
    efficiencyNotes: [],
    // What every GPU of a group computes is model work once.
    mfu:
      !exact || local === 0
        ? null
        : ((passes * atPeak) / plan.ranks.length / times.step) *
          (whole / (layout.tensor * layout.context * local)),
    limit: limitOf(laidOut, hostTime, exposed),
    ...basisOf(itemAt(slowest, 0).plan),
    exact,
  };
}

interface MessageTimes {
  /** Of all messages between copies that the rank that ends last sends, hidden or not. */
  readonly communication: number;
  readonly exposed: number;
  /** What its last pass takes longer because messages slow its kernels. */
  readonly slowed: number;
}

/** `lines`: of the stages of that rank. */
function messageTimesOf(
  { plan, times: { slowest, ranks } }: LaidOutStep,
  lines: readonly StepTimes[],
): MessageTimes {
  const communication = stagesOf(plan, slowest).reduce(
    (total, { sharedGradients }, place) =>
      total + itemAt(lines, place).communicationTime + sharedGradients.middle,
    0,
  );
  const own = itemAt(ranks, slowest);
  const rest = Math.max(0, own.rest - own.update);
  const exposed = Math.min(rest, communication);
  return { communication, exposed, slowed: rest - exposed };
}

/** FLOPs of one GPU of the rank with the most, over the passes of a step. */
function workOfStages(
  plan: ParallelPlan,
  passes: number,
): { readonly forward: number; readonly backward: number } {
  const works = plan.ranks.map((own) => {
    let [forward, backward] = [0, 0];
    for (const stage of own) {
      const { like, plan: alone } = itemAt(plan.stages, stage);
      const { training } = like === undefined ? alone : itemAt(plan.stages, like).plan;
      const work = workOf(training.costs, passes);
      forward += work.forward;
      backward += work.backward;
    }
    return { forward, backward };
  });
  return works.reduce((most, work) =>
    work.forward + work.backward > most.forward + most.backward ? work : most,
  );
}

const flopsOf = ({ costs }: TrainingGraph): number => workOf(costs, 1).forward;

/** FLOPs of so many passes. */
const workOf = memoizeRecent(
  (
    costs: readonly OperatorCost[],
    passes: number,
  ): { readonly forward: number; readonly backward: number } => {
    let [forward, backward] = [0, 0];
    for (const cost of costs) {
      if (cost.kind !== 'known') continue;
      forward += cost.forward.flops * passes;
      backward += (cost.backwardData.flops + cost.backwardWeight.flops) * passes;
    }
    return { forward, backward };
  },
  (known, asked) => known === asked,
);

/** Waiting for other stages is the pipeline's; collectives between GPUs of a copy are communication. */
function limitOf(laidOut: LaidOutStep, hostTime: number, exposed: number): StepLimit {
  const { times } = laidOut;
  const waits: readonly (readonly [StepLimit['kind'], number])[] = [
    ['pipeline', bubbleOf(laidOut)],
    [
      'communication',
      exchangeTimeOf(laidOut, 'tensor') +
        exchangeTimeOf(laidOut, 'context') +
        exchangeTimeOf(laidOut, 'expert') +
        exposed,
    ],
    ['host', hostTime],
  ];
  const all = waits.reduce((total, [, time]) => total + time, 0);
  const [kind, most] = waits.reduce((longest, part) => (part[1] > longest[1] ? part : longest));
  // The share from which a cause is worth a word is that of `stepLimit`.
  return all < smallShare * times.step
    ? { kind: 'compute', share: Math.max(0, 1 - all / times.step) }
    : { kind, share: most / times.step };
}

function parallelCost(laidOut: LaidOutStep): ParallelCost {
  const { training, plan, times, memories } = laidOut;
  const { layout, stages, sharded } = plan;
  const first = itemAt(stages, 0);
  const collectives = lazy(() => collectivesOfLayers(stages));
  const shardings = lazy(() => shardingsOfLayers(training, sharded));
  const whole = lazy(() => wholeLayers(training, [...sharded.whole, ...sharded.wholeSequence]));
  return {
    replicas: layout.replicas,
    microBatches: passesOf(first.plan.scenario),
    bubble: seconds(bubbleOf(laidOut)),
    tensorCommunication: seconds(exchangeTimeOf(laidOut, 'tensor')),
    contextCommunication: seconds(exchangeTimeOf(laidOut, 'context')),
    expertCommunication: seconds(exchangeTimeOf(laidOut, 'expert')),
    stages: stages.map(({ plan: own, rank, sent }, index) => {
      const { layers, parameters } = own.training.analysis;
      const { forward, backward } = itemAt(times.stages, index);
      return {
        rank,
        first: layers[0]?.name ?? '',
        last: layers.at(-1)?.name ?? '',
        forward: seconds(forward),
        backward: seconds(backward),
        parameters: totalElements(parameters),
        alive: floatAt(times.timeline.alive, index),
        peak: bytes(itemAt(memories, rank).peak),
        sent,
      };
    }),
    get collectives() {
      return collectives();
    },
    get whole() {
      return whole();
    },
    get shardings() {
      return shardings();
    },
  };
}
