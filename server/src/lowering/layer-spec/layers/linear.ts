/** Matrix products with weights, and trained tensors by themselves. */

import {
  int,
  ints,
  type LayerDefinition,
  type LayerLowering,
  type Tensor,
  text,
} from '../layerDefinition.ts';
import { dimensions, flag, followingSize, integer, listOf, string, tiedWeight } from './parameters.ts';

const linear: LayerDefinition = {
  name: 'Linear',
  kind: 'module',
  documentation: 'Affine map of the last axis: y = x·Wᵀ + b.',
  source: 'torch.nn.Linear.html',
  inputs: { names: ['input'], least: 1 },
  parameters: [
    followingSize('in_features', 'Size of the last axis of the input.'),
    integer('out_features', 'Size of the last axis of the output.', { least: 1 }),
    flag('bias', true, 'Whether b is added.'),
    tiedWeight,
  ],
  work: 'in·out parameters, and out for the bias; 2·in·out FLOPs per row.',
  example: { inputs: { x: 'float32[32, 64]' }, call: 'Linear(64, 128)' },
  lower: (call) => {
    const [input] = call.inputs;
    const inFeatures = call.size('in_features', input?.shape?.at(-1), 'the last axis of the input');
    if (inFeatures === undefined || input === undefined) return undefined;
    const outFeatures = call.integer('out_features');
    const weight = ownOrTied(call, [outFeatures, inFeatures]);
    if (weight === undefined) return undefined;
    const bias = call.boolean('bias') ? call.parameter('bias', [outFeatures]) : undefined;
    return project(call, input, weight, bias);
  },
};

/** The layer's own weight, or that of the layer its `weight` names, which must have the same shape. */
export function ownOrTied(call: LayerLowering, shape: readonly number[]): Tensor | undefined {
  const tied = call.given('weight') ? call.tied('weight', 'weight') : undefined;
  if (tied === undefined) return call.parameter('weight', shape);
  if (tied.shape === undefined || tied.shape.every((size, axis) => size === shape[axis])) return tied;
  return call.problem(
    'shape/mismatch',
    `the tied weight is ${tied.shape.join(' × ')}, but this layer needs ${shape.join(' × ')}`,
    'weight',
  );
}

/** x·Wᵀ + b with W of shape [out, in], as PyTorch stores it and its exporter writes it. */
export function project(
  call: LayerLowering,
  input: Tensor,
  weight: Tensor,
  bias: Tensor | undefined,
): Tensor {
  if (input.shape?.length === 2) {
    return call.emit('Gemm', bias === undefined ? [input, weight] : [input, weight, bias], {
      transB: int(1),
    });
  }
  const transposed = call.emit('Transpose', [weight], { perm: ints([1, 0]) });
  const product = call.emit('MatMul', [input, transposed]);
  return bias === undefined ? product : call.emit('Add', [product, bias]);
}

const bilinear: LayerDefinition = {
  name: 'Bilinear',
  kind: 'module',
  documentation: 'Bilinear map of two inputs: yₖ = x₁ᵀ·Aₖ·x₂ + bₖ.',
  source: 'torch.nn.Bilinear.html',
  inputs: { names: ['input1', 'input2'], least: 2 },
  parameters: [
    followingSize('in1_features', 'Size of the last axis of the first input.'),
    followingSize('in2_features', 'Size of the last axis of the second input.'),
    integer('out_features', 'Size of the last axis of the output.', { least: 1 }),
    flag('bias', true, 'Whether b is added.'),
  ],
  work: 'out·in₁·in₂ parameters, and out for the bias.',
  example: {
    inputs: { a: 'float32[32, 20]', b: 'float32[32, 30]' },
    call: 'Bilinear(20, 30, 40) from a, b',
  },
  lower: (call) => {
    const [first, second] = call.inputs;
    const size1 = call.size('in1_features', first?.shape?.at(-1), 'the last axis of the first input');
    const size2 = call.size('in2_features', second?.shape?.at(-1), 'the last axis of the second input');
    if (size1 === undefined || size2 === undefined) return undefined;
    const features = call.integer('out_features');
    const weight = call.parameter('weight', [features, size1, size2]);
    const product = call.emit('Einsum', [first, weight, second], { equation: text('...i,oij,...j->...o') });
    return call.boolean('bias') ? call.emit('Add', [product, call.parameter('bias', [features])]) : product;
  },
};

const identity: LayerDefinition = {
  name: 'Identity',
  kind: 'module',
  documentation: 'The input itself.',
  source: 'torch.nn.Identity.html',
  inputs: { names: ['input'], least: 1 },
  parameters: [],
  example: { inputs: { x: 'float32[32, 64]' }, call: 'Identity()' },
  lower: (call) => call.emit('Identity', [call.inputs[0]]),
};

const bufferTypes = ['float32', 'int64', 'int32', 'bool'] as const;

const stored = (name: 'Parameter' | 'Buffer'): LayerDefinition => ({
  name,
  kind: 'module',
  documentation:
    name === 'Parameter'
      ? 'A trained tensor by itself, such as learned positions or a class token; takes no input.'
      : 'A stored tensor that is not trained, such as a mask or a table of positions; takes no input.',
  source: `torch.nn.parameter.${name}.html`,
  inputs: { names: [], least: 0 },
  parameters: [
    dimensions('shape', 'Sizes of the tensor; none of a single number.', {
      default: [],
      rest: true,
      beyond: true,
    }),
    ...(name === 'Buffer'
      ? [
          string('dtype', 'Its element type: indices are int64, masks bool.', {
            default: 'float32',
            choices: bufferTypes,
            beyond: true,
          }),
          flag(
            'computed',
            false,
            'Whether every step computes it anew, so that backward keeps it: masks, positions.',
            {
              beyond: true,
            },
          ),
        ]
      : []),
  ],
  work: name === 'Parameter' ? 'As many parameters as elements.' : 'No parameters.',
  example: { inputs: { x: 'float32[32, 64]' }, call: `${name}(1, 64)` },
  lower: (call) => {
    const given = listOf(call.value('shape'));
    const sizes = given.map((size) => (typeof size === 'number' ? size : undefined));
    if (sizes.some((size) => size === undefined || size < 1)) {
      return call.problem('spec/argument', `the sizes of a ${name} are numbers above 0`, 'shape');
    }
    const numbers = sizes.map(Number);
    const elementType = bufferTypes.find((type) => type === call.value('dtype'));
    const tensor =
      name === 'Parameter' ? call.parameter('weight', numbers) : call.buffer('weight', numbers, elementType);
    const isComputed = name === 'Buffer' && call.boolean('computed') && numbers.length > 0;
    // Of one tensor it changes nothing and costs nothing, but its result is not the stored tensor.
    return isComputed ? call.emit('Concat', [tensor], { axis: int(0) }) : call.emit('Identity', [tensor]);
  },
});

export const linearLayers = [linear, bilinear, identity, stored('Parameter'), stored('Buffer')];
