/** Layers that compute each element apart (src/caffe/layers/, one file each). */

import { booleanOf, numberOf, numberOr, spanOf } from '../../../formats/caffe/syntax.ts';
import { float, int, type Tensor } from '../../layer-spec/layerDefinition.ts';
import type { CaffeCall, CaffeLayerDefinition } from '../layerDefinition.ts';
import { fixed, shapeOf } from '../shapes.ts';

const oneToOne = { bottoms: [1, 1], tops: [1, 1] } as const;

const plain = (
  type: string,
  operator: string,
  documentation: string,
  source: string,
  parameters?: string,
): CaffeLayerDefinition => ({
  type,
  documentation,
  source,
  ...(parameters === undefined ? {} : { parameters }),
  ...oneToOne,
  lower: (call) => [call.emit(operator, call.inputs)],
});

/** shift + scale · x, as far as it does anything. */
function affine(call: CaffeCall): Tensor | undefined {
  const [scale = 1, shift = 0] = ['scale', 'shift'].map((name) => numberOf(call.parameters, name));
  let [tensor] = call.inputs;
  if (scale !== 1) tensor = call.emit('Mul', [tensor, call.scalar(scale)]);
  if (shift !== 0) tensor = call.emit('Add', [tensor, call.scalar(shift)]);
  return tensor;
}

/** The same blob, where nothing was done to it: a layer has an operator of its own. */
const ownTensor = (call: CaffeCall, tensor: Tensor | undefined): readonly Tensor[] =>
  tensor === undefined || tensor === call.inputs[0] ? [call.emit('Identity', [call.inputs[0]])] : [tensor];

function lowerPower(call: CaffeCall): readonly Tensor[] | undefined {
  const power = numberOr(call.parameters, 'power', 1);
  const inner = affine(call);
  if (power === 1) return ownTensor(call, inner);
  if (power === 2) return [call.emit('Mul', [inner, inner])];
  return [call.emit('Pow', [inner, call.scalar(power)])];
}

function lowerExp(call: CaffeCall): readonly Tensor[] | undefined {
  const base = numberOr(call.parameters, 'base', -1);
  if (base !== -1 && base <= 0)
    return call.problem('`base` must be above 0, or -1 for e', spanOf(call.parameters, 'base'));
  const inner = affine(call);
  return [base === -1 ? call.emit('Exp', [inner]) : call.emit('Pow', [call.scalar(base), inner])];
}

function lowerLog(call: CaffeCall): readonly Tensor[] | undefined {
  const base = numberOr(call.parameters, 'base', -1);
  if (base !== -1 && base <= 0)
    return call.problem('`base` must be above 0, or -1 for e', spanOf(call.parameters, 'base'));
  const logarithm = call.emit('Log', [affine(call)]);
  return [base === -1 ? logarithm : call.emit('Mul', [logarithm, call.scalar(1 / Math.log(base))])];
}

function lowerPrelu(call: CaffeCall): readonly Tensor[] | undefined {
  const shape = shapeOf(call);
  const channels = fixed(shape?.[1]);
  const shared = booleanOf(call.parameters, 'channel_shared') === true;
  if (shape === undefined || (channels === undefined && !shared)) return undefined;
  const spatial = shape.slice(2).map(() => 1);
  const slope = call.weight(0, 'slope', shared ? [1] : [channels ?? 1, ...spatial]);
  return [call.emit('PRelu', [call.inputs[0], slope])];
}

