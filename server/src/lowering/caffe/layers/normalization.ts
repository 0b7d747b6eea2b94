/** Normalizations (src/caffe/layers/lrn_layer.cpp, batch_norm_layer.cpp, mvn_layer.cpp, softmax_layer.cpp). */

import { booleanOf, numberOf, numberOr, spanOf, textOf } from '../../../formats/caffe/syntax.ts';
import { float, int, ints, type Tensor } from '../../layer-spec/layerDefinition.ts';
import type { CaffeCall, CaffeLayerDefinition } from '../layerDefinition.ts';
import { axisOf, fixed, shapeOf, shapeOfRank } from '../shapes.ts';

const oneToOne = { bottoms: [1, 1], tops: [1, 1] } as const;

function lowerLrn(call: CaffeCall): readonly Tensor[] | undefined {
  const { parameters } = call;
  const [input] = call.inputs;
  const size = numberOr(parameters, 'local_size', 5);
  if (size % 2 === 0) {
    return call.problem(`\`local_size\` is ${size}; it must be odd`, spanOf(parameters, 'local_size'));
  }
  const [alpha = 1, beta = 0.75, k = 1] = ['alpha', 'beta', 'k'].map((name) => numberOf(parameters, name));
  if (textOf(parameters, 'norm_region') !== 'WITHIN_CHANNEL') {
    const attributes = { size: int(size), alpha: float(alpha), beta: float(beta), bias: float(k) };
    return [call.emit('LRN', [input], attributes)];
  }
  // Caffe composes it of its own layers: square, mean over windows, (1 + alpha · mean) ^ -beta, product.
  if (shapeOfRank(call, 4, '[batch, channels, height, width]') === undefined) return undefined;
  const pad = (size - 1) / 2;
  const mean = call.emit('AveragePool', [call.emit('Mul', [input, input])], {
    kernel_shape: ints([size, size]),
    pads: ints([pad, pad, pad, pad]),
    count_include_pad: int(1),
  });
  const sum = call.emit('Add', [call.emit('Mul', [mean, call.scalar(alpha)]), call.scalar(1)]);
  return [call.emit('Mul', [input, call.emit('Pow', [sum, call.scalar(-beta)])])];
}

/** Caffe normalizes here and scales in a Scale layer of its own, unless NVIDIA's `scale_bias` is set. */
function lowerBatchNorm(call: CaffeCall): readonly Tensor[] | undefined {
  const channels = fixed(shapeOf(call)?.[1]);
  if (channels === undefined) return undefined;
  const trained = booleanOf(call.parameters, 'scale_bias') === true;
  const stored = [
    trained ? call.weight(3, 'scale', [channels]) : call.buffer('ones', [channels]),
    trained ? call.weight(4, 'bias', [channels]) : call.buffer('zeros', [channels]),
    ...['mean', 'variance'].map((name) => call.buffer(name, [channels])),
  ];
  const epsilon = float(numberOr(call.parameters, 'eps', 1e-5));
  return [call.emit('BatchNormalization', [call.inputs[0], ...stored], { epsilon })];
}

/** Normalization per channel with trained factors and shifts, its first two parameters (bn_layer.cpp). */
function lowerTrainedNorm(call: CaffeCall): readonly Tensor[] | undefined {
  const channels = fixed(shapeOf(call)?.[1]);
  if (channels === undefined) return undefined;
  const trained = ['scale', 'shift'].map((name, index) => call.weight(index, name, [channels]));
  const stored = ['mean', 'variance'].map((name) => call.buffer(name, [channels]));
  const epsilon = float(numberOr(call.parameters, 'eps', 1e-5));
  return [call.emit('BatchNormalization', [call.inputs[0], ...trained, ...stored], { epsilon })];
}

/** Statistics of each sample: of each channel, or of groups of them. */
function lowerSampleNorm(call: CaffeCall): readonly Tensor[] | undefined {
  const channels = fixed(shapeOf(call)?.[1]);
  if (channels === undefined) return undefined;
  const groups = numberOf(call.parameters, 'group_num') ?? numberOr(call.parameters, 'num_groups', 32);
  if (call.layer.type === 'GroupNorm' && (groups < 1 || channels % groups !== 0)) {
    return call.mismatch(`${channels} channels do not divide into ${groups} groups`);
  }
  const trained = ['scale', 'bias'].map((name, index) => call.weight(index, name, [channels]));
  return call.layer.type === 'GroupNorm'
    ? [call.emit('GroupNormalization', [call.inputs[0], ...trained], { num_groups: int(groups) })]
    : [call.emit('InstanceNormalization', [call.inputs[0], ...trained])];
}

