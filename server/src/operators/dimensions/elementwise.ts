/** Dimension maps of operators that keep every dimension, or all but some. */

import { isKnownShape } from '../../model/graph.ts';
import type { InferenceContext } from '../definition.ts';
import { type DimensionMap, type Factor, unknownMap } from '../dimensionMap.ts';
import { normalizeAxes, normalizeAxis } from '../vocabulary/axes.ts';
import { whyUnknown } from '../vocabulary/types.ts';
import { type AxisLabels, type FactorDetails, labelsOfRank, mapOfLabels } from './labels.ts';

/** Inputs broadcast together, aligned at the end; all of them unless listed. */
export function broadcastMap(
  context: InferenceContext,
  options: {
    readonly inputs?: readonly number[];
    /** Axes counted from the end, −1 the last, that are not element by element. */
    readonly isPrivate?: (axisFromEnd: number) => boolean;
    /** The output is like the first of the inputs; the others are broadcast to it. */
    readonly likeFirst?: boolean;
  } = {},
): DimensionMap {
  const inputs = options.inputs ?? Array.from({ length: context.inputCount }, (_, index) => index);
  const labels: Record<number, AxisLabels> = {};
  let widest = 0;
  for (const index of inputs) {
    const shape = context.inputShape(index);
    if (shape === undefined) {
      if (context.inputType(index) === undefined) continue;
      return unknownMap(whyUnknown(context, index));
    }
    labels[index] = fromEnd(shape.length, options.isPrivate);
    widest = Math.max(widest, shape.length);
  }
  const [first = 0] = inputs;
  const output = fromEnd(widest, options.isPrivate);
  const map = mapOfLabels(context, { inputs: labels, outputs: like(output, context) });
  if (options.likeFirst !== true || map.kind === 'unknown') return map;
  if (rankOf(context, first) < widest)
    return unknownMap('an input has more axes than the one it is added to');
  const isOfFirst = ({ inputs: places }: Factor): boolean => places.some(({ tensor }) => tensor === first);
  return { kind: 'known', factors: map.factors.filter(isOfFirst) };
}

/** Labels that agree at the last axis. */
export const fromEnd = (
  rank: number,
  isPrivate: (axisFromEnd: number) => boolean = () => false,
): AxisLabels =>
  Array.from({ length: rank }, (_, axis) => (isPrivate(axis - rank) ? undefined : `e${rank - axis}`));

const like = (labels: AxisLabels, { outputCount }: InferenceContext): readonly AxisLabels[] =>
  Array.from({ length: Math.max(1, outputCount) }, () => labels);

/** Every dimension of input 0 is kept, by all outputs. Other inputs are read whole. */
export const likeInputMap = (context: InferenceContext): DimensionMap => likeInputBut(context, []);

/** Every dimension of input 0 is kept but those on these axes. */
export function likeInputBut(
  context: InferenceContext,
  axes: readonly number[],
  options: {
    /** Outputs that have the kept dimensions of input 0; the others have none of them. */
    readonly outputs?: number;
    readonly details?: FactorDetails;
    /** Further inputs that have the dimensions of input 0. */
    readonly alike?: readonly number[];
  } = {},
): DimensionMap {
  const input = context.inputShape(0);
  if (input === undefined) return unknownMap(whyUnknown(context, 0));
  const wrong = normalizeAxes(axes, input.length);
  if (wrong === undefined) return unknownMap('an axis lies outside the input');
  const labels = labelsOfRank(input.length, (axis) => wrong.includes(axis));
  const { details } = options;
  const alike = (options.alike ?? []).map((index): readonly [number, AxisLabels] => [index, labels]);
  return mapOfLabels(context, {
    inputs: { 0: labels, ...Object.fromEntries(alike) },
    outputs: like(labels, context).slice(0, options.outputs ?? context.outputCount),
    ...(details && {
      details: Object.fromEntries(labels.flatMap((label) => (label ? [[label, details]] : []))),
    }),
  });
}

/** Every dimension of input 0 is kept but that of an attribute. */
export const likeInputButAxis = (context: InferenceContext, name: string, otherwise: number): DimensionMap =>
  likeInputBut(context, [context.int(name, otherwise)]);

/** All dimensions before an axis are kept: rows, each worked on by itself. */
export function rowsMap(context: InferenceContext, firstPrivate: number): DimensionMap {
  const rank = rankOf(context, 0);
  const begin = normalizeAxis(firstPrivate, rank) ?? (firstPrivate < 0 ? 0 : rank);
  return likeInputBut(
    context,
    Array.from({ length: rank - begin }, (_, index) => begin + index),
  );
}

/** The first dimensions of input 0 are kept as the first of each output that has as many, and of inputs listed. */
export function leadingMap(
  context: InferenceContext,
  names: readonly string[],
  options: { readonly alike?: Readonly<Record<number, readonly (string | undefined)[]>> } = {},
): DimensionMap {
  const shapeOf = (index: number, labels: readonly (string | undefined)[]): AxisLabels =>
    Array.from({ length: rankOf(context, index) }, (_, axis) => labels[axis]);
  const input = context.inputShape(0);
  if (input === undefined) return unknownMap(whyUnknown(context, 0));
  const inputs = Object.entries(options.alike ?? {}).map(([index, labels]): readonly [string, AxisLabels] => [
    index,
    shapeOf(Number(index), labels),
  ]);
  return mapOfLabels(context, {
    inputs: { 0: shapeOf(0, names), ...Object.fromEntries(inputs) },
    outputs: like(names, context),
  });
}

/** Rank of input `index`, 0 where it is not known. */
export const rankOf = (context: InferenceContext, index: number): number => {
  const type = context.inputType(index);
  return type?.kind === 'tensor' && isKnownShape(type.shape) ? type.shape.length : 0;
};

/** Before version 7 the second input is aligned by `axis`, or at the end; a slope of PRelu at the channels. */
export function legacyBroadcastMap(context: InferenceContext, perChannel: boolean): DimensionMap {
  const left = context.inputShape(0);
  const right = context.inputShape(1);
  if (left === undefined) return unknownMap(whyUnknown(context, 0));
  const labels = labelsOfRank(left.length);
  const rank = right?.length ?? 0;
  const begin = perChannel ? 1 : normalizeAxis(context.int('axis', left.length - rank), left.length);
  return mapOfLabels(context, {
    inputs: { 0: labels, 1: begin === undefined ? [] : labels.slice(begin, begin + rank) },
    outputs: [labels],
  });
}