export const activationLayers: readonly CaffeLayerDefinition[] = [
  {
    type: 'ReLU',
    documentation: 'max(x, 0); below 0 `negative_slope` · x.',
    source: 'relu_layer.cpp',
    parameters: 'relu_param',
    ...oneToOne,
    lower: (call) => {
      const slope = numberOr(call.parameters, 'negative_slope', 0);
      return [
        slope === 0
          ? call.emit('Relu', call.inputs)
          : call.emit('LeakyRelu', call.inputs, { alpha: float(slope) }),
      ];
    },
  },
  {
    type: 'PReLU',
    documentation: 'max(x, 0); below 0 a trained slope · x, one per channel.',
    source: 'prelu_layer.cpp',
    parameters: 'prelu_param',
    ...oneToOne,
    lower: lowerPrelu,
  },
  {
    type: 'ELU',
    documentation: 'x above 0, alpha · (eˣ − 1) below.',
    source: 'elu_layer.cpp',
    parameters: 'elu_param',
    ...oneToOne,
    lower: (call) => [call.emit('Elu', call.inputs, { alpha: float(numberOr(call.parameters, 'alpha', 1)) })],
  },
  {
    ...plain(
      'SeLu',
      'Selu',
      'λ · x above 0, λ · α · (eˣ − 1) below.',
      'selu_layer.cpp of py-RFCN-priv',
      'selu_param',
    ),
    aliases: ['SELU', 'Selu'],
  },
  {
    ...plain('HardSwish', 'HardSwish', 'x · hard sigmoid of x.', 'of the forks for MobileNet v3'),
    aliases: ['HSwish', 'Hswish'],
  },
  {
    ...plain('HardSigmoid', 'HardSigmoid', 'A line between 0 and 1.', 'of the forks for MobileNet v3'),
    aliases: ['HSigmoid', 'Hsigmoid'],
  },
  plain('Mish', 'Mish', 'x · tanh(log(1 + eˣ)).', 'mish_layer.cpp of the forks for YOLO v4'),
  plain('Softplus', 'Softplus', 'log(1 + eˣ).', 'softplus_layer.cpp of the forks'),
  plain('Softsign', 'Softsign', 'x / (1 + |x|).', 'softsign_layer.cpp of the forks'),
  plain('Sqrt', 'Sqrt', 'Square root.', 'sqrt_layer.cpp of the forks'),
  {
    ...plain('NegReLU', 'Relu', 'max(−x, 0).', 'neg_relu_layer.cu of FlowNet 2'),
    lower: (call) => [call.emit('Relu', [call.emit('Neg', call.inputs)])],
  },
  {
    ...plain(
      'CReLU',
      'Relu',
      'max(x, 0) and max(−x, 0), joined.',
      'crelu_layer.cpp of the forks',
      'crelu_param',
    ),
    aliases: ['CRelu'],
    lower: (call) => {
      const both = call.emit('Concat', [call.inputs[0], call.emit('Neg', call.inputs)], { axis: int(1) });
      return [call.emit('Relu', [both])];
    },
  },
  {
    type: 'RReLU',
    aliases: ['RandomizedReLU', 'LeakyReLU', 'LReLU'],
    documentation: 'max(x, 0); below 0 a slope · x that is drawn at random or fixed.',
    source: 'rrelu_layer.cpp of the forks',
    parameters: 'rrelu_param',
    ...oneToOne,
    lower: (call) => [call.emit('LeakyRelu', call.inputs, { alpha: float(0.1) })],
  },
  {
    type: 'ReLU6',
    documentation: 'Values brought between 0 and 6.',
    source: 'relu6_layer.cpp of the forks for MobileNet',
    parameters: 'relu_param',
    otherParameters: ['relu6_param'],
    ...oneToOne,
    lower: (call) => [call.emit('Clip', [call.inputs[0], call.scalar(0), call.scalar(6)])],
  },
  plain('Sigmoid', 'Sigmoid', '1 / (1 + e⁻ˣ).', 'sigmoid_layer.cpp', 'sigmoid_param'),
  plain('TanH', 'Tanh', 'Hyperbolic tangent.', 'tanh_layer.cpp', 'tanh_param'),
  plain('AbsVal', 'Abs', 'Absolute value.', 'absval_layer.cpp'),
  plain('BNLL', 'Softplus', 'log(1 + eˣ).', 'bnll_layer.cpp'),
  {
    type: 'Power',
    documentation: '(shift + scale · x) ^ power.',
    source: 'power_layer.cpp',
    parameters: 'power_param',
    ...oneToOne,
    lower: lowerPower,
  },
  {
    type: 'Exp',
    documentation: 'base ^ (shift + scale · x).',
    source: 'exp_layer.cpp',
    parameters: 'exp_param',
    ...oneToOne,
    lower: lowerExp,
  },
  {
    type: 'Log',
    documentation: 'Logarithm of shift + scale · x.',
    source: 'log_layer.cpp',
    parameters: 'log_param',
    ...oneToOne,
    lower: lowerLog,
  },
  {
    type: 'Threshold',
    documentation: '1 above the threshold, 0 elsewhere.',
    source: 'threshold_layer.cpp',
    parameters: 'threshold_param',
    ...oneToOne,
    lower: (call) => {
      const limit = call.scalar(numberOr(call.parameters, 'threshold', 0));
      const above = call.emit('Greater', [call.inputs[0], limit]);
      return [call.emit('Cast', [above], { to: { kind: 'int', value: 1 } })];
    },
  },
  {
    type: 'Swish',
    documentation: 'x · sigmoid(beta · x).',
    source: 'swish_layer.cpp',
    parameters: 'swish_param',
    ...oneToOne,
    lower: (call) => {
      const beta = numberOr(call.parameters, 'beta', 1);
      const [input] = call.inputs;
      const inner = beta === 1 ? input : call.emit('Mul', [input, call.scalar(beta)]);
      return [call.emit('Mul', [input, call.emit('Sigmoid', [inner])])];
    },
  },
  {
    type: 'Clip',
    documentation: 'Values brought between min and max.',
    source: 'clip_layer.cpp',
    parameters: 'clip_param',
    ...oneToOne,
    lower: (call) => {
      const [least, greatest] = ['min', 'max'].map((name) => numberOf(call.parameters, name));
      if (least === undefined || greatest === undefined)
        return call.problem('`min` and `max` are both needed');
      return [call.emit('Clip', [call.inputs[0], call.scalar(least), call.scalar(greatest)])];
    },
  },
  {
    type: 'Dropout',
    aliases: ['SpatialDropout', 'SeLuDropout'],
    documentation: 'Elements set to 0 at random in training, the input itself in inference.',
    source: 'dropout_layer.cpp',
    parameters: 'dropout_param',
    otherParameters: ['spatial_dropout_param', 'selu_dropout_param'],
    ...oneToOne,
    lower: (call) => {
      const ratio = numberOr(call.parameters, 'dropout_ratio', 0.5);
      if (ratio < 0 || ratio >= 1) {
        const where = spanOf(call.parameters, 'dropout_ratio');
        return call.problem(`\`dropout_ratio\` is ${ratio}; it lies from 0 to below 1`, where);
      }
      return [call.emit('Dropout', [call.inputs[0], call.scalar(ratio)])];
    },
  },
];
