/** Dimension maps of operators that join tensors along an axis, or take parts of it. */

import { type Dimension, equalDimensions, isUnknown } from '../../model/dimension.ts';
import type { InferenceContext } from '../definition.ts';
import { type DimensionMap, type StatedSize, unknownMap } from '../dimensionMap.ts';
import { integersOf, normalizeAxes, normalizeAxis, numbersOf } from '../vocabulary/axes.ts';
import { whyUnknown } from '../vocabulary/types.ts';
import { axisOutside, isAlike } from './alikeAxes.ts';
import { likeInputBut, rankOf } from './elementwise.ts';
import { type AxisLabels, type FactorDetails, labelsOfRank, mapOfLabels } from './labels.ts';

/**
 * Concat: other axes are kept. Parts of one size make the joined axis of parts · size: a block of each part is in the result
 * a block of each of as many runs.
 */
export function concatMap(context: InferenceContext, given?: readonly number[]): DimensionMap {
  const inputs = given ?? Array.from({ length: context.inputCount }, (_, index) => index);
  const shapes = inputs.map((index) => context.inputShape(index));
  const [first] = shapes;
  const axis = first && normalizeAxis(context.int('axis', 1), first.length);
  if (first === undefined || shapes.includes(undefined) || axis === undefined)
    return unknownMap(whyUnknown(context, inputs[shapes.indexOf(undefined)] ?? 0));
  const size = first[axis] ?? 1;
  const alike = shapes.every((shape) => isAlike(shape?.[axis], size));
  const labels = labelsOfRank(first.length, (each) => each === axis);
  const joined = (outer: Dimension): AxisLabels =>
    labels.map((label, each) => (each === axis && alike ? [{ label: 'joined', outer }] : label));
  return mapOfLabels(context, {
    inputs: Object.fromEntries(inputs.map((index) => [index, joined(1)])),
    outputs: [joined(inputs.length)],
    details: { joined: { size } },
  });
}

/** Split into parts: of one size, the reverse of Concat. */
export function splitMap(context: InferenceContext): DimensionMap {
  const input = context.inputShape(0);
  if (input === undefined) return unknownMap(whyUnknown(context, 0));
  const axis = normalizeAxis(context.int('axis', 0), input.length);
  const parts = integersOf(context, 1, 'split');
  if (axis === undefined) return unknownMap(axisOutside);
  const count = Math.max(1, context.outputCount);
  const total = input[axis] ?? 1;
  const stated = parts.kind === 'known' ? numbersOf(parts.values) : undefined;
  const isEven =
    parts.kind === 'absent'
      ? typeof total === 'number' && total % count === 0 && context.int('num_outputs', count) === count
      : stated?.every((size) => size === stated[0]) === true;
  const size = stated?.[0] ?? (typeof total === 'number' ? total / count : total);
  const sizes = (stated ?? []).map(
    (_, element): StatedSize =>
      context.inputType(1) === undefined
        ? { kind: 'attribute', name: 'split', element }
        : { kind: 'content', input: 1, element },
  );
  const labels = labelsOfRank(input.length, (each) => each === axis);
  const parted = (outer: Dimension): AxisLabels =>
    labels.map((label, each) => (each === axis && isEven ? [{ label: 'part', outer }] : label));
  return mapOfLabels(context, {
    inputs: { 0: parted(count) },
    outputs: Array.from({ length: count }, () => parted(1)),
    details: { part: { size, sizes } },
  });
}

