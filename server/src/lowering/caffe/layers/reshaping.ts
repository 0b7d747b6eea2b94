/** Layers that give the same elements another shape or order (src/caffe/layers/reshape_layer.cpp, flatten_layer.cpp). */

import {
  booleanOf,
  type CaffeMessage,
  messageOf,
  numberOf,
  numberOr,
  numbersOf,
  spanOf,
} from '../../../formats/caffe/syntax.ts';
import { type Dimension, divideExactly } from '../../../model/dimension.ts';
import { int, ints, type Tensor } from '../../layer-spec/layerDefinition.ts';
import type { CaffeCall, CaffeLayerDefinition } from '../layerDefinition.ts';
import { axisOf, fixedProduct, printShape, shapeOf, shapeOfRank } from '../shapes.ts';

const oneToOne = { bottoms: [1, 1], tops: [1, 1] } as const;

/** A Reshape to these sizes: an open one is copied where it stays in its place, or left to follow once. */
function reshapeTo(
  call: CaffeCall,
  input: Tensor | undefined,
  sizes: readonly Dimension[],
): Tensor | undefined {
  let follows = sizes.includes(-1);
  const target = sizes.map((size, axis) => {
    if (typeof size === 'number') return size;
    if (input?.shape?.[axis] === size) return 0;
    if (follows) return undefined;
    follows = true;
    return -1;
  });
  const known = target.filter((size) => size !== undefined);
  if (known.length < target.length) return call.unknown('its sizes are not known from the net');
  return call.emit('Reshape', [input, call.integers(known)]);
}

/** What it reshapes to, where that does not depend on what it reads. */
function wholeShape(parameters: CaffeMessage | undefined): readonly number[] | undefined {
  const sizes = numbersOf(messageOf(parameters, 'shape'), 'dim');
  const isPart = numberOr(parameters, 'axis', 0) !== 0 || numberOr(parameters, 'num_axes', -1) !== -1;
  return isPart || sizes.length === 0 || sizes.some((size) => size < 1) ? undefined : sizes;
}

const areKnown = (sizes: readonly (Dimension | undefined)[]): sizes is readonly Dimension[] =>
  !sizes.includes(undefined);

function lowerReshape(call: CaffeCall): readonly Tensor[] | undefined {
  const { parameters } = call;
  const shape = shapeOf(call);
  if (shape === undefined) return undefined;
  const dims = numbersOf(messageOf(parameters, 'shape'), 'dim');
  const count = numberOr(parameters, 'num_axes', -1);
  const written = numberOr(parameters, 'axis', 0);
  // A negative axis counts from one past the last, so that -1 appends (reshape_layer.cpp, LayerSetUp).
  const axis = written < 0 ? written + shape.length + 1 : written;
  const end = count < 0 ? shape.length : axis + count;
  if (axis < 0 || axis > shape.length || end > shape.length) {
    const where = spanOf(parameters, 'axis') ?? spanOf(parameters, 'num_axes');
    return call.problem(`axes ${written} to ${end} lie outside ${printShape(shape)}`, where);
  }
  if (dims.filter((size) => size === -1).length > 1) {
    const where = spanOf(messageOf(parameters, 'shape'), 'dim');
    return call.problem('only one dimension may be -1', where);
  }
  const replaced = dims.map((size, index) => (size === 0 ? shape[axis + index] : size));
  if (!areKnown(replaced)) {
    // reshape_layer.cpp, Reshape: "new shape contains a 0, but there's no corresponding bottom axis to copy".
    const where = spanOf(messageOf(parameters, 'shape'), 'dim');
    return call.problem(`a dimension of 0 copies an axis that ${printShape(shape)} does not have`, where);
  }
  const sizes = [...shape.slice(0, axis), ...replaced, ...shape.slice(end)];
  const [before, after] = [fixedProduct(shape.slice(1)), fixedProduct(sizes.slice(1))];
  const keepsBatch = sizes[0] === shape[0] && !sizes.includes(-1);
  if (keepsBatch && before !== undefined && after !== undefined && before !== after) {
    return call.mismatch(
      `\`${call.layer.bottoms[0]?.text}\` ${printShape(shape)} does not have as many elements as ${printShape(sizes)}`,
      spanOf(messageOf(parameters, 'shape'), 'dim') ?? call.layer.bottoms[0]?.span,
    );
  }
  const reshaped = reshapeTo(call, call.inputs[0], sizes);
  return reshaped === undefined ? undefined : [reshaped];
}

