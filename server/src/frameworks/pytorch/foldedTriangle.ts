/** Masks that no kernel of attention is given: it makes them itself. */

import { sightOf } from '../../analysis/decoding/seesEarlierTokens.ts';
import type { TrainingGraph } from '../../analysis/modelAnalysis.ts';
import { producerOf } from '../../composites/flow.ts';
import { countElements } from '../../model/countElements.ts';
import type { FusedGroup } from './fusedGroups.ts';

/**
 * Whether the mask of an attention that was one call is a stored square with a row for each key, which exporters fold `is_causal=True`
 * to. Where attention that a model writes out is one kernel because a person or a framework says so, a mask that is made of positions
 * alone is none of its inputs either.
 */
export function hasFoldedTriangle(
  training: TrainingGraph,
  { composite, isAsked }: Pick<FusedGroup, 'composite' | 'isAsked'>,
): boolean {
  if (composite?.launchedAs !== 'one') return false;
  // No value has an empty name: what has no mask has no square either.
  const { mask = '', value = '' } = composite.roles;
  const { dimensions = [] } = training.tensors.get(value) ?? {};
  const keys = dimensions.at(-2);
  if (keys === undefined || !isSquare(training, mask, keys)) return false;
  if (!isForAll(training, mask, countElements(dimensions.slice(0, -3)))) return false;
  return isAsked === true ? isOfPositions(training, mask) : isStored(training, mask);
}

/** Keys that a query sees under a mask that a kernel makes itself, where these are the last ones of all; `undefined` for all before it. */
export function windowOfMask(
  { analysis }: Pick<TrainingGraph, 'analysis'>,
  mask: string | undefined,
  keys: number,
): number | undefined {
  const window =
    mask === undefined ? undefined : sightOf(analysis.graph.whole ?? analysis.graph, mask)?.window;
  return window === undefined || window >= keys ? undefined : window;
}

/** Whether a mask is made of positions alone, as a kernel of attention can make it itself: a square of later tokens that are hidden. */
export const isMadeOfPositions = (training: TrainingGraph, mask: string, keys: number): boolean =>
  isSquare(training, mask, keys) &&
  isOfPositions(training, mask) &&
  sightOf(training.analysis.graph.whole ?? training.analysis.graph, mask) !== undefined;

/** One number for each pair of positions, for all heads and repeated for samples at most. */
function isSquare({ tensors }: TrainingGraph, name: string, keys: number): boolean {
  const [width, height, heads = 1] = tensors.get(name)?.dimensions.toReversed() ?? [];
  return width === keys && height === keys && keys > 1 && heads === 1;
}

/** The same for all samples, or written out for each; windows of an image have masks of their own. */
function isForAll({ tensors }: TrainingGraph, name: string, samples: number): boolean {
  const masks = countElements((tensors.get(name)?.dimensions ?? []).slice(0, -3));
  return masks === 1 || masks === samples;
}

/** Or made of what is stored, and not trained. */
const isStored = ({ analysis, requiresGradient }: TrainingGraph, name: string): boolean =>
  analysis.costing.gradients.isStored(name) && !requiresGradient.has(name);

/** Of nothing that comes into the model, and of nothing that is trained. */
function isOfPositions({ analysis, requiresGradient }: TrainingGraph, mask: string): boolean {
  // A stage of a pipeline is given what the stage before made.
  const graph = analysis.graph.whole ?? analysis.graph;
  const waiting = [mask];
  const met = new Set(waiting);
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    const producer = producerOf(graph, name);
    if (requiresGradient.has(name) || graph.inputs.includes(name) || met.size > mostOperators) return false;
    // Sizes of what comes in are no contents of it.
    if (producer === undefined || producer.type === 'Shape') continue;
    for (const input of producer.inputs) {
      if (input === '' || met.has(input)) continue;
      met.add(input);
      waiting.push(input);
    }
  }
  return true;
}

/** A mask is made of a few dozen. */
const mostOperators = 256;