/** Slice: axes that are taken whole are kept. */
export function sliceMap(context: InferenceContext): DimensionMap {
  const input = context.inputShape(0);
  if (input === undefined) return unknownMap(whyUnknown(context, 0));
  const starts = integersOf(context, 1, 'starts');
  const ends = integersOf(context, 2, 'ends');
  const given = integersOf(context, 3, 'axes');
  const steps = integersOf(context, 4, 'steps');
  const count = starts.kind === 'known' ? starts.values.length : input.length;
  const axes =
    given.kind === 'absent'
      ? Array.from({ length: count }, (_, axis) => axis)
      : given.kind === 'known'
        ? normalizeAxes(numbersOf(given.values) ?? [Number.NaN], input.length)
        : undefined;
  if (axes === undefined) return unknownMap(whyUnknown(context, 3));
  const details: Record<string, FactorDetails> = {};
  const cut = new Set<number>();
  for (const [position, axis] of axes.entries()) {
    const size = input[axis] ?? 1;
    const start = starts.kind === 'known' ? starts.values[position] : undefined;
    const end = ends.kind === 'known' ? ends.values[position] : undefined;
    const step = steps.kind === 'absent' ? 1 : steps.kind === 'known' ? steps.values[position] : undefined;
    const isWhole = start === 0 && step === 1 && end !== undefined;
    if (isWhole && typeof end === 'number' && end >= toTheEnd) continue;
    if (isWhole && equalDimensions(end, size)) {
      details[`a${axis}`] = {
        sizes: [
          context.inputType(2) === undefined
            ? { kind: 'attribute', name: 'ends', element: position }
            : { kind: 'content', input: 2, element: position },
        ],
      };
      continue;
    }
    cut.add(axis);
  }
  const labels = labelsOfRank(input.length, (axis) => cut.has(axis));
  return mapOfLabels(context, { inputs: { 0: labels }, outputs: [labels], details });
}

/** Beyond this an index means "to the end", as exporters write it. */
const toTheEnd = 2 ** 31 - 1;

/** Pad: axes that nothing is added to are kept. */
export function padMap(context: InferenceContext): DimensionMap {
  const input = context.inputShape(0);
  if (input === undefined) return unknownMap(whyUnknown(context, 0));
  const pads = integersOf(context, 1, context.opset < 2 ? 'paddings' : 'pads');
  const given = context.opset < 18 ? undefined : context.inputContent(3)?.elements;
  const axesUnknown = context.opset >= 18 && context.inputType(3) !== undefined && given === undefined;
  if (pads.kind !== 'known' || axesUnknown) return unknownMap(whyUnknown(context, axesUnknown ? 3 : 1));
  const axes =
    given === undefined
      ? input.map((_, axis) => axis)
      : (normalizeAxes(numbersOf(given) ?? [Number.NaN], input.length) ?? []);
  const isPadded = (axis: number): boolean => {
    const position = axes.indexOf(axis);
    return position >= 0 && (pads.values[position] !== 0 || pads.values[position + axes.length] !== 0);
  };
  return likeInputBut(context, input.map((_, axis) => axis).filter(isPadded));
}

/** Tile: a block of an axis is, in each repetition of it, a block of the output. */
export function tileMap(context: InferenceContext): DimensionMap {
  const input = context.inputShape(0);
  const repeats = context.inputContent(1)?.elements;
  if (input === undefined) return unknownMap(whyUnknown(context, 0));
  if (repeats?.length !== input.length) return unknownMap(whyUnknown(context, 1));
  const labels = labelsOfRank(input.length);
  return mapOfLabels(context, {
    inputs: { 0: labels.map((label) => (label === undefined ? label : [{ label }])) },
    outputs: [
      labels.map((label, axis) =>
        label === undefined || isUnknown(repeats[axis] ?? 1)
          ? undefined
          : [{ label, outer: repeats[axis] ?? 1 }],
      ),
    ],
    details: Object.fromEntries(labels.map((label, axis) => [label, { size: input[axis] ?? 1 }])),
  });
}

/** ReverseSequence: a length for each sample; steps are private. */
export function reverseSequenceMap(context: InferenceContext): DimensionMap {
  const rank = rankOf(context, 0);
  const time = normalizeAxis(context.int('time_axis', 0), rank);
  const batch = normalizeAxis(context.int('batch_axis', 1), rank);
  const labels = labelsOfRank(rank, (axis) => axis === time);
  return mapOfLabels(context, {
    inputs: { 0: labels, 1: [batch === undefined ? undefined : labels[batch]] },
    outputs: [labels],
  });
}
