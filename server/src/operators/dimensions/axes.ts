/** Dimension maps of operators that work along axes: reductions, normalizations, joins, indices. */

import { type Dimension, equalDimensions, isUnknown } from '../../model/dimension.ts';
import { isKnownShape } from '../../model/graph.ts';
import type { InferenceContext } from '../definition.ts';
import {
  type Combination,
  type DimensionMap,
  privateMap,
  type StatedSize,
  unknownMap,
} from '../dimensionMap.ts';
import { integersOf, normalizeAxes, normalizeAxis, numbersOf } from '../vocabulary/axes.ts';
import { scalarOf } from '../vocabulary/contents.ts';
import { whyUnknown } from '../vocabulary/types.ts';
import { fromEnd, likeInputBut, likeInputButAxis, rankOf } from './elementwise.ts';
import { type AxisLabel, type AxisLabels, type FactorDetails, labelsOfRank, mapOfLabels } from './labels.ts';

/** Reduced axes are contracted where values over equal parts combine, else private. */
export function reductionMap(context: InferenceContext, by: Combination | undefined): DimensionMap {
  const input = context.inputShape(0);
  if (input === undefined) return unknownMap(whyUnknown(context, 0));
  const given = integersOf(context, 1, 'axes');
  const numbers = given.kind === 'known' ? numbersOf(given.values) : [];
  const axes =
    given.kind === 'unknown' || numbers === undefined ? undefined : normalizeAxes(numbers, input.length);
  if (axes === undefined) return unknownMap(whyUnknown(context, 1));
  const reducesAll = axes.length === 0 && context.int('noop_with_empty_axes', 0) === 0;
  return reducedMap(context, (axis) => reducesAll || axes.includes(axis), by);
}

function reducedMap(
  context: InferenceContext,
  isReduced: (axis: number) => boolean,
  by: Combination | undefined,
): DimensionMap {
  const labels = labelsOfRank(rankOf(context, 0));
  const keeps = context.int('keepdims', 1) !== 0;
  return mapOfLabels(context, {
    inputs: { 0: labels },
    outputs: [labels.flatMap((label, axis) => (!isReduced(axis) ? [label] : keeps ? [undefined] : []))],
    ...(by && { details: Object.fromEntries(labels.flatMap((label) => (label ? [[label, { by }]] : []))) }),
  });
}

/** ArgMax and ArgMin. */
export function extremePositionMap(context: InferenceContext): DimensionMap {
  const input = context.inputShape(0);
  if (input === undefined) return unknownMap(whyUnknown(context, 0));
  const axis = normalizeAxis(context.int('axis', 0), input.length);
  return reducedMap(context, (each) => each === axis, undefined);
}

/** Softmax and its kin: before version 13 all axes from the given one on are one row. */
export function softmaxMap(context: InferenceContext): DimensionMap {
  const rank = rankOf(context, 0);
  const axis = context.int('axis', context.opset < 13 ? 1 : -1);
  if (context.opset >= 13 || rank === 0) return likeInputBut(context, rank === 0 ? [] : [axis]);
  const begin = axis < 0 ? axis + rank : axis;
  return likeInputBut(
    context,
    Array.from({ length: rank }, (_, each) => each).filter((each) => each >= begin),
  );
}

/**
 * Layer normalization: axes before the normalized ones are kept, by statistics too. Scale, shift and whatever is added
 * before are broadcast, aligned at the end.
 */
export function layerNormalizationMap(
  context: InferenceContext,
  options: { readonly beside?: readonly number[]; readonly wholeOutputs?: readonly number[] } = {},
): DimensionMap {
  const input = context.inputShape(0);
  if (input === undefined) return unknownMap(whyUnknown(context, 0));
  const begin = normalizeAxis(context.int('axis', -1), input.length);
  if (begin === undefined) return unknownMap(axisOutside);
  const labels = fromEnd(input.length, (axisFromEnd) => axisFromEnd + input.length >= begin);
  const beside = (options.beside ?? [1, 2]).map((index): readonly [number, AxisLabels] => {
    const rank = rankOf(context, index);
    return [index, rank > labels.length ? [] : labels.slice(labels.length - rank)];
  });
  return mapOfLabels(context, {
    inputs: { 0: labels, ...Object.fromEntries(beside) },
    outputs: Array.from({ length: Math.max(1, context.outputCount) }, () => labels),
  });
}

