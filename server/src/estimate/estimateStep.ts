/**
 * The cost of one step: the training graph as a framework runs it, on the resources of a cluster.
 *
 * Everything here is put together from the rooms below: kernels from `frameworks/`, their time from `hardware/`,
 * messages from `communication/`, overlap from `schedule/`. Operators of unknown cost are listed, and totals are
 * then lower bounds. Input is null where it is not described.
 */

import type { TrainingGraph } from '../analysis/modelAnalysis.ts';
import { unknownOrigins } from '../analysis/unknownOrigins.ts';
import type { ClusterProfile, GpuProfile } from '../hardware/clusterProfile.ts';
import { computePath } from '../hardware/computePath.ts';
import { kernelTime } from '../hardware/kernelTime.ts';
import type { KernelWork } from '../hardware/kernelWork.ts';
import { describeOrigin } from '../hardware/timeOrigin.ts';
import { deviceNoun } from '../model/deviceNoun.ts';
import { distinct } from '../model/distinct.ts';
import type { Dtype } from '../model/dtype.ts';
import { type Estimate, estimateOf } from '../model/estimate.ts';
import type { Layer } from '../model/graph.ts';
import { lazy } from '../model/lazy.ts';
import type { LayerMeasurements } from '../model/measurement.ts';
import type { Scenario } from '../model/scenario.ts';
import type {
  AsynchronousCost,
  Finding,
  LayerCost,
  MessageCost,
  MixedGpus,
  StepCost,
  TimeShares,
  TotalCost,
  UnknownPart,
} from '../model/stepCost.ts';
import { finish, type Steps } from '../model/steps.ts';
import { sumOf } from '../model/sumOf.ts';
import { flops, seconds } from '../model/units.ts';
import type { StepTimeline, StepTimes } from '../schedule/stepTimeline.ts';
import { decodeCost, type Prefill } from './decoding/decodeCost.ts';
import { efficiencyNotes } from './efficiencyNotes.ts';
import { findingsOf } from './findings/findings.ts';
import { batchThatFits } from './findings/outOfMemory.ts';
import { layerCosts } from './layerCosts.ts';
import { layerOfOperators } from './layerOf.ts';
import { partsLeftOut } from './leftOut.ts';
import { memoryOf } from './memory/memoryOf.ts';
import {
  fitOf,
  fitsAtBest,
  type ReservedMemory,
  reservedMemory,
  runtimeReserve,
} from './memory/reservedMemory.ts';
import type { StepMemory } from './memory/stepMemory.ts';
import { communicationByLayer, messageCosts } from './messageCosts.ts';
import { withMeasurement } from './plan/measuredWork.ts';
import { timelineOf, timesAlone, timesOf, waitingForSlower } from './plan/plannedTimes.ts';
import { planStep } from './plan/planStep.ts';
import { stateOfParameters } from './plan/stateOfParameters.ts';
import { type FasterWorkers, passesOf, passTimesOf, type StepPlan, timeAtServers } from './plan/stepPlan.ts';
import { stepRange } from './plan/surerPlan.ts';
import { recost } from './recost.ts';
import { stepLimit } from './stepLimit.ts';
import { meanStep, meanWorkerStep, throughputOf } from './throughput.ts';
import { tokensPerSample } from './tokens.ts';
import { unknownParts } from './unknownParts.ts';
import { wholeRun } from './wholeRun.ts';

/**
 * `measurements` take the place of predicted compute (`measuredWork.ts`); `leftOut` says what of the file is not in the
 * graph (`leftOut.ts`); `prefill` costs the pass over the prompt, where the step decodes a token.
 */
export const estimateStep = (...asked: Parameters<typeof estimateStepInSteps>): StepCost =>
  finish(estimateStepInSteps(...asked));

