/** Activations by the names that configs give them (transformers 5.18, activations.py, `ACT2CLS`). */

import type { ConfigFields } from './configFields.ts';

/** The call of a known activation: a layer of PyTorch, or a block of `activationBlocks`. */
export const activationCall = (name: string): string =>
  (Object.hasOwn(activations, name) ? activations[name] : undefined) ?? 'Identity()';

export const isKnownActivation = (name: string): boolean => Object.hasOwn(activations, name);

/** The activation a config names; one that is not known is a problem of the config. */
export function activationOf(fields: ConfigFields, otherwise = 'silu'): string {
  const field = ['hidden_act', 'hidden_activation', 'activation_function', 'activation'].find((name) =>
    fields.has(name),
  );
  const name = field === undefined ? otherwise : fields.text(field, otherwise);
  return knownActivation(fields, name);
}

export function knownActivation(fields: ConfigFields, name: string): string {
  if (!isKnownActivation(name)) fields.problems.push(`the activation "${name}" is not known`);
  return name;
}

/** The blocks that calls in `lines` need, written as transformers computes them: operator by operator. */
export const activationBlocks = (lines: readonly string[]): Readonly<Record<string, readonly string[]>> =>
  Object.fromEntries(
    Object.entries(writtenOut).filter(([name]) => lines.some((line) => line.includes(`: ${name}()`))),
  );

const activations: Readonly<Record<string, string>> = {
  silu: 'SiLU()',
  swish: 'SiLU()',
  gelu: 'GELU()',
  gelu_10: 'gelu_10()',
  gelu_python: 'gelu_python()',
  gelu_pytorch_tanh: "GELU(approximate='tanh')",
  gelu_new: 'gelu_new()',
  gelu_fast: 'gelu_fast()',
  gelu_accurate: 'gelu_new()',
  gelu_python_tanh: 'gelu_new()',
  quick_gelu: 'quick_gelu()',
  relu: 'ReLU()',
  relu6: 'ReLU6()',
  leaky_relu: 'LeakyReLU()',
  linear: 'Identity()',
  hardswish: 'Hardswish()',
  relu2: 'relu_squared()',
  tanh: 'Tanh()',
  sigmoid: 'Sigmoid()',
  mish: 'Mish()',
  xielu: 'xielu()',
};

const writtenOut: Readonly<Record<string, readonly string[]>> = {
  gelu_new: [
    'half: mul(input, 0.5)',
    'cubed: pow(input, 3)',
    'small: mul(0.044715)',
    'inner: add(input, small)',
    'scaled: mul(0.7978845608)',
    'curve: tanh()',
    'shifted: add(1)',
    'output: mul(half, shifted)',
  ],
  gelu_fast: [
    'half: mul(input, 0.5)',
    'scaled: mul(input, 0.7978845608)',
    'small: mul(input, 0.044715)',
    'squared: mul(small, input)',
    'risen: add(1)',
    'inner: mul(scaled, risen)',
    'curve: tanh()',
    'shifted: add(1)',
    'output: mul(half, shifted)',
  ],
  gelu_python: [
    'half: mul(input, 0.5)',
    'inner: div(input, 1.4142135624)',
    'curve: erf()',
    'shifted: add(1)',
    'output: mul(half, shifted)',
  ],
  gelu_10: ['curve: GELU()', 'output: clamp(-10, 10)'],
  quick_gelu: ['scaled: mul(input, 1.702)', 'gate: sigmoid()', 'output: mul(input, gate)'],
  // Two trained numbers (arXiv 2411.13010; `XIELUActivation`).
  xielu: [
    'alpha_p: Parameter(1)',
    'rise: softplus()',
    'alpha_n: Parameter(1)',
    'fall_part: softplus()',
    'fall: add(0.5)',
    'rising: mul(rise, input)',
    'squared: mul(rising, input)',
    'linear: mul(input, 0.5)',
    'above: add(squared, linear)',
    'bounded: minimum(input, -1e-06)',
    'grown: exp()',
    'shifted: sub(1)',
    'difference: sub(shifted, input)',
    'falling: mul(difference, fall)',
    'linear_below: mul(input, 0.5)',
    'below: add(falling, linear_below)',
    'is_above: Greater(input, 0)',
    'output: where(is_above, above, below)',
  ],
  relu_squared: ['positive: ReLU()', 'output: pow(2)'],
};
