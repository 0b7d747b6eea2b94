/** Element-wise activations, gates and softmax, as modules and as functions. */

import {
  float,
  int,
  type LayerDefinition,
  type LayerLowering,
  type ParameterDefinition,
  type Tensor,
  text,
} from '../layerDefinition.ts';
import { anything, axisAt, choice, flag, inplace, integer, number } from './parameters.ts';

interface Activation {
  readonly name: string;
  readonly function?: string;
  readonly documentation: string;
  readonly parameters?: readonly ParameterDefinition[];
  readonly work?: string;
  readonly call?: string;
  readonly lower: LayerDefinition['lower'];
}

/** An operator of the input alone, with the attributes the call gives. */
const operator =
  (type: string, attributes: (call: LayerLowering) => Parameters<LayerLowering['emit']>[2] = () => ({})) =>
  (call: LayerLowering): Tensor =>
    call.emit(type, [call.inputs[0]], attributes(call));

const scalar = (call: LayerLowering, value: number): Tensor =>
  call.scalarConstant(value, call.inputs[0]?.elementType ?? 'float32');

const clipped = (call: LayerLowering, least: number, most: number): Tensor =>
  call.emit('Clip', [call.inputs[0], scalar(call, least), scalar(call, most)]);

const softmaxAxis = anything(
  'dim',
  'Axis that sums to 1; where it is left out, 0 for 1 or 3 axes and else 1, as PyTorch chooses.',
  { default: null },
);

/** `_get_softmax_dim` of torch/nn/functional.py (2.13). */
function softmaxAxisOf(call: LayerLowering): number | undefined {
  const rank = call.inputs[0]?.shape?.length;
  const given = call.value('dim');
  if (given === null) return rank === undefined || rank === 0 || rank === 1 || rank === 3 ? 0 : 1;
  const axis = typeof given === 'number' ? (rank === undefined ? given : axisAt(given, rank)) : undefined;
  if (axis !== undefined) return axis;
  return call.problem(
    'spec/argument',
    `the input has ${rank} axes, so \`dim\` is a whole number from ${-(rank ?? 0)} to ${(rank ?? 0) - 1}`,
    'dim',
  );
}

const softmax =
  (type: string, negated = false) =>
  (call: LayerLowering): Tensor | undefined => {
    const axis = softmaxAxisOf(call);
    if (axis === undefined) return undefined;
    const input = negated ? call.emit('Neg', [call.inputs[0]]) : call.inputs[0];
    return call.emit(type, [input], { axis: int(axis) });
  };