/** The same in steps: the plan, its times, its memory, and the totals. */
export function* estimateStepInSteps(
  training: TrainingGraph,
  scenario: Scenario,
  cluster: ClusterProfile,
  measurements?: LayerMeasurements,
  leftOut: readonly string[] = [],
  prefill?: () => Prefill | undefined,
): Steps<StepCost> {
  const plan = planStep(training, scenario, cluster, measurements);
  yield;
  const timeline = timelineOf(plan, 'middle');
  yield;
  const bounds = lazy(() => ({ low: timesOf(plan, 'low'), high: timesOf(plan, 'high') }));
  const memory = memoryOf(plan);
  yield;
  // Placing a step takes longer than costing it: only reports and steps near the limit ask for it.
  const reserved = lazy(() => reservedMemory(plan, memory.peak));
  const origins = unknownOrigins(training);
  const unknown = [...unknownParts(training, origins), ...partsLeftOut(leftOut)];
  const exact = unknown.length === 0;
  const alone = lazy(() => (exact && isInputKnown(plan) ? timesAlone(plan, 'middle') : null));
  // What takes long is computed when it is read: a point of a scaling curve needs the totals alone.
  const messages = lazy(() => messageCosts(plan, timeline));
  const layers = lazy(() => layersOf(plan, { middle: timeline, ...bounds() }, messages(), exact, origins));
  const decoding = lazy(() => decodeCost(plan, memory, prefill?.()));
  const findings = lazy(() =>
    findingsOf({
      plan,
      timeline,
      alone: alone()?.step ?? null,
      memory,
      reserved,
      messages: messages(),
      exact,
    }),
  );
  return {
    scenario,
    gpu: plan.cluster.gpu.title,
    device: deviceNoun(plan.cluster.gpu),
    totals: totalsOf(plan, timeline, alone, memory, reserved, unknown, findings),
    get mayFit() {
      return fitsAtBest(memory, reserved);
    },
    get fits() {
      const fit = fitOf(memory, reserved);
      // What is unknown takes memory too.
      return exact || fit === 'no' ? fit : 'may';
    },
    get layers() {
      return layers();
    },
    get findings() {
      return findings();
    },
    get decoding() {
      return decoding();
    },
    get messages() {
      return plan.exchange.messages.length === 0 ? undefined : messages();
    },
  };
}

function totalsOf(
  plan: StepPlan,
  middle: StepTimeline,
  alone: () => StepTimes | null,
  memory: StepMemory,
  reserved: () => ReservedMemory,
  unknown: readonly UnknownPart[],
  findings: () => readonly Finding[],
): TotalCost {
  const { training, scenario } = plan;
  const passes = passesOf(scenario);
  const work = { forward: 0, backward: 0 };
  for (let index = 0; index < training.costs.length; index += 1) {
    const cost = training.costs[index];
    if (cost?.kind !== 'known') continue;
    work.forward += cost.forward.flops;
    if (scenario.mode === 'training') {
      work.backward += cost.backwardData.flops + cost.backwardWeight.flops;
    }
  }
  const { peakAt, largestBatch: _, mostOfPhases: __, ...kinds } = memory;
  const { operator: peakOperator, ...atPeak } = peakAt;
  const peakLayer = peakOperator === undefined ? undefined : layerOfOperators(training)[peakOperator];
  // Unknown work in backward may hide communication, and adds to what the step computes: both stay open.
  const exact = unknown.length === 0;
  const step = middle.step > 0 ? middle.step : null;
  const isStepExact = exact && isInputKnown(plan);
  return {
    flops: { forward: flops(work.forward * passes), backward: flops(work.backward * passes) },
    time: {
      input: plan.input === undefined ? null : middle.inputTime,
      exposedInput: plan.input === undefined ? null : middle.exposedInputTime,
      forward: middle.forwardTime,
      backward: middle.backwardTime,
      communication: middle.communicationTime,
      exposedCommunication: exact ? middle.exposedTime : null,
      update: middle.updateTime,
      waitingForHost: plan.measured === undefined ? middle.hostTime : null,
      step,
      get range() {
        if (step === null) return null;
        const { low, high } = stepRange(plan);
        return { low: seconds(Math.min(low, step)), high: seconds(Math.max(high, step)) };
      },
      exact: isStepExact,
    },
    memory: {
      ...kinds,
      get reserved() {
        return reserved().bounds;
      },
      context: runtimeReserve,
      get largestBatch() {
        const largest = batchThatFits(memory, training.batch, reserved, findings);
        return exact && Number.isFinite(largest) ? largest : null;
      },
      peakAt: {
        ...atPeak,
        layer: peakLayer === undefined ? '' : (training.analysis.layers[peakLayer]?.name ?? ''),
      },
    },
    throughput: step === null ? null : throughputOf(plan, step),
    get scalingEfficiency() {
      const own = alone();
      return step === null || own === null ? null : own.step / step;
    },
    get strongScalingEfficiency() {
      return step === null || !isStepExact ? null : strongEfficiency(plan, step);
    },
    get efficiencyNotes() {
      const own = alone();
      return own === null ? [] : efficiencyNotes(plan, middle, own);
    },
    mfu: step === null || !isStepExact ? null : (passes * timeAtPeak(plan)) / step,
    limit: stepLimit(plan, middle),
    ...partsOf(plan, middle, isStepExact),
    ...basisOf(plan),
    exact,
    unknown,
  };
}