/** [samples, channels, …]: samples are kept, and groups of channels with their scale and shift. */
export function groupNormalizationMap(
  context: InferenceContext,
  groupsName: string,
  options: { readonly channelsLast?: boolean } = {},
): DimensionMap {
  const input = context.inputShape(0);
  if (input === undefined) return unknownMap(whyUnknown(context, 0));
  const none = Array.from({ length: Math.max(0, input.length - 2) }, () => undefined);
  const groups: AxisLabel = [{ label: 'g' }];
  const labels = options.channelsLast === true ? ['n', ...none, groups] : ['n', groups, ...none];
  return mapOfLabels(context, {
    inputs: { 0: labels, 1: [groups], 2: [groups] },
    outputs: [labels, labels],
    details: {
      g: { size: context.int(groupsName, 1), sizes: [{ kind: 'attribute', name: groupsName }] },
    },
  });
}

/** Statistics of a batch make the parts of it depend on each other; running ones do not. */
export function batchNormalizationMap(context: InferenceContext): DimensionMap {
  const input = context.inputShape(0);
  if (input === undefined) return unknownMap(whyUnknown(context, 0));
  const takesStatistics =
    context.int('training_mode', 0) === 1 || (context.opset < 14 && context.outputCount > 1);
  const labels = labelsOfRank(input.length, (axis) => context.int('spatial', 1) === 0 && axis > 0);
  const details: FactorDetails = takesStatistics
    ? { coupled: 'mean and variance are those of all samples and positions' }
    : {};
  const perChannel = (index: number): readonly [number, AxisLabels] => [
    index,
    context.inputShape(index)?.length === 1 ? [labels[1]] : [],
  ];
  return mapOfLabels(context, {
    inputs: { 0: labels, ...Object.fromEntries([1, 2, 3, 4].map(perChannel)) },
    outputs: [labels, ...Array.from({ length: 4 }, () => [labels[1]])],
    details: Object.fromEntries(
      labels.flatMap((label, axis) => (label && axis !== 1 ? [[label, details]] : [])),
    ),
  });
}

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

/** Whether both have an axis, of one size. */
const isAlike = (left: Dimension | undefined, right: Dimension | undefined): boolean =>
  left !== undefined && right !== undefined && equalDimensions(left, right);

const axisOutside = 'the axis lies outside the input';

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

/**
 * Expand: axes of the input that keep their size are kept; where the target names the size it is divided too. An axis that is
 * made larger is made by each worker for itself, as much of it as its target says.
 */
export function expandMap(context: InferenceContext): DimensionMap {
  const input = context.inputShape(0);
  const requested = context.inputContent(1)?.elements;
  if (input === undefined) return unknownMap(whyUnknown(context, 0));
  if (requested === undefined) return unknownMap(whyUnknown(context, 1));
  const rank = Math.max(input.length, requested.length);
  const map = mapOfLabels(context, {
    inputs: { 0: fromEnd(input.length) },
    outputs: [fromEnd(rank)],
    details: Object.fromEntries(
      fromEnd(rank).map((label, axis) => {
        const element = axis - rank + requested.length;
        const stated = requested[element];
        const isStated = element >= 0 && stated !== undefined && stated !== 1;
        return [label, { sizes: isStated ? [{ kind: 'content', input: 1, element }] : [] }];
      }),
    ),
  });
  if (map.kind === 'unknown') return map;
  const isMade = (axis: number): boolean => {
    const own = input[axis - rank + input.length];
    return (own === undefined || own === 1) && requested[axis - rank + requested.length] !== 1;
  };
  const kept = map.factors.filter(({ outputs }) => !outputs.some(({ axis }) => isMade(axis)));
  const made = madeMap(
    requested.map((size, element) => ({ size, axis: element + rank - requested.length })),
    (element) => ({ kind: 'content', input: 1, element }),
    ({ axis }) => isMade(axis),
  );
  return { kind: 'known', factors: [...kept, ...(made.kind === 'known' ? made.factors : [])] };
}

/** Dimensions that an operator makes by itself: each worker makes its block, by stating a smaller size. */
function madeMap(
  made: readonly { readonly size: Dimension; readonly axis: number }[],
  stated: (element: number) => StatedSize,
  isMade: (dimension: { readonly size: Dimension; readonly axis: number }) => boolean = () => true,
): DimensionMap {
  return {
    kind: 'known',
    factors: made.flatMap((dimension, element) =>
      isMade(dimension)
        ? [
            {
              size: dimension.size,
              inputs: [],
              outputs: [{ tensor: 0, axis: dimension.axis }],
              sizes: [stated(element)],
            },
          ]
        : [],
    ),
  };
}

