/** The mask that exporters fold `is_causal=True` to, which no kernel of attention is given. */

import type { TrainingGraph } from '../../analysis/modelAnalysis.ts';
import type { Composite } from '../../composites/composite.ts';

/** Whether the mask of an attention that was one call is a stored square with a row for each key. */
export function hasFoldedTriangle(
  training: TrainingGraph,
  { launchedAs, operators, roles: { mask } }: Pick<Composite, 'launchedAs' | 'operators' | 'roles'>,
): boolean {
  if (launchedAs !== 'one' || mask === undefined || mask === '') return false;
  const softmax = operators
    .map((index) => training.analysis.graph.operators[index])
    .find((operator) => operator?.type === 'Softmax');
  const keys = training.tensors.get(softmax?.outputs[0] ?? '')?.dimensions.at(-1);
  return keys !== undefined && isStoredSquare(training, mask, keys);
}

/** One number for each pair of positions, whatever sample and head, stored or made of what is, and not trained. */
function isStoredSquare(
  { analysis, tensors, requiresGradient }: TrainingGraph,
  name: string,
  keys: number,
): boolean {
  const [width, height, ...others] = tensors.get(name)?.dimensions.toReversed() ?? [];
  return (
    analysis.costing.gradients.isStored(name) &&
    !requiresGradient.has(name) &&
    width === keys &&
    height === keys &&
    keys > 1 &&
    others.every((size) => size === 1)
  );
}
