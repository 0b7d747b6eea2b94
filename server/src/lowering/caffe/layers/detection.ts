/** Layers of detectors (SSD), and those whose cost no net tells. */

import { booleanOf, numbersOf } from '../../../formats/caffe/syntax.ts';
import type { Tensor } from '../../layer-spec/layerDefinition.ts';
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

const opaque = (
  type: string,
  documentation: string,
  source: string,
  reason: string,
  parameters?: string,
  isLoss?: true,
): CaffeLayerDefinition => ({
  type,
  documentation,
  source,
  ...(parameters === undefined ? {} : { parameters }),
  ...(isLoss === undefined ? {} : { isLoss }),
  bottoms: [0, any],
  tops: [0, any],
  lower: (call) => call.unknown(reason),
});

export const detectionLayers: readonly CaffeLayerDefinition[] = [
  {
    type: 'PriorBox',
    documentation: 'Boxes around every position of a blob, the same in every step.',
    source: 'prior_box_layer.cpp of SSD',
    parameters: 'prior_box_param',
    bottoms: [2, 2],
    tops: [1, 1],
    lower: lowerPriorBox,
  },
  opaque(
    'MultiBoxLoss',
    'Loss of boxes matched to the ground truth.',
    'multibox_loss_layer.cpp of SSD',
    'which boxes are matched depends on the data',
    'multibox_loss_param',
    true,
  ),
  opaque(
    'Correlation',
    'Products of patches of two blobs at every displacement.',
    'correlation_layer.cu of FlowNet',
    'the cost of correlations is not modelled',
    'correlation_param',
  ),
];