function lowerFlatten(call: CaffeCall): readonly Tensor[] | undefined {
  const { parameters } = call;
  const shape = shapeOf(call);
  if (shape === undefined) return undefined;
  const axis = axisOf(call, numberOr(parameters, 'axis', 1), shape.length, spanOf(parameters, 'axis'));
  const written = numberOr(parameters, 'end_axis', -1);
  const end = axisOf(call, written, shape.length, spanOf(parameters, 'end_axis'));
  if (axis === undefined || end === undefined) return undefined;
  if (end < axis) return call.problem(`axes ${axis} to ${end} are none`, spanOf(parameters, 'end_axis'));
  if (axis === 1 && end === shape.length - 1) return [call.emit('Flatten', call.inputs, { axis: int(1) })];
  const joined = fixedProduct(shape.slice(axis, end + 1)) ?? -1;
  const reshaped = reshapeTo(call, call.inputs[0], [
    ...shape.slice(0, axis),
    joined,
    ...shape.slice(end + 1),
  ]);
  return reshaped === undefined ? undefined : [reshaped];
}

function lowerPermute(call: CaffeCall): readonly Tensor[] | undefined {
  const shape = shapeOf(call);
  if (shape === undefined) return undefined;
  const order = numbersOf(call.parameters, 'order');
  if (new Set(order).size < order.length || order.some((axis) => axis >= shape.length)) {
    const where = spanOf(call.parameters, 'order');
    return call.problem(`order ${order.join(', ')} is no order of ${shape.length} axes`, where);
  }
  // Axes that are not named follow in their own order.
  const rest = shape.map((_, axis) => axis).filter((axis) => !order.includes(axis));
  return [call.emit('Transpose', call.inputs, { perm: ints([...order, ...rest]) })];
}

/** Groups and channels within them change places (ShuffleNet). */
function lowerShuffle(call: CaffeCall): readonly Tensor[] | undefined {
  const shape = shapeOfRank(call, 4, '[batch, channels, height, width]');
  const [batch, channels, height, width] = shape ?? [];
  const group = numberOr(call.parameters, 'group', 1);
  if (batch === undefined || channels === undefined || height === undefined || width === undefined)
    return undefined;
  const each = divideExactly(channels, group);
  if (each === undefined) {
    const where = spanOf(call.parameters, 'group');
    return call.mismatch(`${printShape(shape)} does not divide into ${group} groups of channels`, where);
  }
  const apart = reshapeTo(call, call.inputs[0], [batch, group, each, height, width]);
  if (apart === undefined) return undefined;
  const swapped = call.emit('Transpose', [apart], { perm: ints([0, 2, 1, 3, 4]) });
  const joined = reshapeTo(call, swapped, [batch, channels, height, width]);
  return joined === undefined ? undefined : [joined];
}

/** Positions of a square become channels, or the other way (reorg_layer.cpp: `stride`, `reverse`). */
function lowerReorg(call: CaffeCall): readonly Tensor[] | undefined {
  const shape = shapeOfRank(call, 4, '[batch, channels, height, width]');
  const { parameters } = call;
  const factor =
    numberOf(parameters, 'stride') ??
    numberOf(parameters, 'up_scale') ??
    numberOf(parameters, 'upscale_factor') ??
    2;
  const reversed = booleanOf(parameters, 'reverse') === true || call.layer.type !== 'Reorg';
  if (shape === undefined) return undefined;
  const fits = reversed
    ? divideExactly(shape[1] ?? 0, factor * factor) !== undefined
    : shape.slice(2).every((size) => divideExactly(size, factor) !== undefined);
  if (factor < 1 || !fits) {
    return call.mismatch(`${printShape(shape)} does not divide by ${factor}`, spanOf(parameters, 'stride'));
  }
  return [call.emit(reversed ? 'DepthToSpace' : 'SpaceToDepth', call.inputs, { blocksize: int(factor) })];
}