function lowerMvn(call: CaffeCall): readonly Tensor[] | undefined {
  const shape = shapeOf(call);
  if (shape === undefined) return undefined;
  const first = booleanOf(call.parameters, 'across_channels') ? 1 : 2;
  const axes = shape.map((_, axis) => axis).slice(first);
  if (axes.length === 0) return call.mismatch('MVN reads [batch, channels, height, width]');
  if (booleanOf(call.parameters, 'normalize_variance') !== false) {
    return [call.emit('MeanVarianceNormalization', [call.inputs[0]], { axes: ints(axes) })];
  }
  const mean = call.emit('ReduceMean', [call.inputs[0], call.integers(axes)]);
  return [call.emit('Sub', [call.inputs[0], mean])];
}

/** L2 norm over channels, or over channels and positions, times a trained factor (normalize_layer.cpp of SSD). */
function lowerNormalize(call: CaffeCall): readonly Tensor[] | undefined {
  const shape = shapeOf(call);
  const channels = fixed(shape?.[1]);
  if (shape === undefined || channels === undefined) return undefined;
  const axes =
    booleanOf(call.parameters, 'across_spatial') === false ? [1] : shape.slice(1).map((_, i) => i + 1);
  const norm = call.emit('ReduceL2', [call.inputs[0], call.integers(axes)]);
  const shared = booleanOf(call.parameters, 'channel_shared') !== false;
  const scale = call.weight(0, 'scale', shared ? [1] : [channels, ...shape.slice(2).map(() => 1)]);
  return [call.emit('Mul', [call.emit('Div', [call.inputs[0], norm]), scale])];
}

function lowerSoftmax(call: CaffeCall): readonly Tensor[] | undefined {
  const shape = shapeOf(call);
  const written = numberOr(call.parameters, 'axis', 1);
  const axis =
    shape === undefined ? written : axisOf(call, written, shape.length, spanOf(call.parameters, 'axis'));
  return axis === undefined ? undefined : [call.emit('Softmax', [call.inputs[0]], { axis: int(axis) })];
}

export const normalizationLayers: readonly CaffeLayerDefinition[] = [
  {
    type: 'LRN',
    aliases: ['LRNRistretto'],
    documentation: 'Division by a power of the sum of squares over neighbouring channels or positions.',
    source: 'lrn_layer.cpp',
    parameters: 'lrn_param',
    ...oneToOne,
    lower: lowerLrn,
  },
  {
    type: 'BatchNorm',
    documentation: 'Normalization per channel, without scale and shift.',
    source: 'batch_norm_layer.cpp',
    parameters: 'batch_norm_param',
    ...oneToOne,
    lower: lowerBatchNorm,
  },
  {
    type: 'BN',
    aliases: ['SyncBN', 'BatchNormalization', 'CuDNNBatchNorm', 'CuDNNBatchNormalization'],
    documentation: 'Normalization per channel, with trained factors and shifts.',
    source: 'bn_layer.cpp of SegNet, and of PSPNet',
    parameters: 'bn_param',
    otherParameters: ['batch_norm_param'],
    ...oneToOne,
    lower: lowerTrainedNorm,
  },
  {
    type: 'InstanceNorm',
    aliases: ['GroupNorm', 'InstanceNormalization'],
    documentation: 'Normalization of the channels of each sample, alone or in groups.',
    source: 'instance_norm_layer.cpp and group_norm_layer.cpp of the forks',
    parameters: 'group_norm_param',
    otherParameters: ['instance_norm_param'],
    ...oneToOne,
    lower: lowerSampleNorm,
  },
  {
    type: 'MVN',
    documentation: 'Mean 0 and variance 1 of each sample and channel.',
    source: 'mvn_layer.cpp',
    parameters: 'mvn_param',
    ...oneToOne,
    lower: lowerMvn,
  },
  {
    type: 'Normalize',
    documentation: 'Division by the L2 norm, times a trained factor.',
    source: 'normalize_layer.cpp of SSD',
    parameters: 'norm_param',
    ...oneToOne,
    lower: lowerNormalize,
  },
  {
    type: 'Softmax',
    documentation: 'eˣ divided by its sum over the classes.',
    source: 'softmax_layer.cpp',
    parameters: 'softmax_param',
    ...oneToOne,
    lower: lowerSoftmax,
  },
];
