/** Whether backward passes an operator. */

import type { Operator } from '../model/graph.ts';
import type { TrainingGraph } from './modelAnalysis.ts';

/**
 * Backward passes what has a result with a gradient. An operator may read what is trained and be passed by none: under
 * `no_grad`, or where nothing but a comparison, an index or a shape is taken of its result.
 */
export const hasBackward = (
  { requiresGradient }: Pick<TrainingGraph, 'requiresGradient'>,
  { outputs }: Pick<Operator, 'outputs'>,
): boolean => outputs.some((name) => requiresGradient.has(name));
