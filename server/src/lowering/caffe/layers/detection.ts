/** Layers of detectors (SSD), and those whose cost no net tells. */

import { booleanOf, numberOf, numbersOf } from '../../../formats/caffe/syntax.ts';
import { int, type Tensor } from '../../layer-spec/layerDefinition.ts';
import { any, type CaffeCall, type CaffeLayerDefinition } from '../layerDefinition.ts';
import { fixed, shapeOfRank } from '../shapes.ts';

/** Boxes of one position: a square for each size and its larger one, and each aspect ratio (prior_box_layer.cpp of SSD). */
function priorsOf(call: CaffeCall): number {
  const { parameters } = call;
  const flip = booleanOf(parameters, 'flip') !== false;
  const ratios: number[] = [1];
  const add = (ratio: number): void => {
    if (!ratios.some((known) => Math.abs(known - ratio) < 1e-6)) ratios.push(ratio);
  };
  for (const ratio of numbersOf(parameters, 'aspect_ratio')) {
    add(ratio);
    if (flip) add(1 / ratio);
  }
  const sizes = numbersOf(parameters, 'min_size').length;
  return sizes * ratios.length + numbersOf(parameters, 'max_size').length;
}

function lowerPriorBox(call: CaffeCall): readonly Tensor[] | undefined {
  const [height, width] = (shapeOfRank(call, 4, '[batch, channels, height, width]') ?? [])
    .slice(2)
    .map(fixed);
  if (height === undefined || width === undefined) return undefined;
  const priors = priorsOf(call);
  if (priors === 0) return call.missing('min_size', 'give the sides of the boxes');
  // The boxes depend on sizes alone, so that they are the same in every step.
  return [call.buffer('boxes', [1, 2, height * width * priors * 4])];
}

/** What matches boxes or samples on the host; the loss is costed for all of them, as its gradient is as large. */
const matchedOnHost = (call: CaffeCall): void =>
  call.remark(
    'caffe/host-layer',
    'Boxes are matched on the host while the GPU waits: the time of this is not counted',
    'warning',
  );

/** Differences of all boxes and cross entropy of all classes (multibox_loss_layer.cpp of SSD). */
function lowerMultiBoxLoss(call: CaffeCall): readonly Tensor[] | undefined {
  const [places, classes] = call.inputs;
  const count = numberOf(call.parameters, 'num_classes');
  if (count === undefined || count < 1)
    return call.missing('num_classes', 'give the number of classes, from 1');
  if (places?.shape === undefined || classes?.shape === undefined) return undefined;
  matchedOnHost(call);
  const size = call.emit('Abs', [call.emit('Sub', [places, call.fromHost(1, places.shape)])]);
  const near = call.emit('Clip', [size, call.scalar(0), call.scalar(1)]);
  const each = call.emit('Add', [call.emit('Mul', [near, near]), call.emit('Sub', [size, near])]);
  const rows = call.emit('Reshape', [classes, call.integers([-1, count])]);
  const labels = call.fromHost(2, rows.shape?.slice(0, 1) ?? [1], 'int64');
  const parts = [
    call.emit('ReduceSum', [each], { keepdims: int(0) }),
    call.emit('SoftmaxCrossEntropyLoss', [rows, labels]),
  ];
  return [call.emit('Add', parts)];
}

/** Squared differences from targets that are matched on the host. */
function lowerMatchedLoss(call: CaffeCall): readonly Tensor[] | undefined {
  const [predicted] = call.inputs;
  if (predicted?.shape === undefined) return undefined;
  matchedOnHost(call);
  const squashed = call.emit('Sigmoid', [predicted]);
  const difference = call.emit('Sub', [squashed, call.fromHost(call.tops, predicted.shape)]);
  return [call.emit('ReduceSumSquare', [difference], { keepdims: int(0) })];
}

export const detectionLayers: readonly CaffeLayerDefinition[] = [
  {
    type: 'PriorBox',
    aliases: ['DensePriorBox'],
    documentation: 'Boxes around every position of a blob, the same in every step.',
    source: 'prior_box_layer.cpp of SSD',
    parameters: 'prior_box_param',
    bottoms: [2, 2],
    tops: [1, 1],
    lower: lowerPriorBox,
  },
  {
    type: 'MultiBoxLoss',
    aliases: ['MultiBoxFocalLoss'],
    documentation: 'Loss of boxes matched to the ground truth.',
    source: 'multibox_loss_layer.cpp of SSD',
    parameters: 'multibox_loss_param',
    isLoss: true,
    readsOnHost: true,
    bottoms: [3, any],
    tops: [0, 1],
    lower: lowerMultiBoxLoss,
  },
  {
    type: 'RegionLoss',
    aliases: ['YoloLoss', 'Yolov3', 'GaussianYolov3', 'YoloV3Loss', 'EvalDetection', 'DetectionLoss'],
    documentation: 'Loss of a grid of boxes matched to the ground truth.',
    source: 'region_loss_layer.cpp and yolov3_layer.cpp of the forks for YOLO',
    parameters: 'region_loss_param',
    otherParameters: ['yolov3_param'],
    isLoss: true,
    readsOnHost: true,
    bottoms: [2, any],
    tops: [0, any],
    lower: lowerMatchedLoss,
  },
];
