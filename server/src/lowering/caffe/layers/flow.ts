/** Layers of networks for optical flow (FlowNet, FlowNet 2: lmb-freiburg/flownet2, src/caffe/layers). */

import { numberOf, numbersOf } from '../../../formats/caffe/syntax.ts';
import { int, ints, type Tensor, text } from '../../layer-spec/layerDefinition.ts';
import { any, type CaffeCall, type CaffeLayerDefinition } from '../layerDefinition.ts';
import { fixed, printShape, shapeOf, shapeOfRank } from '../shapes.ts';

/** correlation_layer.cpp, Reshape: one channel for every displacement. */
function lowerCorrelation(call: CaffeCall): readonly Tensor[] | undefined {
  const shape = shapeOfRank(call, 4, '[batch, channels, height, width]');
  const { parameters } = call;
  const size = (name: string, standard: number): number => numberOf(parameters, name) ?? standard;
  const [pad, kernel, reach] = [size('pad', 0), size('kernel_size', 1), size('max_displacement', 1)];
  const [stride, step] = [size('stride_1', 1), size('stride_2', 1)];
  const reason = 'the cost of correlations is not modelled';
  if (shape === undefined || stride < 1 || step < 1) return call.unknown(reason);
  const border = reach + Math.floor((kernel - 1) / 2);
  const sides = shape.slice(2).map((each) => {
    const known = fixed(each);
    return known === undefined ? undefined : Math.ceil((known + 2 * pad - 2 * border) / stride);
  });
  const [height, width] = sides;
  const [batch] = shape;
  if (height === undefined || width === undefined || batch === undefined) return call.unknown(reason);
  if (height < 1 || width < 1) return call.mismatch(`nothing is left of ${printShape(shape)}`);
  const displacements = 2 * Math.floor(reach / step) + 1;
  const rows = size('single_direction', 0) === 0 && call.layer.type === 'Correlation' ? displacements : 1;
  return call.unknown(reason, [[batch, rows * displacements, height, width]]);
}

/** Each position of an image is read where the flow points (flow_warp_layer.cu). */
function lowerWarp(call: CaffeCall): readonly Tensor[] | undefined {
  if (shapeOfRank(call, 4, 'a flow', 1) === undefined) return undefined;
  const grid = call.emit('Transpose', [call.inputs[1]], { perm: ints([0, 2, 3, 1]) });
  return [call.emit('GridSample', [call.inputs[0], grid])];
}

/** To a size, or to that of a second blob. */
function lowerResample(call: CaffeCall): readonly Tensor[] | undefined {
  const shape = shapeOfRank(call, 4, '[batch, channels, height, width]');
  const reference = call.inputs.length > 1 ? shapeOf(call, 1)?.slice(2).map(fixed) : undefined;
  const side = (names: readonly string[], axis: number): number | undefined =>
    reference?.[axis] ??
    names.map((name) => numberOf(call.parameters, name)).find((size) => size !== undefined && size > 0) ??
    fixed(shape?.[2 + axis]);
  const [height, width] = [side(['height', 'top_height'], 0), side(['width', 'top_width'], 1)];
  if (shape === undefined || height === undefined || width === undefined) return undefined;
  const sizes = call.integers([height, width]);
  return [
    call.emit('Resize', [call.inputs[0], undefined, undefined, sizes], {
      axes: ints([2, 3]),
      mode: text('linear'),
    }),
  ];
}

/** A crop of the size that is given, less the mean of each channel. */
function lowerAugmentation(call: CaffeCall): readonly Tensor[] | undefined {
  const shape = shapeOfRank(call, 4, '[batch, channels, height, width]');
  const [height, width] = ['crop_height', 'crop_width'].map((name) => numberOf(call.parameters, name));
  if (shape === undefined) return undefined;
  let [tensor] = call.inputs;
  if (height !== undefined && width !== undefined) {
    const bounds = [call.integers([0, 0]), call.integers([height, width]), call.integers([2, 3])];
    tensor = call.emit('Slice', [tensor, ...bounds]);
  }
  return [call.emit('Sub', [tensor, call.scalar(0)])];
}

function lowerL1Loss(call: CaffeCall): readonly Tensor[] | undefined {
  const difference = call.inputs.length > 1 ? call.emit('Sub', call.inputs.slice(0, 2)) : call.inputs[0];
  return [call.emit('ReduceL1', [difference], { keepdims: int(0) })];
}

export const flowLayers: readonly CaffeLayerDefinition[] = [
  {
    type: 'Correlation',
    aliases: ['Correlation1D'],
    documentation: 'Products of patches of two blobs at every displacement.',
    source: 'correlation_layer.cu of FlowNet',
    parameters: 'correlation_param',
    bottoms: [2, 2],
    tops: [1, 1],
    lower: lowerCorrelation,
  },
  {
    type: 'FlowWarp',
    documentation: 'An image read where a flow points.',
    source: 'flow_warp_layer.cu of FlowNet 2',
    parameters: 'flow_warp_param',
    bottoms: [2, 2],
    tops: [1, 1],
    lower: lowerWarp,
  },
  {
    type: 'Resample',
    aliases: ['Downsample'],
    documentation: 'An image brought to a size, or to that of another.',
    source: 'resample_layer.cu and downsample_layer.cu of FlowNet 2',
    parameters: 'resample_param',
    otherParameters: ['downsample_param'],
    bottoms: [1, 2],
    tops: [1, 1],
    lower: lowerResample,
  },
  {
    type: 'ChannelNorm',
    documentation: 'Length of the vector of channels at every position.',
    source: 'channel_norm_layer.cu of FlowNet 2',
    bottoms: [1, 1],
    tops: [1, 1],
    lower: (call) => [call.emit('ReduceL2', [call.inputs[0], call.integers([1])])],
  },
  {
    type: 'DataAugmentation',
    aliases: ['FlowAugmentation'],
    documentation: 'Images cropped and shifted by their mean, or flows.',
    source: 'data_augmentation_layer.cu and flow_augmentation_layer.cu of FlowNet 2',
    parameters: 'augmentation_param',
    bottoms: [1, 3],
    tops: [1, 2],
    readsOnHost: true,
    lower: lowerAugmentation,
  },
  {
    type: 'Mean',
    documentation: 'Images less their mean.',
    source: 'mean_layer.cpp of FlowNet 2',
    parameters: 'mean_param',
    bottoms: [1, 1],
    tops: [1, 1],
    lower: (call) => [
      call.emit('Sub', [call.inputs[0], call.scalar(numbersOf(call.parameters, 'value')[0] ?? 0)]),
    ],
  },
  {
    type: 'L1Loss',
    aliases: ['LpqLoss', 'AbsLoss'],
    documentation: 'Sum of the magnitudes of differences.',
    source: 'l1loss_layer.cpp of FlowNet',
    parameters: 'l1_loss_param',
    comparesBottoms: true,
    isLoss: true,
    bottoms: [1, any],
    tops: [0, 1],
    lower: lowerL1Loss,
  },
];
