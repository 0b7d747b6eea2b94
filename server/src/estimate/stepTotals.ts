/** Totals of a step. What takes long is computed when it is read: a point of a scaling curve needs the step's time alone. */

import type { AsynchronousCost, Finding, MixedGpus, TotalCost, UnknownPart } from '../model/stepCost.ts';
import { flops, seconds } from '../model/units.ts';
import type { StepTimeline, StepTimes } from '../schedule/stepTimeline.ts';
import { efficiencyNotes } from './efficiencyNotes.ts';
import { batchThatFits } from './findings/outOfMemory.ts';
import { layerOfOperators } from './layerOf.ts';
import { type ReservedMemory, runtimeReserve } from './memory/reservedMemory.ts';
import type { StepMemory } from './memory/stepMemory.ts';
import { timesAlone, timesOf, waitingForSlower } from './plan/plannedTimes.ts';
import { type FasterWorkers, passesOf, type StepPlan, timeAtServers } from './plan/stepPlan.ts';
import { stepRange } from './plan/surerPlan.ts';
import { recost } from './recost.ts';
import { stepLimit } from './stepLimit.ts';
import { meanStep, meanWorkerStep, throughputOf } from './throughput.ts';
import { timeAtPeak } from './timeAtPeak.ts';
import { basisOf } from './timeBasis.ts';
import { tokensPerSample } from './tokens.ts';
import { wholeRun } from './wholeRun.ts';

/** What the totals are taken from; functions where the totals are often read without it. */
interface CostedStep {
  readonly plan: StepPlan;
  readonly timeline: StepTimeline;
  /** On one GPU; null where a part of the step is not known. */
  readonly alone: () => StepTimes | null;
  readonly memory: StepMemory;
  readonly reserved: () => ReservedMemory;
  readonly unknown: readonly UnknownPart[];
  readonly findings: () => readonly Finding[];
}

export function totalsOf(costed: CostedStep): TotalCost {
  const { plan, timeline: middle, alone, unknown } = costed;
  const passes = passesOf(plan.scenario);
  const work = matmulsOf(plan);
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
    memory: memoryTotals(costed),
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

/** FLOPs of the matmuls of one pass whose cost is known. */
function matmulsOf({ training, scenario }: StepPlan): {
  readonly forward: number;
  readonly backward: number;
} {
  const work = { forward: 0, backward: 0 };
  for (let index = 0; index < training.costs.length; index += 1) {
    const cost = training.costs[index];
    if (cost?.kind !== 'known') continue;
    work.forward += cost.forward.flops;
    if (scenario.mode === 'training') {
      work.backward += cost.backwardData.flops + cost.backwardWeight.flops;
    }
  }
  return work;
}

function memoryTotals({ plan, memory, reserved, unknown, findings }: CostedStep): TotalCost['memory'] {
  const { training } = plan;
  const { peakAt, largestBatch: _, mostOfPhases: __, ...kinds } = memory;
  const { operator: peakOperator, ...atPeak } = peakAt;
  const peakLayer = peakOperator === undefined ? undefined : layerOfOperators(training)[peakOperator];
  const isExact = unknown.length === 0;
  return {
    ...kinds,
    get reserved() {
      return reserved().bounds;
    },
    context: runtimeReserve,
    get largestBatch() {
      const largest = batchThatFits(memory, training.batch, reserved, findings);
      return isExact && Number.isFinite(largest) ? largest : null;
    },
    peakAt: {
      ...atPeak,
      layer: peakLayer === undefined ? '' : (training.analysis.layers[peakLayer]?.name ?? ''),
    },
  };
}

/** A single GPU takes the whole batch, in as many passes as each does here. */
function strongEfficiency(plan: StepPlan, step: number): number | null {
  const { gpus, globalBatch } = plan.scenario;
  if (globalBatch === undefined || gpus < 2 || plan.measured !== undefined) return null;
  const whole = recost(plan, { batchPerGpu: Math.ceil(globalBatch / passesOf(plan.scenario)) });
  return whole === undefined ? null : timesAlone(whole, 'middle').step / (gpus * step);
}

/** Whether all of what reads and decodes samples has a time. */
export const isInputKnown = ({ input }: StepPlan): boolean =>
  input === undefined || input.unknown.length === 0;

/** Parts of the totals that only some scenarios have. */
function partsOf(
  plan: StepPlan,
  timeline: StepTimeline,
  isStepExact: boolean,
): Pick<TotalCost, 'input' | 'imbalance' | 'mixed' | 'asynchronous' | 'run' | 'tokensPerSample'> {
  const { scenario, input, imbalance, exchange, faster } = plan;
  const run = wholeRun(plan, {
    time: meanStep(plan, timeline.step),
    isExact: isStepExact,
    waitingForHost: plan.measured === undefined ? timeline.hostTime : null,
  });
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
