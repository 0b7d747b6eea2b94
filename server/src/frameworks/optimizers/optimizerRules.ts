/** Which optimizers a framework runs, and why it does not run another. */

import type { Optimizer } from '../../model/scenario.ts';
import { optimizerDefinitions } from './optimizers.ts';

export interface OptimizerRules {
  /** Left out: all that have kernels for PyTorch. */
  readonly takes?: readonly Optimizer[];
  /** A GPU updates parts of tensors, which have no norm or product of their own. */
  readonly splitsTensors?: true;
}

/** Those that frameworks of 2015 to 2019 have. */
export const cudnnEraOptimizers: OptimizerRules = {
  takes: ['sgd', 'momentum', 'adam', 'adamw', 'adagrad', 'rmsprop', 'none'],
};

/** Why not, and what to do; `undefined` where the framework runs it. `tensorParallel`: GPUs that share each matrix. */
export function refusedOptimizer(
  optimizer: Optimizer,
  framework: string,
  { takes, splitsTensors }: OptimizerRules,
  tensorParallel: number,
): string | undefined {
  if (optimizer === 'none') return undefined;
  const { title, needsWholeTensors } = optimizerDefinitions[optimizer];
  if (takes?.includes(optimizer) === false)
    return `\`${framework}\` has no ${title}; choose ${takes.join(', ')}`;
  if (needsWholeTensors === undefined) return undefined;
  if (splitsTensors === true)
    return `${title} needs whole tensors, and \`${framework}\` gives each GPU a part; choose \`adamw\`, or \`pytorch-ddp\``;
  return tensorParallel > 1
    ? `${title} needs whole tensors, and \`tp=${tensorParallel}\` gives each GPU a part; choose \`adamw\`, or leave \`tp\` out`
    : undefined;
}
