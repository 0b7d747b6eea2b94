/** Layers that give the same elements another shape or order (src/caffe/layers/reshape_layer.cpp, flatten_layer.cpp). */

import { messageOf, numberOf, numbersOf, spanOf } from '../../../formats/caffe/syntax.ts';
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
  if (target.includes(undefined)) return call.unknown('its sizes are not known from the net');
  return call.emit('Reshape', [input, call.integers(target.map((size) => size ?? 0))]);
}

function lowerReshape(call: CaffeCall): readonly Tensor[] | undefined {
  const { parameters } = call;
  const shape = shapeOf(call);
  if (shape === undefined) return undefined;
  const dims = numbersOf(messageOf(parameters, 'shape'), 'dim');
  const count = numberOf(parameters, 'num_axes') ?? -1;
  const written = numberOf(parameters, 'axis') ?? 0;
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
  const replaced = dims.map((size, index) => (size === 0 ? (shape[axis + index] ?? 0) : size));
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
  const axis = axisOf(call, numberOf(parameters, 'axis') ?? 1, shape.length, spanOf(parameters, 'axis'));
  const written = numberOf(parameters, 'end_axis') ?? -1;
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
  const group = numberOf(call.parameters, 'group') ?? 1;
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

export const reshapingLayers: readonly CaffeLayerDefinition[] = [
  {
    type: 'Reshape',
    documentation: 'The same elements in another shape.',
    source: 'reshape_layer.cpp',
    parameters: 'reshape_param',
    ...oneToOne,
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
    documentation: 'Channels of groups interleaved.',
    source: 'shuffle_channel_layer.cpp of ShuffleNet',
    parameters: 'shuffle_channel_param',
    ...oneToOne,
    lower: lowerShuffle,
  },
];