const activations: readonly Activation[] = [
  {
    name: 'ReLU',
    function: 'relu',
    documentation: 'max(x, 0).',
    parameters: [inplace],
    lower: operator('Relu'),
  },
  {
    name: 'ReLU6',
    function: 'relu6',
    documentation: 'min(max(x, 0), 6).',
    parameters: [inplace],
    lower: (call) => clipped(call, 0, 6),
  },
  {
    name: 'LeakyReLU',
    function: 'leaky_relu',
    documentation: 'x where positive, a small multiple elsewhere.',
    parameters: [number('negative_slope', 'Factor of negative values.', { default: 0.01 }), inplace],
    lower: operator('LeakyRelu', (call) => ({ alpha: float(call.number('negative_slope')) })),
  },
  {
    name: 'PReLU',
    documentation: 'x where positive, a trained multiple elsewhere.',
    parameters: [
      integer('num_parameters', '1, or the channels of the input.', { default: 1, least: 1 }),
      number('init', 'First value; does not change the cost.', { default: 0.25 }),
    ],
    work: 'num_parameters parameters.',
    lower: (call) => {
      const [input] = call.inputs;
      const count = call.integer('num_parameters');
      const channels = call.fixed(input?.shape?.[1]);
      if (count !== 1 && channels !== undefined && count !== channels) {
        return call.problem(
          'shape/mismatch',
          `\`num_parameters\` is ${count}, but the input has ${channels} channels`,
          'num_parameters',
        );
      }
      const weight = call.parameter('weight', [count]);
      const inner = count === 1 ? 0 : Math.max(0, (input?.shape?.length ?? 2) - 2);
      const sizes = call.integersConstant([count, ...Array.from({ length: inner }, () => 1)]);
      return call.emit('PRelu', [input, inner === 0 ? weight : call.emit('Reshape', [weight, sizes])]);
    },
  },
  {
    name: 'RReLU',
    function: 'rrelu',
    documentation: 'Leaky ReLU with a random slope per element in training; costed as LeakyReLU.',
    parameters: [
      number('lower', 'Least slope.', { default: 1 / 8 }),
      number('upper', 'Largest slope.', { default: 1 / 3 }),
      inplace,
    ],
    lower: operator('LeakyRelu', (call) => ({
      alpha: float((call.number('lower') + call.number('upper')) / 2),
    })),
  },
  {
    name: 'ELU',
    function: 'elu',
    documentation: 'x, or α(eˣ − 1) below 0.',
    parameters: [number('alpha', 'The α.', { default: 1 }), inplace],
    lower: operator('Elu', (call) => ({ alpha: float(call.number('alpha')) })),
  },
  {
    name: 'CELU',
    function: 'celu',
    documentation: 'max(0, x) + min(0, α(e^(x/α) − 1)).',
    parameters: [number('alpha', 'The α.', { default: 1 }), inplace],
    lower: operator('Celu', (call) => ({ alpha: float(call.number('alpha')) })),
  },
  {
    name: 'SELU',
    function: 'selu',
    documentation: 'Scaled ELU, which normalises itself.',
    parameters: [inplace],
    lower: operator('Selu'),
  },
  {
    name: 'GELU',
    function: 'gelu',
    documentation: 'x·Φ(x), exactly or by its tanh approximation.',
    parameters: [choice('approximate', ['none', 'tanh'], 'none', "'none' or 'tanh'.")],
    lower: operator('Gelu', (call) => ({ approximate: text(call.string('approximate')) })),
  },
  {
    name: 'SiLU',
    function: 'silu',
    documentation: 'x·σ(x), also called swish.',
    parameters: [inplace],
    lower: (call) => call.emit('Mul', [call.inputs[0], call.emit('Sigmoid', [call.inputs[0]])]),
  },
  {
    name: 'Mish',
    function: 'mish',
    documentation: 'x·tanh(ln(1 + eˣ)).',
    parameters: [inplace],
    lower: operator('Mish'),
  },
  {
    name: 'Hardswish',
    function: 'hardswish',
    documentation: 'x·max(0, min(1, x/6 + 1/2)).',
    parameters: [inplace],
    lower: operator('HardSwish'),
  },
  {
    name: 'Hardsigmoid',
    function: 'hardsigmoid',
    documentation: 'max(0, min(1, x/6 + 1/2)).',
    parameters: [inplace],
    lower: operator('HardSigmoid', () => ({ alpha: float(1 / 6), beta: float(0.5) })),
  },
  {
    name: 'Hardtanh',
    function: 'hardtanh',
    documentation: 'x limited to a range.',
    parameters: [
      number('min_val', 'Least value.', { default: -1 }),
      number('max_val', 'Largest value.', { default: 1 }),
      inplace,
    ],
    lower: (call) => {
      const [least, most] = [call.number('min_val'), call.number('max_val')];
      if (most < least) {
        return call.problem(
          'spec/argument',
          `\`max_val\` is at least min_val, ${least}, not ${most}`,
          'max_val',
        );
      }
      return clipped(call, least, most);
    },
  },
  {
    name: 'Hardshrink',
    function: 'hardshrink',
    documentation: 'x, or 0 within ±λ.',
    parameters: [number('lambd', 'The λ.', { default: 0.5 })],
    lower: operator('Shrink', (call) => ({ lambd: float(call.number('lambd')) })),
  },
  {
    name: 'Softshrink',
    function: 'softshrink',
    documentation: 'x moved towards 0 by λ, 0 within ±λ.',
    parameters: [number('lambd', 'The λ.', { default: 0.5, least: 0 })],
    lower: operator('Shrink', (call) => ({
      lambd: float(call.number('lambd')),
      bias: float(call.number('lambd')),
    })),
  },
  {
    name: 'Tanhshrink',
    function: 'tanhshrink',
    documentation: 'x − tanh(x).',
    lower: (call) => call.emit('Sub', [call.inputs[0], call.emit('Tanh', [call.inputs[0]])]),
  },
  {
    name: 'Softplus',
    function: 'softplus',
    documentation: 'ln(1 + e^(βx)) / β.',
    parameters: [
      number('beta', 'The β.', { default: 1 }),
      number('threshold', 'Above this βx it is x itself.', { default: 20 }),
    ],
    lower: (call) => {
      const beta = call.number('beta');
      if (beta === 1) return call.emit('Softplus', [call.inputs[0]]);
      const scaled = call.emit('Mul', [call.inputs[0], scalar(call, beta)]);
      return call.emit('Div', [call.emit('Softplus', [scaled]), scalar(call, beta)]);
    },
  },
  {
    name: 'Softsign',
    function: 'softsign',
    documentation: 'x / (1 + |x|).',
    lower: operator('Softsign'),
  },
  {
    name: 'Sigmoid',
    function: 'sigmoid',
    documentation: 'σ(x) = 1 / (1 + e⁻ˣ).',
    lower: operator('Sigmoid'),
  },
  {
    name: 'LogSigmoid',
    function: 'logsigmoid',
    documentation: 'ln σ(x).',
    lower: (call) => call.emit('Log', [call.emit('Sigmoid', [call.inputs[0]])]),
  },
  { name: 'Tanh', function: 'tanh', documentation: 'Hyperbolic tangent.', lower: operator('Tanh') },
  {
    name: 'Threshold',
    function: 'threshold',
    documentation: 'x above the threshold, one value elsewhere.',
    parameters: [number('threshold', 'The threshold.'), number('value', 'The value elsewhere.'), inplace],
    call: 'Threshold(0.1, 20)',
    lower: (call) => {
      const [input] = call.inputs;
      const threshold = call.number('threshold');
      const value = call.number('value');
      if (value === 0) return call.emit('ThresholdedRelu', [input], { alpha: float(threshold) });
      const above = call.emit('Greater', [input, scalar(call, threshold)]);
      return call.emit('Where', [above, input, scalar(call, value)]);
    },
  },
  {
    name: 'GLU',
    function: 'glu',
    documentation: 'a·σ(b) of the two halves a and b of an axis.',
    parameters: [integer('dim', 'The axis halved.', { default: -1 })],
    lower: (call) => {
      const [input] = call.inputs;
      const shape = input?.shape;
      if (shape === undefined) return undefined;
      const axis = axisAt(call.integer('dim'), shape.length);
      const size = axis === undefined ? undefined : shape[axis];
      if (axis === undefined || (typeof size === 'number' && size % 2 !== 0)) {
        const wrong =
          axis === undefined ? `the input has ${shape.length} axes` : `an axis of ${size} has no halves`;
        return call.problem('shape/mismatch', `${wrong}; GLU halves axis ${call.integer('dim')}`, 'dim');
      }
      const [half, gate] = call.emitMany('Split', [input], 2, { axis: int(axis), num_outputs: int(2) });
      return call.emit('Mul', [half, call.emit('Sigmoid', [gate])]);
    },
  },
  {
    name: 'Softmax',
    function: 'softmax',
    documentation: 'Exponentials along one axis, scaled to sum to 1.',
    parameters: [softmaxAxis],
    call: 'Softmax(dim=-1)',
    lower: softmax('Softmax'),
  },
  {
    name: 'Softmin',
    function: 'softmin',
    documentation: 'Softmax of −x.',
    parameters: [softmaxAxis],
    call: 'Softmin(dim=-1)',
    lower: softmax('Softmax', true),
  },
  {
    name: 'LogSoftmax',
    function: 'log_softmax',
    documentation: 'Logarithm of softmax.',
    parameters: [softmaxAxis],
    call: 'LogSoftmax(dim=-1)',
    lower: softmax('LogSoftmax'),
  },
  {
    name: 'Softmax2d',
    documentation: 'Softmax over the channels of every pixel.',
    lower: (call) => {
      const rank = call.inputs[0]?.shape?.length ?? 4;
      if (rank !== 3 && rank !== 4) {
        return call.problem(
          'shape/mismatch',
          `the input needs 3 or 4 axes, [batch, channels, …], but has ${rank}`,
        );
      }
      return call.emit('Softmax', [call.inputs[0]], { axis: int(-3) });
    },
  },
];

