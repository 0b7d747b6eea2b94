/** Layers that cut, join, reorder or resize blobs (src/caffe/layers/reshape_layer.cpp, slice_layer.cpp, …). */

import { messageOf, numberOf, numbersOf, spanOf, textOf } from '../../../formats/caffe/syntax.ts';
import { type Dimension, divideExactly, floorDivideDimensions } from '../../../model/dimension.ts';
import { int, ints, type NodeAttributes, type Tensor, text } from '../../layer-spec/layerDefinition.ts';
import { any, type CaffeCall, type CaffeLayerDefinition } from '../layerDefinition.ts';
import { axisOf, fixed, fixedProduct, printShape, shapeOf, shapeOfRank } from '../shapes.ts';

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

function lowerSlice(call: CaffeCall): readonly Tensor[] | undefined {
  const { parameters } = call;
  const shape = shapeOf(call);
  if (shape === undefined) return undefined;
  const written = numbersOf(parameters, 'axis')[0] ?? numberOf(parameters, 'slice_dim') ?? 1;
  const axis = axisOf(
    call,
    written,
    shape.length,
    spanOf(parameters, 'axis') ?? spanOf(parameters, 'slice_dim'),
  );
  if (axis === undefined) return undefined;
  const points = numbersOf(parameters, 'slice_point');
  const size = fixed(shape[axis]);
  if (points.length === 0) {
    if (size !== undefined && size % call.tops !== 0) {
      return call.mismatch(`axis ${axis} of ${printShape(shape)} does not divide into ${call.tops} parts`);
    }
    return call.emitMany('Split', call.inputs, call.tops, { axis: int(axis), num_outputs: int(call.tops) });
  }
  const where = spanOf(parameters, 'slice_point');
  if (points.length !== call.tops - 1) {
    return call.problem(`${call.tops} tops need ${call.tops - 1} slice points, not ${points.length}`, where);
  }
  if (size === undefined) return undefined;
  const ends = [...points, size];
  const parts = ends.map((end, index) => end - (ends[index - 1] ?? 0));
  if (parts.some((part) => part < 1)) {
    return call.mismatch(
      `slice points ${points.join(', ')} do not cut axis ${axis} of ${printShape(shape)}`,
      where,
    );
  }
  return call.emitMany('Split', [call.inputs[0], call.integers(parts)], call.tops, { axis: int(axis) });
}

function lowerCrop(call: CaffeCall): readonly Tensor[] | undefined {
  const [shape, reference] = [shapeOf(call), shapeOf(call, 1)];
  if (shape === undefined || reference === undefined) return undefined;
  const { parameters } = call;
  const axis = axisOf(call, numberOf(parameters, 'axis') ?? 2, shape.length, spanOf(parameters, 'axis'));
  if (axis === undefined) return undefined;
  const offsets = numbersOf(parameters, 'offset');
  const axes = shape.map((_, index) => index).slice(axis);
  if (offsets.length > 1 && offsets.length !== axes.length) {
    const where = spanOf(parameters, 'offset');
    return call.problem(`\`offset\` is given ${offsets.length} times for ${axes.length} axes`, where);
  }
  const starts = axes.map((_, index) => offsets[index] ?? offsets[0] ?? 0);
  const sizes = axes.map((index) => fixed(reference[index]));
  const ends = sizes.map((size, index) => (size === undefined ? undefined : size + (starts[index] ?? 0)));
  if (ends.includes(undefined)) return undefined;
  if (ends.some((end, index) => (end ?? 0) > (fixed(shape[axis + index]) ?? Number.POSITIVE_INFINITY))) {
    return call.mismatch(
      `a crop of ${printShape(reference.slice(axis))} at ${starts.join(', ')} lies outside ${printShape(shape)}`,
      spanOf(parameters, 'offset') ?? call.layer.bottoms[1]?.span,
    );
  }
  return [
    call.emit('Slice', [
      call.inputs[0],
      call.integers(starts),
      call.integers(ends.map((end) => end ?? 0)),
      call.integers(axes),
    ]),
  ];
}

