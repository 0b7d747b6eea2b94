/**
 * The cost of one step: the training graph as a framework runs it, on the resources of a cluster.
 *
 * Everything here is put together from the rooms below: kernels from `frameworks/`, their time from `hardware/`,
 * messages from `communication/`, overlap from `schedule/`. Operators of unknown cost are listed, and totals are
 * then lower bounds. Input is null where it is not described.
 */

import type { TrainingGraph } from '../analysis/modelAnalysis.ts';
import { unknownOrigins } from '../analysis/unknownOrigins.ts';
import type { ClusterProfile } from '../hardware/clusterProfile.ts';
import { deviceNoun } from '../model/deviceNoun.ts';
import { lazy } from '../model/lazy.ts';
import type { LayerMeasurements } from '../model/measurement.ts';
import type { Scenario } from '../model/scenario.ts';
import type { StepCost } from '../model/stepCost.ts';
import { finish, type Steps } from '../model/steps.ts';
import { decodeCost, type Prefill } from './decoding/decodeCost.ts';
import { findingsOf } from './findings/findings.ts';
import { layersOf } from './layersOfStep.ts';
import { partsLeftOut } from './leftOut.ts';
import { memoryOf } from './memory/memoryOf.ts';
import { fitOf, fitsAtBest, reservedMemory } from './memory/reservedMemory.ts';
import { messageCosts } from './messageCosts.ts';
import { timelineOf, timesAlone, timesOf } from './plan/plannedTimes.ts';
import { planStep } from './plan/planStep.ts';
import { isInputKnown, totalsOf } from './stepTotals.ts';
import { unknownParts } from './unknownParts.ts';

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
    totals: totalsOf({ plan, timeline, alone, memory, reserved, unknown, findings }),
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
