/** Operators that resample images. */

import { countElements } from '../../model/countElements.ts';
import {
  type Dimension,
  floorDivideDimensions,
  isUnknown,
  multiplyDimensions,
  productOfDimensions,
  unknownDimension,
} from '../../model/dimension.ts';
import type {
  CostContext,
  Inference,
  InferenceContext,
  OperatorCost,
  OperatorDefinition,
} from '../definition.ts';
import { privateMap } from '../dimensionMap.ts';
import { resizeMap } from '../dimensions/sizes.ts';
import { affineGridMap, columnsToImageMap, gridSampleMap } from '../dimensions/windows.ts';
import { normalizeAxes, numbersOf } from '../vocabulary/axes.ts';
import { define, withdrawn } from '../vocabulary/define.ts';
import { data, detached, host, noRule } from '../vocabulary/facts.ts';
import { copyCost } from '../vocabulary/movement.ts';
import {
  elementTypeOf,
  listedElements,
  mismatch,
  printShape,
  single,
  tensor,
  tensorOfUnknownShape,
  unknownBecause,
  whyUnknown,
} from '../vocabulary/types.ts';
import { backwardOf, cost, savedInput, trafficOf, unknownShapeCost, work } from '../vocabulary/work.ts';

/** Input elements each output element is made of, per mode. */
const taps: Readonly<Record<string, number>> = { nearest: 0, linear: 2, bilinear: 2, cubic: 4, bicubic: 4 };

const resize = define({
  type: 'Resize',
  since: 10,
  documentation: 'the input resampled to other sizes (ONNX Operators, Resize-19)',
  inputs: [data('X'), host('roi'), host('scales'), host('sizes')],
  pytorch: { layer: 'Upsample', autocast: 'fp32' },
  runner: { rule: 'Resize' },
  infer: inferResize,
  dimensions: (context) =>
    resizeMap(context, inferResize(context).outputs, context.opset < 11 ? undefined : 3),
  cost: (context) => {
    const mode = context.string('mode', 'nearest');
    const dimensions = context.output(0)?.dimensions ?? [];
    const resampled = dimensions.filter((size, axis) => size !== context.input(0)?.dimensions[axis]).length;
    return copyCost(context, { perOutput: mode === 'nearest' ? 0 : 2 * (taps[mode] ?? 2) ** resampled });
  },
});

const upsample = define({
  type: 'Upsample',
  documentation:
    'the input enlarged by factors, replaced by Resize in version 10 (ONNX Operators, Upsample-9)',
  inputs: [data('X'), host('scales')],
  pytorch: { layer: 'Upsample', autocast: 'fp32' },
  runner: { rule: 'Upsample' },
  infer: (context) => {
    const input = context.inputShape(0);
    if (input === undefined) return unknownBecause(context, 0);
    const attribute = context.attribute('scales');
    const height = context.float('height_scale', 1);
    const width = context.float('width_scale', 1);
    const scales =
      attribute?.kind === 'floats' || attribute?.kind === 'ints'
        ? attribute.value
        : context.inputType(1) === undefined
          ? [1, 1, height, width]
          : context.inputContent(1)?.elements;
    const axes = input.map((_, axis) => axis);
    return scaled(context, input, scales, axes, whyUnknown(context, 1));
  },
  dimensions: (context) => resizeMap(context, upsample.infer(context).outputs),
  cost: (context) => copyCost(context, { perOutput: 1 }),
});

const gridSample = define({
  type: 'GridSample',
  since: 16,
  documentation: 'the input sampled at given coordinates (ONNX Operators, GridSample-22)',
  inputs: [data('X'), data('grid')],
  pytorch: { layer: 'GridSample', autocast: 'widest' },
  runner: noRule.unwritten,
  infer: (context) => {
    const input = context.inputShape(0);
    const grid = context.inputShape(1);
    if (input === undefined) return unknownBecause(context, 0);
    if (grid === undefined) return unknownBecause(context, 1, elementTypeOf(context, 0));
    return single(tensor(elementTypeOf(context, 0), [...input.slice(0, 2), ...grid.slice(1, -1)]));
  },
  dimensions: gridSampleMap,
  cost: (context) =>
    copyCost(context, {
      perOutput: 8,
      saved: [savedInput(0), savedInput(1)],
    }),
});

