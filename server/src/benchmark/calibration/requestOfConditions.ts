/** The scenario of a kept result, as far as it decides what one GPU computes. */

import type { ScenarioRequest } from '../../model/scenario.ts';
import type { Computation, Conditions } from '../computation.ts';

export const requestOfConditions = ({
  conditions,
  asked: { options, ...asked } = {},
  dimensions,
}: Computation): ScenarioRequest => ({
  ...asked,
  gpus: 1,
  nodes: 1,
  batch: conditions.batch,
  dimensions,
  mode: conditions.mode,
  precision: conditions.precision,
  optimizer: conditions.optimizer,
  accumulate: conditions.accumulate,
  framework: { name: 'pytorch-ddp', options: { ...options, ...optionsOf(conditions) } },
});

const optionsOf = (conditions: Conditions): Readonly<Record<string, string>> => ({
  'optimizer-kernels': conditions.optimizerKernels,
  'conv-tf32': String(conditions.convTf32),
  ...(conditions.channelsLast ? { 'memory-format': 'channels-last' } : {}),
  ...(conditions.clipsNorm ? { 'clip-norm': 'true' } : {}),
  ...(conditions.addsGradients ? { gradients: 'added' } : {}),
  ...(conditions.weights === 'fp32' ? {} : { weights: conditions.weights }),
});