/** A constant of the shape that input 0 or an attribute gives. */
export function filledMap(context: InferenceContext, attribute?: string): DimensionMap {
  const given = attribute === undefined ? undefined : context.ints(attribute);
  const sizes = given ?? context.inputContent(0)?.elements;
  if (sizes === undefined) return unknownMap(whyUnknown(context, 0));
  return madeMap(
    sizes.map((size, axis) => ({ size, axis })),
    (element) =>
      given === undefined || attribute === undefined
        ? { kind: 'content', input: 0, element }
        : { kind: 'attribute', name: attribute, element },
  );
}

/** CumSum and its kin: the axis is input 1. */
export function runningMap(context: InferenceContext): DimensionMap {
  const axis = scalarOf(context, 1);
  return typeof axis === 'number' ? likeInputBut(context, [axis]) : unknownMap(whyUnknown(context, 1));
}

/**
 * Resampling: axes that keep their size are kept. `inference` is what the shape rule says; where sizes are given (`sizesInput`),
 * they are divided too.
 */
export function resizeMap(
  context: InferenceContext,
  outputs: ReturnType<InferenceContext['inferSubgraph']>,
  sizesInput?: number,
): DimensionMap {
  const input = context.inputShape(0);
  const [type] = outputs;
  if (input === undefined) return unknownMap(whyUnknown(context, 0));
  if (type?.kind !== 'tensor' || !isKnownShape(type.shape)) return unknownMap(whyUnknown(context, 1));
  const { shape } = type;
  const crops = context.string('coordinate_transformation_mode', 'half_pixel') === 'tf_crop_and_resize';
  const keepsRatio = context.string('keep_aspect_ratio_policy', 'stretch') !== 'stretch';
  const axes = normalizeAxes(context.ints('axes') ?? input.map((_, axis) => axis), input.length) ?? [];
  const sizes = sizesInput === undefined ? undefined : context.inputContent(sizesInput)?.elements;
  const labels = labelsOfRank(
    input.length,
    (axis) => (axes.includes(axis) && (crops || keepsRatio)) || !isAlike(input[axis], shape[axis]),
  );
  const details = Object.fromEntries(
    labels.map((label, axis): readonly [string, FactorDetails] => {
      const element = axes.indexOf(axis);
      const isStated = sizesInput !== undefined && sizes !== undefined && sizes.length > 0 && element >= 0;
      return [label ?? '', isStated ? { sizes: [{ kind: 'content', input: sizesInput, element }] } : {}];
    }),
  );
  return mapOfLabels(context, { inputs: { 0: labels }, outputs: [labels], details });
}

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

/** Losses: every score but of its class is by itself; a mean over weighted labels is no mean of means. */
export function lossMap(context: InferenceContext): DimensionMap {
  const scores = context.inputShape(0);
  if (scores === undefined) return unknownMap(whyUnknown(context, 0));
  const labels = labelsOfRank(scores.length, (axis) => axis === 1);
  const perSample = labels.filter((_, axis) => axis !== 1);
  const reduction = context.string('reduction', 'mean');
  const isWeighted = context.inputType(2) !== undefined || context.attribute('ignore_index') !== undefined;
  const details: FactorDetails =
    reduction === 'none'
      ? {}
      : {
          by: reduction === 'sum' ? 'sum' : 'mean',
          ...(reduction === 'mean' && isWeighted
            ? { coupled: 'the mean is over the weights of all labels' }
            : {}),
        };
  return mapOfLabels(context, {
    inputs: { 0: labels, 1: perSample },
    outputs: [reduction === 'none' ? perSample : [], labels],
    details: Object.fromEntries(perSample.map((label) => [label, details])),
  });
}

/** [samples, channels, …]: each channel of each sample by itself. */
export function instanceNormalizationMap(context: InferenceContext): DimensionMap {
  const input = context.inputShape(0);
  if (input === undefined) return unknownMap(whyUnknown(context, 0));
  const labels = input.map((_, axis) => ['n', 'c'][axis]);
  return mapOfLabels(context, { inputs: { 0: labels, 1: ['c'], 2: ['c'] }, outputs: [labels] });
}

/** Compress: which entries of an axis are kept is told for the axis as a whole. */
export const compressMap = (context: InferenceContext): DimensionMap =>
  context.attribute('axis') === undefined ? privateMap : likeInputButAxis(context, 'axis', 0);

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