const affineGrid = define({
  type: 'AffineGrid',
  since: 20,
  documentation: 'coordinates of an affine transformation (ONNX Operators, AffineGrid-20)',
  inputs: [data('theta'), host('size')],
  pytorch: { layer: 'AffineGrid', autocast: 'widest' },
  runner: noRule.unwritten,
  infer: (context) => {
    const elementType = elementTypeOf(context, 0);
    const [own, axes] = context.inputShape(0) ?? [];
    const unknown = unknownDimension(whyUnknown(context, 1));
    // Theta is [batch, axes, axes + 1] of an image or a volume: it tells the rank where the length of the size does not.
    const size =
      listedElements(context, 1) ??
      (axes === 2 || axes === 3 ? Array.from({ length: axes + 2 }, () => unknown) : undefined);
    if (size === undefined) return single(tensorOfUnknownShape(elementType, whyUnknown(context, 1)));
    const [asked = 1, , ...spatial] = size;
    const batch = isUnknown(asked) ? (own ?? asked) : asked;
    return single(tensor(elementType, [batch, ...spatial, spatial.length]));
  },
  dimensions: affineGridMap,
  cost: costOfAffineGrid,
});

/**
 * Homogeneous places times the transformation of each image. The function makes the places, and multiplies inside; its backward makes
 * them again and calls a product (aten/src/ATen/native/AffineGridGenerator.cpp).
 */
function costOfAffineGrid(context: CostContext): OperatorCost {
  const [theta, output] = [context.input(0), context.output(0)];
  if (theta === undefined || output === undefined) return unknownShapeCost;
  const multiplications = 2 * output.elements * (theta.dimensions.at(-1) ?? 1);
  const traffic = trafficOf(theta, output);
  return cost('movement', work({ operations: multiplications, traffic }), {
    ...backwardOf(context, () => work({ flops: multiplications, traffic })),
  });
}

const columnsToImage = define({
  type: 'Col2Im',
  since: 18,
  documentation: 'sliding blocks added back to an image (ONNX Operators, Col2Im-18)',
  inputs: [data('input'), host('image_shape'), host('block_shape')],
  pytorch: { layer: 'Col2Im', autocast: 'widest' },
  runner: noRule.unwritten,
  infer: (context) => {
    const input = context.inputShape(0);
    const elementType = elementTypeOf(context, 0);
    const image = listedElements(context, 1);
    const block = context.inputContent(2)?.elements;
    if (input === undefined) return unknownBecause(context, 0);
    if (image === undefined) return single(tensorOfUnknownShape(elementType, whyUnknown(context, 1)));
    const [batch = 1, columns = 1] = input;
    const sizes = block && numbersOf(block);
    const perBlock = sizes && countElements(sizes);
    if (perBlock !== undefined && typeof columns === 'number' && (perBlock < 1 || columns % perBlock !== 0))
      return mismatch(`columns of ${columns} elements are no whole blocks of ${printShape(sizes ?? [])}`);
    const channels =
      sizes === undefined
        ? unknownDimension('the size of the block is unknown')
        : floorDivideDimensions(columns, productOfDimensions(sizes));
    return single(tensor(elementType, [batch, channels, ...image]));
  },
  dimensions: columnsToImageMap,
  cost: (context) => copyCost(context, { perInput: 1 }),
});

