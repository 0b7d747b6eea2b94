/** The memory of a planned step: what the model, the optimizer and the exchange keep, and what comes and goes with it. */

import type { Parameter } from '../../analysis/modelAnalysis.ts';
import { sumOf } from '../../model/sumOf.ts';
import { cacheBytes } from '../decoding/cacheBytes.ts';
import { parameterBytes } from '../plan/gradients.ts';
import { addsToGradients, type StepPlan } from '../plan/stepPlan.ts';
import { heldGradients, heldParameters, heldSums } from './heldParameters.ts';
import {
  type ModelState,
  memoryMoments,
  type PeakMoment,
  type StepMemory,
  stepMemory,
} from './stepMemory.ts';

export const memoryOf = (plan: StepPlan): StepMemory => stepMemory(plan, stateOf(plan));

/** Memory at each operator of forward and backward in the order they run, and in the update; the most is the peak. */
export const momentsOf = (plan: StepPlan): readonly PeakMoment[] => memoryMoments(plan, stateOf(plan));

function stateOf(plan: StepPlan): ModelState {
  const { training, scenario, exchange, update } = plan;
  const { shards } = exchange;
  const { weightBytesPerElement } = plan;
  const trained = sumOf(heldParameters(plan));
  const frozen = totalBytes(training.analysis.frozen, weightBytesPerElement);
  return {
    parameters: (trained + frozen) / shards.parameters,
    gradients:
      scenario.mode === 'training'
        ? sumOf(addsToGradients(plan) ? heldSums(plan) : heldGradients(plan)) / shards.gradients
        : 0,
    optimizerState: update.stateBytes,
    communicationBuffers: exchange.buffers,
    updateTemporaries: update.temporaryBytes,
    cache: cacheBytes(training, scenario),
  };
}

const totalBytes = (parameters: readonly Parameter[], bytesPerElement: number): number =>
  parameters.reduce((total, parameter) => total + parameterBytes(parameter, bytesPerElement), 0);
