/** Layers that make images larger or smaller, which the forks for segmentation add. */

import { numberOf, numberOr } from '../../../formats/caffe/syntax.ts';
import { type Dimension, floorDivideDimensions } from '../../../model/dimension.ts';
import { ints, type NodeAttributes, type Tensor, text } from '../../layer-spec/layerDefinition.ts';
import type { CaffeCall, CaffeLayerDefinition } from '../layerDefinition.ts';
import { fixed, printShape, shapeOf, shapeOfRank } from '../shapes.ts';

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
  const edges = numberOr(parameters, 'pad_beg', 0) + numberOr(parameters, 'pad_end', 0);
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
  const factor = numberOr(parameters, 'scale', 2);
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

/** By `factor`, to a size of the target, or by 8 (imresize_layer.cpp). */
function lowerImageResize(call: CaffeCall): readonly Tensor[] | undefined {
  const shape = shapeOfRank(call, 4, '[batch, channels, height, width]');
  const factor = numberOf(call.parameters, 'factor') || 8;
  const [height, width] = ['target_spatial_height', 'target_spatial_width'].map((name, axis) => {
    const size = fixed(shape?.[2 + axis]);
    return numberOf(call.parameters, name) || (size === undefined ? undefined : Math.round(size * factor));
  });
  if (height === undefined || width === undefined) return undefined;
  return resize(call, height, width, { mode: text('cubic') });
}

export const resizingLayers: readonly CaffeLayerDefinition[] = [
  {
    type: 'Interp',
    aliases: ['Resize', 'ResizeBilinear', 'NNInterp', 'ImageResize'],
    documentation: 'Bilinear resizing.',
    source: 'interp_layer.cpp of DeepLab',
    parameters: 'interp_param',
    otherParameters: ['resize_param', 'nninterp_param', 'image_resize_param'],
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
    type: 'ImResize',
    documentation: 'Maps made larger, bicubic.',
    source: 'imresize_layer.cpp of OpenPose',
    parameters: 'imresize_param',
    bottoms: [1, 1],
    tops: [1, 1],
    lower: lowerImageResize,
  },
];