const imageDecoder = define({
  type: 'ImageDecoder',
  since: 20,
  documentation: 'an encoded image decoded on the host (ONNX Operators, ImageDecoder-20)',
  inputs: [detached('encoded_stream')],
  pytorch: { layer: 'ImageDecoder', autocast: 'widest' },
  runner: noRule.unwritten,
  infer: (context) => {
    const size = unknownDimension('the size of an image is known only when it is decoded');
    return single(
      tensor('uint8', [size, size, context.string('pixel_format', 'RGB') === 'Grayscale' ? 1 : 3]),
    );
  },
  dimensions: () => privateMap,
  cost: (context) => copyCost(context),
});

export const resizingOperators: readonly OperatorDefinition[] = [
  resize,
  withdrawn(10, 'Resize', upsample),
  gridSample,
  affineGrid,
  columnsToImage,
  imageDecoder,
];

/** Sizes win over scales; version 10 has scales as input 1. Output sizes are ⌊size · scale⌋ (Resize-19). */
function inferResize(context: InferenceContext): Inference {
  const elementType = elementTypeOf(context, 0);
  const input = context.inputShape(0);
  if (input === undefined) return unknownBecause(context, 0);
  const given = context.ints('axes');
  const axes = normalizeAxes(given ?? input.map((_, axis) => axis), input.length);
  if (axes === undefined)
    return mismatch(`axes ${printShape(given ?? [])} lie outside the input ${printShape(input)}`);
  const scalesIndex = context.opset < 11 ? 1 : 2;
  const sizes = context.opset < 11 ? undefined : context.inputContent(3)?.elements;
  if (sizes !== undefined && sizes.length > 0) {
    if (context.string('keep_aspect_ratio_policy', 'stretch') !== 'stretch')
      return keepingRatio(context, input, sizes, axes);
    const shape = input.map((size, axis) =>
      axes.includes(axis) ? (sizes[axes.indexOf(axis)] ?? size) : size,
    );
    return single(tensor(elementType, shape));
  }
  const scales = context.inputContent(scalesIndex)?.elements;
  const bySizes = context.opset >= 11 && context.inputType(3) !== undefined && sizes === undefined;
  const reason = whyUnknown(context, bySizes ? 3 : scalesIndex);
  return scaled(context, input, bySizes ? undefined : scales, axes, reason);
}

function scaled(
  context: InferenceContext,
  input: readonly Dimension[],
  scales: readonly Dimension[] | undefined,
  axes: readonly number[],
  reason: string,
): Inference {
  const elementType = elementTypeOf(context, 0);
  const shape = input.map((size, axis): Dimension => {
    const position = axes.indexOf(axis);
    if (position < 0) return size;
    const scale = scales?.[position];
    if (scale === undefined) return unknownDimension(reason);
    if (typeof scale !== 'number' || Number.isInteger(scale)) return multiplyDimensions(size, scale);
    if (typeof size === 'number') return Math.floor(size * scale + 1e-6);
    return unknownDimension(`a symbolic size scaled by ${scale}`);
  });
  return single(tensor(elementType, shape));
}

/** One scale for all axes, the smaller or larger of those asked for (Resize-18). */
function keepingRatio(
  context: InferenceContext,
  input: readonly Dimension[],
  sizes: readonly Dimension[],
  axes: readonly number[],
): Inference {
  const ratios = axes.map((axis, position) => {
    const size = input[axis];
    const wanted = sizes[position];
    return typeof size === 'number' && typeof wanted === 'number' ? wanted / size : Number.NaN;
  });
  const larger = context.string('keep_aspect_ratio_policy', 'stretch') === 'not_larger' ? Math.min : Math.max;
  const scale = larger(...ratios);
  const shape = input.map((size, axis): Dimension => {
    if (!axes.includes(axis)) return size;
    return typeof size === 'number' && !Number.isNaN(scale)
      ? Math.round(size * scale)
      : unknownDimension('a symbolic size resized with its ratio kept');
  });
  return single(tensor(elementTypeOf(context, 0), shape));
}