function lowerTranspose(call: CaffeCall): readonly Tensor[] | undefined {
  const rank = shapeOf(call)?.length;
  const order = numbersOf(call.parameters, 'dim');
  if (rank === undefined) return undefined;
  if (new Set(order).size !== rank || order.some((axis) => axis < 0 || axis >= rank)) {
    return call.problem(
      `dim ${order.join(', ')} is no order of ${rank} axes`,
      spanOf(call.parameters, 'dim'),
    );
  }
  return [call.emit('Transpose', call.inputs, { perm: ints(order) })];
}

/** An axis read from its end. */
function lowerReverse(call: CaffeCall): readonly Tensor[] | undefined {
  const rank = shapeOf(call)?.length;
  if (rank === undefined) return undefined;
  const axis = axisOf(call, numberOr(call.parameters, 'axis', 0), rank, spanOf(call.parameters, 'axis'));
  if (axis === undefined) return undefined;
  const bounds = [[-1], [-(2 ** 31)], [axis], [-1]].map((values) => call.integers(values));
  return [call.emit('Slice', [call.inputs[0], ...bounds])];
}

/** Zeros around an image, as the forks name the sides. */
function lowerPadding(call: CaffeCall): readonly Tensor[] | undefined {
  if (shapeOfRank(call, 4, '[batch, channels, height, width]') === undefined) return undefined;
  const side = (...names: readonly string[]): number =>
    names.map((name) => numberOf(call.parameters, name)).find((size) => size !== undefined) ?? 0;
  const [top, left] = [
    side('top', 'pad_t', 'pad_top', 'pad_h', 'pad'),
    side('left', 'pad_l', 'pad_left', 'pad_w', 'pad'),
  ];
  const bottom = side('bottom', 'pad_b', 'pad_bottom', 'pad_h', 'pad');
  const right = side('right', 'pad_r', 'pad_right', 'pad_w', 'pad');
  return [call.emit('Pad', [call.inputs[0], call.integers([0, 0, top, left, 0, 0, bottom, right])])];
}

export const reshapingLayers: readonly CaffeLayerDefinition[] = [
  {
    type: 'Reshape',
    documentation: 'The same elements in another shape.',
    source: 'reshape_layer.cpp',
    parameters: 'reshape_param',
    ...oneToOne,
    shapeOfHostBlob: wholeShape,
    lower: lowerReshape,
  },
  {
    type: 'Flatten',
    documentation: 'Several axes as one, all but the batch by default.',
    source: 'flatten_layer.cpp',
    parameters: 'flatten_param',
    ...oneToOne,
    lower: lowerFlatten,
  },
  {
    type: 'Permute',
    documentation: 'Axes in another order.',
    source: 'permute_layer.cpp of SSD',
    parameters: 'permute_param',
    ...oneToOne,
    lower: lowerPermute,
  },
  {
    type: 'ShuffleChannel',
    aliases: ['ChannelShuffle'],
    documentation: 'Channels of groups interleaved.',
    source: 'shuffle_channel_layer.cpp of ShuffleNet',
    parameters: 'shuffle_channel_param',
    ...oneToOne,
    lower: lowerShuffle,
  },
  {
    type: 'Reorg',
    aliases: ['PixelShuffle', 'SubPixel'],
    documentation: 'Positions of squares as channels, or channels as positions.',
    source: 'reorg_layer.cpp of the forks for YOLO v2; pixel_shuffle_layer.cpp',
    parameters: 'reorg_param',
    otherParameters: ['pixel_shuffle_param', 'sub_pixel_param'],
    bottoms: [1, 2],
    tops: [1, 1],
    lower: lowerReorg,
  },
  {
    type: 'Transpose',
    documentation: 'Axes in another order.',
    source: 'transpose_layer.cpp of the forks for CRNN',
    parameters: 'transpose_param',
    ...oneToOne,
    lower: lowerTranspose,
  },
  {
    type: 'Reverse',
    aliases: ['ReverseAxis'],
    documentation: 'An axis from its end.',
    source: 'reverse_layer.cpp of the forks for CRNN',
    parameters: 'reverse_param',
    otherParameters: ['reverse_axis_param'],
    ...oneToOne,
    lower: lowerReverse,
  },
  {
    type: 'Padding',
    aliases: ['Pad', 'PadLayer'],
    documentation: 'Zeros around an image.',
    source: 'padding_layer.cpp of the forks',
    parameters: 'padding_param',
    otherParameters: ['pad_param'],
    ...oneToOne,
    lower: lowerPadding,
  },
];
