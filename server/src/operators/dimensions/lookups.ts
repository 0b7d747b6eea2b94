/** Dimension maps of operators that read or write entries by an index. */

import type { InferenceContext } from '../definition.ts';
import { type DimensionMap, privateMap, unknownMap } from '../dimensionMap.ts';
import { normalizeAxis } from '../vocabulary/axes.ts';
import { whyUnknown } from '../vocabulary/types.ts';
import { axisOutside, isAlike } from './alikeAxes.ts';
import { likeInputButAxis } from './elementwise.ts';
import { labelsOfRank, mapOfLabels } from './labels.ts';

/** Gather: what is looked up in is private along the axis, all else is kept. */
export function gatherMap(context: InferenceContext): DimensionMap {
  const input = context.inputShape(0);
  const indices = context.inputShape(1);
  if (input === undefined) return unknownMap(whyUnknown(context, 0));
  if (indices === undefined) return unknownMap(whyUnknown(context, 1));
  const axis = normalizeAxis(context.int('axis', 0), input.length);
  if (axis === undefined) return unknownMap(axisOutside);
  const labels = labelsOfRank(input.length, (each) => each === axis);
  const places = indices.map((_, each) => `i${each}`);
  return mapOfLabels(context, {
    inputs: { 0: labels, 1: places },
    outputs: [[...labels.slice(0, axis), ...places, ...labels.slice(axis + 1)]],
  });
}

/** GatherElements: axes but that of the indices are kept where both inputs have one size on them. */
export function gatherElementsMap(context: InferenceContext): DimensionMap {
  const input = context.inputShape(0);
  const indices = context.inputShape(1);
  if (input === undefined) return unknownMap(whyUnknown(context, 0));
  if (indices === undefined) return unknownMap(whyUnknown(context, 1));
  const axis = normalizeAxis(context.int('axis', 0), input.length);
  const isShort = (each: number): boolean => !isAlike(input[each], indices[each]);
  const labels = labelsOfRank(input.length, (each) => each !== axis && isShort(each));
  return mapOfLabels(context, {
    inputs: { 0: labels.map((label, each) => (each === axis ? undefined : label)), 1: labels },
    outputs: [labels],
  });
}

/** GatherND: batch axes, axes of the indices before the last and of the input behind those indexed are kept. */
export function gatherNDMap(context: InferenceContext): DimensionMap {
  const input = context.inputShape(0);
  const indices = context.inputShape(1);
  const depth = indices?.at(-1);
  if (input === undefined) return unknownMap(whyUnknown(context, 0));
  if (indices === undefined || typeof depth !== 'number') return unknownMap(whyUnknown(context, 1));
  const batch = context.int('batch_dims', 0);
  const places = indices.slice(0, -1).map((_, axis) => `i${axis}`);
  const rest = input.map((_, axis) =>
    axis < batch ? places[axis] : axis < batch + depth ? undefined : `a${axis}`,
  );
  return mapOfLabels(context, {
    inputs: { 0: rest, 1: [...places, undefined] },
    outputs: [[...places, ...rest.slice(batch + depth)]],
  });
}

/** ScatterElements: axes but that of the indices are kept where all inputs have one size on them. */
export function scatterElementsMap(context: InferenceContext): DimensionMap {
  const shapes = [0, 1, 2].map((index) => context.inputShape(index));
  const [input] = shapes;
  if (input === undefined || shapes.includes(undefined))
    return unknownMap(whyUnknown(context, shapes.indexOf(undefined)));
  const axis = normalizeAxis(context.int('axis', 0), input.length);
  const labels = labelsOfRank(
    input.length,
    (each) => each === axis || shapes.some((shape) => !isAlike(shape?.[each], input[each])),
  );
  return mapOfLabels(context, { inputs: { 0: labels, 1: labels, 2: labels }, outputs: [labels] });
}

/** ScatterND: axes of the slices that are written are kept. */
export function scatterNDMap(context: InferenceContext): DimensionMap {
  const input = context.inputShape(0);
  const indices = context.inputShape(1);
  const depth = indices?.at(-1);
  if (input === undefined) return unknownMap(whyUnknown(context, 0));
  if (indices === undefined || typeof depth !== 'number') return unknownMap(whyUnknown(context, 1));
  const labels = labelsOfRank(input.length, (axis) => axis < depth);
  return mapOfLabels(context, {
    inputs: { 0: labels, 2: [...indices.slice(0, -1).map(() => undefined), ...labels.slice(depth)] },
    outputs: [labels],
  });
}

/** TensorScatter: a cache is written along one axis; all others are kept. */
export function tensorScatterMap(context: InferenceContext): DimensionMap {
  const input = context.inputShape(0);
  if (input === undefined) return unknownMap(whyUnknown(context, 0));
  const axis = normalizeAxis(context.int('axis', -2), input.length);
  const labels = labelsOfRank(input.length, (each) => each === axis);
  return mapOfLabels(context, { inputs: { 0: labels, 1: labels, 2: [labels[0]] }, outputs: [labels] });
}

export function oneHotMap(context: InferenceContext, otherwise = -1): DimensionMap {
  const indices = context.inputShape(0);
  if (indices === undefined) return unknownMap(whyUnknown(context, 0));
  const axis = normalizeAxis(context.int('axis', otherwise), indices.length + 1) ?? indices.length;
  const labels = labelsOfRank(indices.length);
  return mapOfLabels(context, {
    inputs: { 0: labels },
    outputs: [[...labels.slice(0, axis), undefined, ...labels.slice(axis)]],
  });
}

/** Compress: which entries of an axis are kept is told for the axis as a whole. */
export const compressMap = (context: InferenceContext): DimensionMap =>
  context.attribute('axis') === undefined ? privateMap : likeInputButAxis(context, 'axis', 0);
