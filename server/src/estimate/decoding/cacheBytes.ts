/** The bytes of the keys and values that attention keeps between decode steps. */

import type { AttentionCache, TrainingGraph } from '../../analysis/modelAnalysis.ts';
import { type Bindings, evaluateDimension } from '../../model/dimension.ts';
import { bytesOnGpu } from '../../model/elementType.ts';
import { isKnownShape, type ValueType } from '../../model/graph.ts';
import type { Precision, Scenario } from '../../model/scenario.ts';

type Cached = Pick<TrainingGraph, 'analysis'>;

/** Of all sequences of the batch at the context of the scenario; 0 where the graph is of no decode step. */
export const cacheBytes = ({ analysis }: Cached, { past = 0, precision, dimensions }: Scenario): number =>
  (analysis.caches ?? []).reduce(
    (total, cache) =>
      total + tokensKept(cache, past) * bytesOfToken(cache, new Map(Object.entries(dimensions)), precision),
    0,
  );

/**
 * Tokens of a context of `past` that an attention keeps. A window holds the new token too, so that one less is kept
 * (transformers, cache_utils.py, `DynamicSlidingWindowLayer.update`). A fixed cache is kept as it is.
 */
export function tokensKept({ window, isFixed }: AttentionCache, past: number): number {
  if (isFixed) return 1;
  return window === undefined ? past : Math.min(past, window - 1);
}

/** Keys and values of one token of each sequence of the batch; of a fixed cache all of them. */
export const bytesOfToken = ({ kept }: AttentionCache, bindings: Bindings, precision: Precision): number =>
  kept.reduce((total, type) => total + bytesOfType(type, bindings, precision), 0);

function bytesOfType(type: ValueType, bindings: Bindings, precision: Precision): number {
  if (type.kind !== 'tensor' || !isKnownShape(type.shape)) return Number.NaN;
  let elements = 1;
  for (const dimension of type.shape) {
    const size = evaluateDimension(dimension, bindings);
    if (typeof size !== 'number') return Number.NaN;
    elements *= size;
  }
  return elements * (type.elementType === 'float32' ? widthOf(precision) : bytesOnGpu(type.elementType));
}

/** Keys and values are kept in the type that attention computes in; that of fp8 matmuls is a half precision. */
const widthOf = (precision: Precision): number => (precision === 'fp32' || precision === 'tf32' ? 4 : 2);
