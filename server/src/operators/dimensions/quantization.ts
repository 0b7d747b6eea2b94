/** Dimension map of quantization. */

import type { InferenceContext } from '../definition.ts';
import { type DimensionMap, unknownMap } from '../dimensionMap.ts';
import { normalizeAxis } from '../vocabulary/axes.ts';
import { whyUnknown } from '../vocabulary/types.ts';
import { type AxisLabels, labelsOfRank, mapOfLabels } from './labels.ts';

/** Quantization: a scale for all, for each entry of an axis, or for blocks along it. */
export function quantizationMap(context: InferenceContext): DimensionMap {
  const input = context.inputShape(0);
  const scale = context.inputShape(1);
  if (input === undefined) return unknownMap(whyUnknown(context, 0));
  if (scale === undefined) return unknownMap(whyUnknown(context, 1));
  const axis = normalizeAxis(context.int('axis', 1), input.length);
  const isBlocked = scale.length === input.length && scale.length > 0 && context.int('block_size', 0) > 0;
  const labels = labelsOfRank(input.length);
  const blocks = axis === undefined ? undefined : scale[axis];
  const inBlocks = (own: readonly (string | undefined)[]): AxisLabels =>
    own.map((label, each) => (each === axis && isBlocked ? [{ label: 'blocks' }] : label));
  const perElement: AxisLabels = isBlocked
    ? inBlocks(labels)
    : scale.length === 1 && scale[0] !== 1 && axis !== undefined
      ? [labels[axis]]
      : [];
  const isSingle = scale.length === 1 && scale[0] === 1 && axis !== undefined && input[axis] === 1;
  const scales = isSingle ? [labels[axis]] : perElement;
  return mapOfLabels(context, {
    inputs: { 0: inBlocks(labels), 1: scales, 2: scales },
    outputs: [inBlocks(labels)],
    ...(isBlocked && blocks !== undefined && { details: { blocks: { size: blocks } } }),
  });
}
