/** The memory of a planned step: what the model, the optimizer and the exchange keep, and what comes and goes with it. */

import type { Parameter } from '../../analysis/modelAnalysis.ts';
import { parameterBytes } from '../plan/gradients.ts';
import type { StepPlan } from '../plan/stepPlan.ts';
import { type StepMemory, stepMemory } from './stepMemory.ts';

export function memoryOf(plan: StepPlan): StepMemory {
  const { training, scenario, exchange, update } = plan;
  const { shards } = exchange;
  const { weightBytesPerElement } = plan;
  const trained = totalBytes(training.analysis.parameters, weightBytesPerElement);
  return stepMemory(plan, {
    parameters: (trained + totalBytes(training.analysis.frozen, weightBytesPerElement)) / shards.parameters,
    gradients: scenario.mode === 'training' ? trained / shards.gradients : 0,
    optimizerState: update.stateBytes,
    communicationBuffers: exchange.buffers,
    updateTemporaries: update.temporaryBytes,
  });
}

const totalBytes = (parameters: readonly Parameter[], bytesPerElement: number): number =>
  parameters.reduce((total, parameter) => total + parameterBytes(parameter, bytesPerElement), 0);
