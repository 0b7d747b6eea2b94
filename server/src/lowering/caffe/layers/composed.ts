/** Layers that are whole parts of a network: the dense block of DenseNet, the transformer of images. */

import { booleanOf, numberOf, numberOr } from '../../../formats/caffe/syntax.ts';
import { int, ints, type Tensor } from '../../layer-spec/layerDefinition.ts';
import type { CaffeCall, CaffeLayerDefinition } from '../layerDefinition.ts';
import { fixed, shapeOfRank } from '../shapes.ts';

/**
 * `numTransition` steps of normalization, ReLU and a 3 × 3 convolution to `growthRate` channels, each joined to what it
 * read; with `use_BC` a 1 × 1 convolution to four times as many channels before (DenseBlock_layer.cpp).
 */
function lowerDenseBlock(call: CaffeCall): readonly Tensor[] | undefined {
  const shape = shapeOfRank(call, 4, '[batch, channels, height, width]');
  const { parameters } = call;
  const steps = numberOr(parameters, 'numTransition', 12);
  const growth = numberOr(parameters, 'growthRate', 12);
  let channels = fixed(shape?.[1]);
  let [tensor] = call.inputs;
  if (channels === undefined || tensor === undefined) return undefined;
  if (steps < 1 || steps > mostSteps || growth < 1)
    return call.problem('`numTransition` is a number from 1 to 1000');
  const narrows = booleanOf(parameters, 'use_BC') === true;
  const convolved = (input: Tensor, name: string, from: number, to: number, size: number): Tensor => {
    const [ones, zeros] = [`${name}.scale`, `${name}.bias`].map((each) => call.weight(-1, each, [from]));
    const stored = ['mean', 'variance'].map((each) => call.buffer(`${name}.${each}`, [from]));
    const normalized = call.emit('BatchNormalization', [input, ones, zeros, ...stored]);
    const weight = call.weight(-1, `${name}.weight`, [to, from, size, size]);
    const pad = (size - 1) / 2;
    return call.emit('Conv', [call.emit('Relu', [normalized]), weight], {
      kernel_shape: ints([size, size]),
      pads: ints([pad, pad, pad, pad]),
    });
  };
  for (let step = 0; step < steps; step += 1) {
    const wide = narrows ? convolved(tensor, `${step}.narrow`, channels, 4 * growth, 1) : tensor;
    const grown = convolved(wide, `${step}`, narrows ? 4 * growth : channels, growth, 3);
    tensor = call.emit('Concat', [tensor, grown], { axis: int(1) });
    channels += growth;
  }
  return [tensor];
}

const mostSteps = 1000;

/** Positions of a grid turned by a matrix of each sample, and the image read there (st_layer.cu). */
function lowerSpatialTransformer(call: CaffeCall): readonly Tensor[] | undefined {
  const shape = shapeOfRank(call, 4, '[batch, channels, height, width]');
  const [height, width] = ['output_H', 'output_W'].map(
    (name, axis) => numberOf(call.parameters, name) ?? fixed(shape?.[2 + axis]),
  );
  if (shape === undefined || height === undefined || width === undefined) return undefined;
  const matrices = call.emit('Reshape', [call.inputs[1], call.integers([0, 3, 2])]);
  const positions = call.emit('MatMul', [call.buffer('grid', [height * width, 3]), matrices]);
  const grid = call.emit('Reshape', [positions, call.integers([0, height, width, 2])]);
  return [call.emit('GridSample', [call.inputs[0], grid])];
}

export const composedLayers: readonly CaffeLayerDefinition[] = [
  {
    type: 'DenseBlock',
    documentation: 'Convolutions that each read everything before them.',
    source: 'DenseBlock_layer.cpp of Tongcheng/caffe for DenseNet',
    parameters: 'denseblock_param',
    bottoms: [1, 1],
    tops: [1, 1],
    lower: lowerDenseBlock,
  },
  {
    type: 'SpatialTransformer',
    documentation: 'An image read at the positions of a grid that is turned and shifted.',
    source: 'st_layer.cu of the forks for spatial transformers',
    parameters: 'st_param',
    bottoms: [2, 2],
    tops: [1, 1],
    lower: lowerSpatialTransformer,
  },
];
