/** Element-wise functions and softmax, as modules and as functions. */

import { float, int, type LayerDefinition, type ParameterDefinition, text } from '../layerDefinition.ts';

const inplace: ParameterDefinition = {
  name: 'inplace',
  type: 'boolean',
  default: false,
  documentation: 'Does not change the cost here.',
};

function elementwise(
  name: string,
  functionName: string,
  documentation: string,
  lower: LayerDefinition['lower'],
  parameters: readonly ParameterDefinition[] = [],
): readonly LayerDefinition[] {
  const shared = { documentation, inputs: { names: ['input'], least: 1 }, lower };
  return [
    { ...shared, name, kind: 'module', source: `torch.nn.${name}.html`, parameters },
    {
      ...shared,
      name: functionName,
      kind: 'function',
      source: `torch.nn.functional.${functionName}.html`,
      parameters,
    },
  ];
}

const softmaxAxis: ParameterDefinition = {
  name: 'dim',
  type: 'integer',
  default: -1,
  documentation: 'Axis that sums to 1.',
};

export const activationLayers: readonly LayerDefinition[] = [
  ...elementwise('ReLU', 'relu', 'max(x, 0).', (call) => call.emit('Relu', [call.inputs[0]]), [inplace]),
  ...elementwise(
    'ReLU6',
    'relu6',
    'min(max(x, 0), 6).',
    (call) =>
      call.emit('Clip', [
        call.inputs[0],
        call.scalarConstant(0, 'float32'),
        call.scalarConstant(6, 'float32'),
      ]),
    [inplace],
  ),
  ...elementwise(
    'GELU',
    'gelu',
    'x·Φ(x), exactly or by its tanh approximation.',
    (call) => {
      const approximate = call.string('approximate');
      if (approximate !== 'none' && approximate !== 'tanh') {
        return call.problem('spec/argument', "`approximate` is 'none' or 'tanh'", 'approximate');
      }
      return call.emit('Gelu', [call.inputs[0]], { approximate: text(approximate) });
    },
    [{ name: 'approximate', type: 'string', default: 'none', documentation: "'none' or 'tanh'." }],
  ),
  ...elementwise(
    'SiLU',
    'silu',
    'x·σ(x), also called swish.',
    (call) => call.emit('Mul', [call.inputs[0], call.emit('Sigmoid', [call.inputs[0]])]),
    [inplace],
  ),
  ...elementwise('Tanh', 'tanh', 'Hyperbolic tangent.', (call) => call.emit('Tanh', [call.inputs[0]])),
  ...elementwise('Sigmoid', 'sigmoid', 'σ(x) = 1 / (1 + e⁻ˣ).', (call) =>
    call.emit('Sigmoid', [call.inputs[0]]),
  ),
  ...elementwise(
    'LeakyReLU',
    'leaky_relu',
    'x where positive, a small multiple elsewhere.',
    (call) => call.emit('LeakyRelu', [call.inputs[0]], { alpha: float(call.number('negative_slope')) }),
    [
      { name: 'negative_slope', type: 'number', default: 0.01, documentation: 'Factor of negative values.' },
      inplace,
    ],
  ),
  ...elementwise(
    'Softmax',
    'softmax',
    'Exponentials along one axis, scaled to sum to 1.',
    (call) => call.emit('Softmax', [call.inputs[0]], { axis: int(call.integer('dim')) }),
    [softmaxAxis],
  ),
  ...elementwise(
    'LogSoftmax',
    'log_softmax',
    'Logarithm of softmax.',
    (call) => call.emit('LogSoftmax', [call.inputs[0]], { axis: int(call.integer('dim')) }),
    [softmaxAxis],
  ),
];