/** What training changes in a function of functional.py, between its own arguments and `inplace`. */
const training = flag('training', false, 'Does not change the cost here.');

const withTraining = (parameters: readonly ParameterDefinition[]): readonly ParameterDefinition[] =>
  parameters.flatMap((parameter) => (parameter === inplace ? [training, parameter] : [parameter]));

export const activationLayers: readonly LayerDefinition[] = activations.flatMap((activation) => {
  const { name, documentation, parameters = [], work, lower } = activation;
  const shared = {
    documentation,
    inputs: { names: ['input'], least: 1 },
    lower,
    ...(work === undefined ? {} : { work }),
  };
  const x = name === 'Softmax2d' || name === 'PReLU' ? 'float32[8, 16, 32, 32]' : 'float32[8, 128, 768]';
  const call = activation.call ?? `${name}()`;
  const module: LayerDefinition = {
    ...shared,
    name,
    kind: 'module',
    source: `torch.nn.${name}.html`,
    parameters,
    example: { inputs: { x }, call },
  };
  const functionName = activation.function;
  if (functionName === undefined) return [module];
  return [
    module,
    {
      ...shared,
      name: functionName,
      kind: 'function',
      source: `torch.nn.functional.${functionName}.html`,
      parameters: functionName === 'rrelu' ? withTraining(parameters) : parameters,
      example: { inputs: { x }, call: call.replace(name, functionName) },
    },
  ];
});
