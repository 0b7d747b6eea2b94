/** Arithmetic and mathematical functions, element by element. */

import type { LayerDefinition, LayerLowering, Tensor } from '../layerDefinition.ts';
import { number } from './parameters.ts';

const a = 'float32[8, 128, 768]';

/** One operator for all tensors, from left to right; numbers may stand for them. */
const arithmetic = (
  name: string,
  operator: string,
  documentation: string,
  variadic: boolean,
): LayerDefinition => ({
  name,
  kind: 'function',
  documentation,
  source: `torch.${name}.html`,
  inputs: {
    names: ['input', name === 'pow' ? 'exponent' : 'other'],
    least: 2,
    numbers: true,
    ...(variadic ? { variadic } : {}),
  },
  parameters: [],
  example: { inputs: { a, b: a }, call: `${name}(a, b)` },
  lower: (call) => {
    const [first, ...others] = call.inputs;
    if (first === undefined) return undefined;
    return others.reduce((sum, other) => call.emit(operator, [sum, other]), first);
  },
});

const functions: readonly (readonly [name: string, operators: readonly string[], documentation: string])[] = [
  ['abs', ['Abs'], '|x|.'],
  ['neg', ['Neg'], '−x.'],
  ['exp', ['Exp'], 'eˣ.'],
  ['log', ['Log'], 'Natural logarithm.'],
  ['sqrt', ['Sqrt'], '√x.'],
  ['rsqrt', ['Sqrt', 'Reciprocal'], '1/√x.'],
  ['reciprocal', ['Reciprocal'], '1/x.'],
  ['sin', ['Sin'], 'Sine.'],
  ['cos', ['Cos'], 'Cosine.'],
  ['tan', ['Tan'], 'Tangent.'],
  ['erf', ['Erf'], 'Error function.'],
  ['sign', ['Sign'], 'Sign.'],
  ['floor', ['Floor'], 'Largest whole number not above x.'],
  ['ceil', ['Ceil'], 'Smallest whole number not below x.'],
  ['round', ['Round'], 'Nearest whole number.'],
];

const mathematics = functions.map(
  ([name, operators, documentation]): LayerDefinition => ({
    name,
    kind: 'function',
    documentation,
    source: `torch.${name}.html`,
    inputs: { names: ['input'], least: 1 },
    parameters: [],
    example: { inputs: { x: a }, call: `${name}()` },
    lower: (call) => chain(call, operators),
  }),
);

function chain(call: LayerLowering, operators: readonly string[]): Tensor | undefined {
  const [input] = call.inputs;
  return input && operators.reduce((value, operator) => call.emit(operator, [value]), input);
}

const square: LayerDefinition = {
  name: 'square',
  kind: 'function',
  documentation: 'x².',
  source: 'torch.square.html',
  inputs: { names: ['input'], least: 1 },
  parameters: [],
  example: { inputs: { x: a }, call: 'square()' },
  // `square` calls `pow`, which autocast widens (aten/src/ATen/native/UnaryOps.cpp).
  lower: (call) => call.emit('Pow', [call.inputs[0], call.scalarConstant(2, 'float32')]),
};

const clamp: LayerDefinition = {
  name: 'clamp',
  kind: 'function',
  documentation: 'x limited to a range.',
  source: 'torch.clamp.html',
  inputs: { names: ['input'], least: 1 },
  parameters: [
    number('min', 'Least value.', { default: null }),
    number('max', 'Largest value.', { default: null }),
  ],
  example: { inputs: { x: a }, call: 'clamp(min=0)' },
  lower: (call) => {
    const [input] = call.inputs;
    const bounds = ['min', 'max'].map((name) =>
      call.value(name) === null
        ? undefined
        : call.scalarConstant(call.number(name), input?.elementType ?? 'float32'),
    );
    return call.emit('Clip', [input, ...bounds]);
  },
};

const where: LayerDefinition = {
  name: 'where',
  kind: 'function',
  documentation: 'Elements of one tensor where a condition holds, of another elsewhere.',
  source: 'torch.where.html',
  inputs: { names: ['condition', 'input', 'other'], least: 3, numbers: true },
  parameters: [],
  example: { inputs: { mask: 'bool[8, 1, 768]', a, b: a }, call: 'where(mask, a, b)' },
  lower: (call) => call.emit('Where', call.inputs),
};

const maskedFill: LayerDefinition = {
  name: 'masked_fill',
  kind: 'function',
  documentation: 'One value where a mask holds, the input elsewhere.',
  source: 'https://docs.pytorch.org/docs/stable/generated/torch.Tensor.masked_fill.html',
  inputs: { names: ['input', 'mask'], least: 2 },
  parameters: [number('value', 'The value.')],
  example: { inputs: { x: a, mask: 'bool[8, 1, 768]' }, call: 'masked_fill(x, mask, 0)' },
  lower: (call) => {
    const [input] = call.inputs;
    const value = call.scalarConstant(call.number('value'), input?.elementType ?? 'float32');
    return call.emit('Where', [call.input('mask'), value, input]);
  },
};

export const elementwiseLayers: readonly LayerDefinition[] = [
  arithmetic('add', 'Add', 'Sum, broadcast; of more than two, from left to right.', true),
  arithmetic('sub', 'Sub', 'Difference, broadcast.', false),
  arithmetic(
    'mul',
    'Mul',
    'Product element by element, broadcast; of more than two, from left to right.',
    true,
  ),
  arithmetic('div', 'Div', 'Quotient element by element, broadcast.', false),
  arithmetic('pow', 'Pow', 'Power element by element, broadcast.', false),
  arithmetic('maximum', 'Max', 'Larger of two elements, broadcast.', false),
  arithmetic('minimum', 'Min', 'Smaller of two elements, broadcast.', false),
  ...mathematics,
  square,
  clamp,
  where,
  maskedFill,
];