/** A single GPU takes the whole batch, in as many passes as each does here. */
function strongEfficiency(plan: StepPlan, step: number): number | null {
  const { gpus, globalBatch } = plan.scenario;
  if (globalBatch === undefined || gpus < 2 || plan.measured !== undefined) return null;
  const whole = recost(plan, { batchPerGpu: Math.ceil(globalBatch / passesOf(plan.scenario)) });
  return whole === undefined ? null : timesAlone(whole, 'middle').step / (gpus * step);
}

const isInputKnown = ({ input }: StepPlan): boolean => input === undefined || input.unknown.length === 0;

/** Parts of the totals that only some scenarios have. */
function partsOf(
  plan: StepPlan,
  timeline: StepTimeline,
  isStepExact: boolean,
): Pick<TotalCost, 'input' | 'imbalance' | 'mixed' | 'asynchronous' | 'run' | 'tokensPerSample'> {
  const { scenario, cluster, placement, behaviour, input, imbalance, exchange, faster } = plan;
  const run = wholeRun(
    scenario,
    cluster,
    placement,
    behaviour.input,
    meanStep(plan, timeline.step),
    isStepExact,
    plan.measured === undefined ? timeline.hostTime : null,
  );
  const tokens = tokensPerSample(plan.training);
  return {
    ...(tokens === undefined ? {} : { tokensPerSample: tokens }),
    ...(input === undefined
      ? {}
      : {
          input: {
            storage: input.storage,
            decoding: input.decoding,
            copying: input.copying,
            slowest: input.slowest,
            unknown: input.unknown,
            undescribed: input.undescribed,
          },
        }),
    ...(imbalance === 1
      ? {}
      : {
          imbalance: {
            factor: imbalance,
            time: seconds(Math.max(0, timeline.step - timesOf({ ...plan, imbalance: 1 }, 'middle').step)),
          },
        }),
    ...(faster === undefined ? {} : { mixed: mixedGpus(plan, faster, timeline.step) }),
    ...(exchange.synchrony === 'synchronous' || scenario.gpus === 1
      ? {}
      : { asynchronous: asynchronousCost(plan) }),
    ...(run === undefined ? {} : { run }),
  };
}

function mixedGpus(plan: StepPlan, faster: FasterWorkers, step: number): MixedGpus {
  const { cluster, scenario } = plan;
  return {
    slower: { gpu: cluster.gpu.title, count: scenario.gpus - faster.count },
    faster: { gpu: faster.plan.cluster.gpu.title, count: faster.count },
    time: waitingForSlower(plan, step),
  };
}

/** Workers alike take W − 1 updates of others between a pull and a push. */
function asynchronousCost(plan: StepPlan): AsynchronousCost {
  const { scenario } = plan;
  const atServers = timeAtServers(plan);
  const step = meanWorkerStep(plan);
  return {
    staleness: scenario.gpus - 1,
    bound: atServers > step ? 'server' : 'worker',
    saturatesAt:
      atServers === 0 ? null : (step / atServers) * plan.placement.nodes * plan.placement.gpusPerNode,
  };
}

export function basisOf(plan: StepPlan): { readonly basis?: TimeShares } {
  // What was measured is not predicted by a curve.
  if (plan.measured !== undefined) return {};
  const { updateTimes, scenario } = plan;
  const times = passTimesOf(plan);
  const passes =
    scenario.mode === 'training' ? [times.forward, times.backward, updateTimes] : [times.forward];
  const sum = (column: 'onOwn' | 'onOther' | 'onRoofline'): number =>
    passes.reduce((total, pass) => total + sumOf(pass[column]), 0);
  const [measured, transferred, assumed] = [sum('onOwn'), sum('onOther'), sum('onRoofline')];
  const whole = measured + transferred + assumed;
  if (whole === 0) return {};
  return {
    basis: { measured: measured / whole, transferred: transferred / whole, assumed: assumed / whole },
  };
}

/**
 * What the model's FLOPs would take at the dense peak of the number type each matmul runs in: that of the
 * scenario's precision, but TF32's for fp32 convolutions where cuDNN computes them so, and a wider type's where
 * the GPU lacks the one asked for.
 */
