/** The memory of a planned step: what the model, the optimizer and the exchange keep, and what comes and goes with it. */

import { sumOf } from '../../model/sumOf.ts';
import { cacheBytes } from '../decoding/cacheBytes.ts';
import { parameterBytes } from '../plan/gradients.ts';
import { addsToGradients, gradientsLeave, type StepPlan } from '../plan/stepPlan.ts';
import { beforeShards, heldGradients, heldParameters, heldSums } from './heldParameters.ts';
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
  const { parameters, frozen: kept } = training.analysis;
  const trained = sumOf(beforeShards(parameters, heldParameters(plan), shards.parameters));
  const frozen = sumOf(
    beforeShards(
      kept,
      Float64Array.from(kept, (each) => parameterBytes(each, weightBytesPerElement)),
      shards.parameters,
    ),
  );
  return {
    parameters: exchange.onHost?.parameters === true ? 0 : (trained + frozen) / shards.parameters,
    gradients:
      scenario.mode === 'training' && !gradientsLeave(plan)
        ? sumOf(
            beforeShards(
              parameters,
              addsToGradients(plan) ? heldSums(plan) : heldGradients(plan),
              shards.gradients,
            ),
          ) / shards.gradients
        : 0,
    optimizerState: update.stateBytes,
    communicationBuffers: exchange.buffers,
    updateTemporaries: update.temporaryBytes,
    cache: cacheBytes(training, scenario),
  };
}
