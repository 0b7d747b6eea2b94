/** Layers that give parts or copies of blobs (src/caffe/layers/slice_layer.cpp, crop_layer.cpp, tile_layer.cpp). */

import { numberOf, numberOr, numbersOf, spanOf } from '../../../formats/caffe/syntax.ts';
import { itemAt } from '../../../model/at.ts';
import { int, type Tensor } from '../../layer-spec/layerDefinition.ts';
import { any, type CaffeCall, type CaffeLayerDefinition } from '../layerDefinition.ts';
import { axisOf, fixed, printShape, shapeOf } from '../shapes.ts';

const oneToOne = { bottoms: [1, 1], tops: [1, 1] } as const;

function lowerSlice(call: CaffeCall): readonly Tensor[] | undefined {
  const { parameters } = call;
  const shape = shapeOf(call);
  if (shape === undefined) return undefined;
  const written = numbersOf(parameters, 'axis')[0] ?? numberOr(parameters, 'slice_dim', 1);
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
  const axis = axisOf(call, numberOr(parameters, 'axis', 2), shape.length, spanOf(parameters, 'axis'));
  if (axis === undefined) return undefined;
  const offsets = numbersOf(parameters, 'offset');
  const axes = shape.map((_, index) => index).slice(axis);
  if (offsets.length > 1 && offsets.length !== axes.length) {
    const where = spanOf(parameters, 'offset');
    return call.problem(`\`offset\` is given ${offsets.length} times for ${axes.length} axes`, where);
  }
  const starts = axes.map((_, index) => offsets[index] ?? offsets[0] ?? 0);
  const sizes = axes.map((index) => fixed(reference[index]));
  const ends = sizes.flatMap((size, index) => (size === undefined ? [] : [size + itemAt(starts, index)]));
  if (ends.length < sizes.length) return undefined;
  if (ends.some((end, index) => end > (fixed(shape[axis + index]) ?? Number.POSITIVE_INFINITY))) {
    return call.mismatch(
      `a crop of ${printShape(reference.slice(axis))} at ${starts.join(', ')} lies outside ${printShape(shape)}`,
      spanOf(parameters, 'offset') ?? call.layer.bottoms[1]?.span,
    );
  }
  return [
    call.emit('Slice', [call.inputs[0], call.integers(starts), call.integers(ends), call.integers(axes)]),
  ];
}

function lowerTile(call: CaffeCall): readonly Tensor[] | undefined {
  const shape = shapeOf(call);
  const tiles = numberOf(call.parameters, 'tiles');
  if (tiles === undefined || tiles < 1) return call.missing('tiles', 'say how often, from 1');
  if (shape === undefined) return undefined;
  const where = spanOf(call.parameters, 'axis');
  const axis = axisOf(call, numberOr(call.parameters, 'axis', 1), shape.length, where);
  if (axis === undefined) return undefined;
  const repeats = shape.map((_, index) => (index === axis ? tiles : 1));
  return [call.emit('Tile', [call.inputs[0], call.integers(repeats)])];
}

export const slicingLayers: readonly CaffeLayerDefinition[] = [
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
];