export function timeAtPeak(plan: StepPlan): number {
  const { training, lowered, cluster, scenario, faster } = plan;
  const peaks = new Map<Dtype, number>();
  let total = 0;
  for (let index = 0; index < training.costs.length; index += 1) {
    const cost = training.costs[index];
    const dtype = lowered.operators[index]?.dtype;
    if (cost?.kind !== 'known' || dtype === undefined) continue;
    const backward = scenario.mode === 'training' ? cost.backwardData.flops + cost.backwardWeight.flops : 0;
    const matmuls = cost.forward.flops + backward;
    if (matmuls === 0) continue;
    let peak = peaks.get(dtype);
    if (peak === undefined) {
      peak = computePath(cluster.gpu, dtype).peak / cluster.gpu.sustainedCompute.value;
      peaks.set(dtype, peak);
    }
    total += matmuls / peak;
  }
  if (faster === undefined || total === 0) return total;
  // Peaks of two kinds add up, so their times do as inverses.
  const slowShare = 1 - faster.count / scenario.gpus;
  return 1 / (slowShare / total + (1 - slowShare) / timeAtPeak(faster.plan));
}

export function layersOf(
  plan: StepPlan,
  timelines: Estimate<StepTimes>,
  messages: readonly MessageCost[],
  exact: boolean,
  origins: ReadonlyMap<number, number>,
): readonly LayerCost[] {
  const { training, scenario } = plan;
  const inGraphOrder = ({ backward }: StepTimes): Float64Array =>
    scenario.mode === 'training' ? backward.toReversed() : new Float64Array(training.costs.length);
  const { measured } = plan;
  if (measured !== undefined) {
    // The bound of a layer and the origin of its prediction are those of its kernels.
    const { measured: _, ...predicted } = plan;
    const alone = estimateOf((bound) => timesAlone(predicted, bound));
    return layersOf(predicted, alone, messages, exact, origins).map((layer, index) => {
      const operators = training.analysis.layers[index];
      return operators === undefined
        ? layer
        : withMeasurement(layer, operators, measured, passesOf(scenario));
    });
  }
  const columns = (of: (times: StepTimes) => Float64Array): Estimate<Float64Array> =>
    estimateOf((bound) => of(timelines[bound]));
  return layerCosts({
    training,
    lowered: plan.lowered,
    times: passTimesOf(plan),
    forward: columns(({ forward }) => forward),
    backward: columns(inGraphOrder),
    savedByOperator: plan.saved.activations,
    trains: scenario.mode === 'training',
    passes: passesOf(scenario),
    weightBytesPerElement: plan.weightBytesPerElement,
    isRecomputed: ({ operators }) =>
      operators.some((index) => plan.lowered.operators[index]?.recomputed !== undefined),
    stateOfParameters: stateOfParameters(plan),
    communication: communicationByLayer(training.analysis.layers, messages),
    exposureKnown: exact,
    origins,
    notes: computeNotes(plan),
  });
}

/**
 * "curves of A100 PCIe 80 GB, 1,234 rows, matmuls in bf16 on tensor cores": where the time of a layer's matmuls comes
 * from, or else that of its first kernel. Layers of like kernels share their notes.
 */
function computeNotes({ cluster, training, lowered }: StepPlan): (layer: Layer) => readonly string[] {
  const { gpu } = cluster;
  const known = new Map<KernelWork, readonly string[]>();
  const notesOf = (kernel: KernelWork, dtype: Dtype | undefined): readonly string[] => {
    let notes = known.get(kernel);
    if (notes === undefined) {
      const origin = describeOrigin(gpu, kernelTime(gpu, kernel).origin);
      notes = [dtype === undefined ? origin : `${origin}, matmuls in ${unitOf(gpu, dtype)}`];
      known.set(kernel, notes);
    }
    return notes;
  };
  const originNotes = (layer: Layer): readonly string[] => {
    let first: KernelWork | undefined;
    for (const index of layer.operators) {
      const cost = training.costs[index];
      const operator = lowered.operators[index];
      if (cost?.kind !== 'known' || operator === undefined) continue;
      const matmuls = operator.forward.find((kernel) => kernel.flops > 0);
      if (matmuls !== undefined) return notesOf(matmuls, operator.dtype);
      first ??= operator.forward[0];
    }
    return first === undefined ? [] : notesOf(first, undefined);
  };
  return (layer) => {
    const assumed = layer.operators.flatMap((index) => lowered.operators[index]?.assumed?.name ?? []);
    return assumed.length === 0
      ? originNotes(layer)
      : [...originNotes(layer), ...distinct(assumed).map(assumedNote)];
  };
}

/** What a file does not say of a formula that is mostly one call. */
const assumedNote = (name: string): string =>
  `${name} is assumed to be one kernel; the range covers operators launched one by one`;

function unitOf(gpu: GpuProfile, dtype: Dtype): string {
  const path = computePath(gpu, dtype);
  return path.unit === 'tensor' ? `${path.actual} on tensor cores` : path.actual;
}
