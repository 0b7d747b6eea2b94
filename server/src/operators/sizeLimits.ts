/** Sizes that no tensor can have. */

import { type Dimension, isPast64Bits } from '../model/dimension.ts';
import { isKnownShape, type ValueType } from '../model/graph.ts';
import type { Inference } from './definition.ts';

/**
 * An inference whose outputs all have sizes that can be. A negative size, or one past 2⁵³ (sizes of files saturate
 * there, so what is computed from one overflows), contradicts the operator's inputs.
 */
export function withPossibleSizes(inference: Inference): Inference {
  const { problem } = inference;
  // What contradicts itself has no output: a size it was computed to be would read like one.
  if (problem !== undefined) {
    const outputs = inference.outputs.map(
      (type): ValueType =>
        type.kind === 'tensor' && isKnownShape(type.shape) && type.shape.some(isNegative)
          ? { kind: 'unknown', reason: problem.message }
          : type,
    );
    return { ...inference, outputs };
  }
  for (const [index, type] of inference.outputs.entries()) {
    if (type.kind !== 'tensor' || !isKnownShape(type.shape)) continue;
    for (const [axis, size] of type.shape.entries()) {
      const isPossible = typeof size === 'number' ? size <= Number.MAX_SAFE_INTEGER : !isPast64Bits(size);
      if (!isNegative(size) && isPossible) continue;
      const what = isNegative(size) ? `${size} elements` : 'more elements than a 64-bit size can count';
      const message = `axis ${axis} of output ${index} would have ${what}`;
      return { ...inference, problem: { code: 'shape/mismatch', message } };
    }
  }
  return inference;
}

const isNegative = (size: Dimension): boolean => typeof size === 'number' && size < 0;
