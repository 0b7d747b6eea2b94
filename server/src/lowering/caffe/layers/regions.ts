/** Layers that pool regions of interest: a grid of values for each row [image, x1, y1, x2, y2] of their second bottom. */

import { numberOf, numberOr } from '../../../formats/caffe/syntax.ts';
import { int, ints, type Tensor } from '../../layer-spec/layerDefinition.ts';
import type { CaffeCall, CaffeLayerDefinition } from '../layerDefinition.ts';
import { fixed, printShape, shapeOf, shapeOfRank } from '../shapes.ts';

/** Height and width of the grid, from `pooled_h` and `pooled_w`. */
function gridOf(call: CaffeCall): readonly [number, number] | undefined {
  const [height = 0, width = 0] = ['pooled_h', 'pooled_w'].map((name) => numberOf(call.parameters, name));
  if (height >= 1 && width >= 1) return [height, width];
  return call.problem('`pooled_h` and `pooled_w` must be above 0');
}

/** Corners and image numbers of regions apart, as ONNX takes them. */
function boxesOf(call: CaffeCall, rois: Tensor | undefined): readonly [Tensor, Tensor] {
  const columns = (start: number, end: number): Tensor =>
    call.emit('Slice', [rois, call.integers([start]), call.integers([end]), call.integers([1])]);
  const numbers = call.emit('Squeeze', [columns(0, 1), call.integers([1])]);
  return [columns(1, 5), call.emit('Cast', [numbers], { to: int(7) })];
}

function align(call: CaffeCall, input: Tensor | undefined, [height, width]: readonly [number, number]) {
  const [boxes, images] = boxesOf(call, call.inputs[1]);
  return call.emit('RoiAlign', [input, boxes, images], {
    output_height: int(height),
    output_width: int(width),
    sampling_ratio: int(
      numberOf(call.parameters, 'sampling_ratio') ?? numberOr(call.parameters, 'sample_num', 1),
    ),
  });
}

function lowerAlign(call: CaffeCall): readonly Tensor[] | undefined {
  const grid = gridOf(call);
  if (grid === undefined || shapeOf(call, 1) === undefined) return undefined;
  return [align(call, call.inputs[0], grid)];
}

/**
 * Each of the `group_size`² bins of a region reads channels of its own, so that as many values are read and written
 * as by one window per region and channel: the channels [dim · group²] become [dim, group, group].
 */
function lowerPositionSensitive(call: CaffeCall): readonly Tensor[] | undefined {
  const shape = shapeOfRank(call, 4, '[batch, channels, height, width]');
  const channels = fixed(shape?.[1]);
  if (channels === undefined || shapeOf(call, 1) === undefined) return undefined;
  const { parameters } = call;
  const group = numberOf(parameters, 'group_size');
  const outputs = numberOf(parameters, 'output_dim');
  if (group === undefined || group < 1) return call.missing('group_size', 'give the bins along each side');
  if (outputs === undefined || outputs < 1)
    return call.missing('output_dim', 'give the channels of the output');
  if (channels !== outputs * group * group) {
    return call.mismatch(
      `\`${call.layer.bottoms[0]?.text}\` is ${printShape(shape)}, but ${outputs} outputs of ${group} × ${group} bins need ${outputs * group * group} channels`,
      call.layer.bottoms[0]?.span,
    );
  }
  const pooled = call.emit('MaxRoiPool', call.inputs.slice(0, 2), { pooled_shape: ints([1, 1]) });
  return [call.emit('Reshape', [pooled, call.integers([-1, outputs, group, group])])];
}

const regions = { bottoms: [2, 3], tops: [1, 2] } as const;

export const regionLayers: readonly CaffeLayerDefinition[] = [
  {
    type: 'ROIPooling',
    aliases: ['RoIPooling', 'ROIWarping', 'ROIWarpingTest', 'ROIMaskPooling', 'MaskPooling'],
    documentation: 'Maximum of a grid of windows in each region of interest.',
    source: 'roi_pooling_layer.cpp of Fast R-CNN; roi_warping_layer.cpp of MNC',
    parameters: 'roi_pooling_param',
    bottoms: [2, 3],
    tops: [1, 2],
    lower: (call) => {
      const grid = gridOf(call);
      if (grid === undefined || shapeOf(call, 1) === undefined) return undefined;
      return [call.emit('MaxRoiPool', call.inputs.slice(0, 2), { pooled_shape: ints(grid) })];
    },
  },
  {
    type: 'ROIAlign',
    aliases: ['RoIAlign', 'ROIPoolingAlign'],
    documentation: 'Bilinear samples of a grid in each region of interest.',
    source: 'roi_align_layer.cpp of py-RFCN-priv',
    parameters: 'roi_align_param',
    ...regions,
    lower: lowerAlign,
  },
  {
    type: 'PSROIPooling',
    aliases: ['PSROIAlign', 'DeformablePSROIPooling'],
    documentation: 'Mean of each bin of a region, every bin from channels of its own.',
    source: 'psroi_pooling_layer.cpp of R-FCN',
    parameters: 'psroi_pooling_param',
    ...regions,
    lower: lowerPositionSensitive,
  },
];