function lowerTile(call: CaffeCall): readonly Tensor[] | undefined {
  const shape = shapeOf(call);
  const tiles = numberOf(call.parameters, 'tiles');
  if (tiles === undefined || tiles < 1) return call.missing('tiles', 'say how often, from 1');
  if (shape === undefined) return undefined;
  const where = spanOf(call.parameters, 'axis');
  const axis = axisOf(call, numberOf(call.parameters, 'axis') ?? 1, shape.length, where);
  if (axis === undefined) return undefined;
  const repeats = shape.map((_, index) => (index === axis ? tiles : 1));
  return [call.emit('Tile', [call.inputs[0], call.integers(repeats)])];
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

/** A Resize of the spatial axes to these sizes. */
function resize(
  call: CaffeCall,
  height: number,
  width: number,
  mode: NodeAttributes,
): readonly Tensor[] | undefined {
  const channels = fixed(shapeOf(call)?.[1]);
  if (channels === undefined) return undefined;
  const sizes = call.integers([height, width]);
  return [
    call.emit('Resize', [call.inputs[0], undefined, undefined, sizes], { axes: ints([2, 3]), ...mode }),
  ];
}

/** Bilinear to a size, or by a factor (interp_layer.cpp of DeepLab: align corners). */
function lowerInterp(call: CaffeCall): readonly Tensor[] | undefined {
  const shape = shapeOfRank(call, 4, '[batch, channels, height, width]');
  const [height, width] = (shape ?? []).slice(2).map(fixed);
  if (height === undefined || width === undefined) return undefined;
  const { parameters } = call;
  const edges = (numberOf(parameters, 'pad_beg') ?? 0) + (numberOf(parameters, 'pad_end') ?? 0);
  const [zoom = 1, shrink = 1] = ['zoom_factor', 'shrink_factor'].map((name) => numberOf(parameters, name));
  if (zoom < 1 || shrink < 1) return call.problem('`zoom_factor` and `shrink_factor` must be above 0');
  const target = (size: number): number => {
    const shrunk = Math.floor((size + edges - 1) / shrink) + 1;
    return shrunk + (shrunk - 1) * (zoom - 1);
  };
  const reference = shapeOf(call, 1);
  const sizes =
    call.inputs.length > 1
      ? (reference ?? []).slice(2).map(fixed)
      : [numberOf(parameters, 'height') || target(height), numberOf(parameters, 'width') || target(width)];
  const [h, w] = sizes;
  if (h === undefined || w === undefined) return undefined;
  if (h < 1 || w < 1) return call.mismatch(`nothing is left of ${printShape(shape)}`);
  return resize(call, h, w, { mode: text('linear'), coordinate_transformation_mode: text('align_corners') });
}

/** Elements repeated, or put back where a pool found its maxima (upsample_layer.cpp of SegNet). */
function lowerUpsample(call: CaffeCall): readonly Tensor[] | undefined {
  const shape = shapeOfRank(call, 4, '[batch, channels, height, width]');
  const [batch, channels, height, width] = shape ?? [];
  const { parameters } = call;
  const factor = numberOf(parameters, 'scale') ?? 2;
  const side = (size: Dimension | undefined, names: readonly string[], own: string): number | undefined => {
    const given = names.map((name) => numberOf(parameters, name)).find((value) => value !== undefined);
    const known = fixed(size);
    return given ?? (known === undefined ? undefined : known * (numberOf(parameters, own) ?? factor));
  };
  const h = side(height, ['upsample_h', 'height'], 'scale_h');
  const w = side(width, ['upsample_w', 'width'], 'scale_w');
  if (h === undefined || w === undefined || batch === undefined || channels === undefined) return undefined;
  if (call.inputs.length === 1) return resize(call, h, w, { mode: text('nearest') });
  const [kernelH, kernelW] = [height, width].map((size, axis) =>
    Math.max(1, fixed(floorDivideDimensions(axis === 0 ? h : w, size ?? 1)) ?? factor),
  );
  return [
    call.emit('MaxUnpool', call.inputs, {
      kernel_shape: ints([kernelH ?? 1, kernelW ?? 1]),
      strides: ints([kernelH ?? 1, kernelW ?? 1]),
    }),
  ];
}

function lowerReduction(call: CaffeCall): readonly Tensor[] | undefined {
  const { parameters } = call;
  const shape = shapeOf(call);
  if (shape === undefined) return undefined;
  const axis = axisOf(call, numberOf(parameters, 'axis') ?? 0, shape.length, spanOf(parameters, 'axis'));
  if (axis === undefined) return undefined;
  const operator = reductions[textOf(parameters, 'operation') ?? 'SUM'] ?? 'ReduceSum';
  const axes = shape.map((_, index) => index).slice(axis);
  const reduced = call.emit(operator, [call.inputs[0], call.integers(axes)], { keepdims: int(0) });
  const factor = numberOf(parameters, 'coeff') ?? 1;
  return [factor === 1 ? reduced : call.emit('Mul', [reduced, call.scalar(factor)])];
}

const reductions: Readonly<Record<string, string>> = {
  SUM: 'ReduceSum',
  ASUM: 'ReduceL1',
  SUMSQ: 'ReduceSumSquare',
  MEAN: 'ReduceMean',
};

/** The highest along an axis, or of each sample: numbers, and values where they are asked for. */
function lowerArgMax(call: CaffeCall): readonly Tensor[] | undefined {
  const { parameters } = call;
  const shape = shapeOf(call);
  const count = numberOf(parameters, 'top_k') ?? 1;
  const withValues = parameters.fields.has('out_max_val') && textOfBool(call, 'out_max_val');
  if (shape === undefined) return undefined;
  const written = numbersOf(parameters, 'axis')[0];
  if (written !== undefined) {
    const axis = axisOf(call, written, shape.length, spanOf(parameters, 'axis'));
    if (axis === undefined) return undefined;
    const found = call.emitMany('TopK', [call.inputs[0], call.integers([count])], 2, { axis: int(axis) });
    const [values, indices] = found;
    return withValues ? toList(values) : toList(indices);
  }
  const flat = shape.length === 2 ? call.inputs[0] : call.emit('Flatten', [call.inputs[0]], { axis: int(1) });
  const [values, indices] = call.emitMany('TopK', [flat, call.integers([count])], 2, { axis: int(1) });
  const positions = call.emit('Unsqueeze', [indices, call.integers([1])]);
  if (!withValues) return [positions];
  const numbers = call.emit('Cast', [positions], { to: int(1) });
  return [
    call.emit('Concat', [numbers, call.emit('Unsqueeze', [values, call.integers([1])])], { axis: int(1) }),
  ];
}

const textOfBool = (call: CaffeCall, name: string): boolean =>
  call.parameters.fields.get(name)?.values.at(-1)?.value === true;

const toList = (tensor: Tensor | undefined): readonly Tensor[] | undefined =>
  tensor === undefined ? undefined : [tensor];

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
    type: 'Slice',
    documentation: 'A blob cut along an axis.',
    source: 'slice_layer.cpp',
    parameters: 'slice_param',
    bottoms: [1, 1],
    tops: [1, any],
    lower: lowerSlice,
  },
  {
    type: 'Split',
    documentation: 'The same blob under several names.',
    source: 'split_layer.cpp',
    bottoms: [1, 1],
    tops: [1, any],
    lower: (call) => Array.from({ length: call.tops }, () => call.emit('Identity', call.inputs)),
  },
  {
    type: 'Crop',
    documentation: 'A part of the first blob, as large as the second.',
    source: 'crop_layer.cpp',
    parameters: 'crop_param',
    bottoms: [2, 2],
    tops: [1, 1],
    lower: lowerCrop,
  },
  {
    type: 'Tile',
    documentation: 'A blob repeated along an axis.',
    source: 'tile_layer.cpp',
    parameters: 'tile_param',
    ...oneToOne,
    lower: lowerTile,
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
  {
    type: 'Interp',
    documentation: 'Bilinear resizing.',
    source: 'interp_layer.cpp of DeepLab',
    parameters: 'interp_param',
    bottoms: [1, 2],
    tops: [1, 1],
    lower: lowerInterp,
  },
  {
    type: 'Upsample',
    documentation: 'Elements repeated, or put back where a pool found its maxima.',
    source: 'upsample_layer.cpp of SegNet',
    parameters: 'upsample_param',
    bottoms: [1, 2],
    tops: [1, 1],
    lower: lowerUpsample,
  },
  {
    type: 'Reduction',
    documentation: 'Sum, mean, or sum of magnitudes or squares over all axes from one on.',
    source: 'reduction_layer.cpp',
    parameters: 'reduction_param',
    ...oneToOne,
    lower: lowerReduction,
  },
  {
    type: 'ArgMax',
    documentation: 'Where the highest values are.',
    source: 'argmax_layer.cpp',
    parameters: 'argmax_param',
    ...oneToOne,
    lower: lowerArgMax,
  },
  {
    type: 'BatchReindex',
    documentation: 'Samples picked by number.',
    source: 'batch_reindex_layer.cpp',
    bottoms: [2, 2],
    tops: [1, 1],
    indexBottoms: [1],
    lower: (call) => [call.emit('Gather', call.inputs, { axis: int(0) })],
  },
  {
    type: 'Filter',
    documentation: 'Samples that the last blob selects.',
    source: 'filter_layer.cpp',
    bottoms: [2, any],
    tops: [1, any],
    lower: (call) => call.unknown('how many samples it selects depends on the data'),
  },
  {
    type: 'Silence',
    documentation: 'Nothing: it only keeps blobs from being outputs of the net.',
    source: 'silence_layer.cpp',
    bottoms: [1, any],
    tops: [0, 0],
    lower: () => [],
  },
  {
    type: 'HDF5Output',
    documentation: 'Writes blobs to a file; nothing of it runs on a GPU.',
    source: 'hdf5_output_layer.cpp',
    parameters: 'hdf5_output_param',
    bottoms: [2, 2],
    tops: [0, 0],
    lower: () => [],
  },
  {
    type: 'Parameter',
    documentation: 'A trained blob.',
    source: 'parameter_layer.hpp',
    parameters: 'parameter_param',
    bottoms: [0, 0],
    tops: [1, 1],
    lower: (call) => {
      const dims = numbersOf(messageOf(call.parameters, 'shape'), 'dim');
      if (dims.length === 0 || dims.some((size) => size < 1))
        return call.missing('shape', 'give the dimensions');
      return [call.weight(0, 'blob', dims)];
    },
  },
];
