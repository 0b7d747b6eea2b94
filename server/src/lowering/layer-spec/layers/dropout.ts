/** Dropout of elements and of whole channels. */

import type { LayerDefinition, LayerLowering, Tensor } from '../layerDefinition.ts';
import { flag, inplace, number } from './parameters.ts';

const probability = number('p', 'Probability of being zeroed.', { default: 0.5, least: 0, most: 1 });

const elements: LayerDefinition['lower'] = (call) => dropped(call, call.inputs[0], call.number('p'));

/** Zeroes elements at random while training. */
export function dropped(call: LayerLowering, input: Tensor | undefined, p: number): Tensor {
  return call.emit('Dropout', [input, call.scalarConstant(p, 'float32'), call.scalarConstant(1, 'bool')]);
}

/** One random number per sample and channel, which all elements of the channel are multiplied by. */
const channels: LayerDefinition['lower'] = (call) => {
  const [input] = call.inputs;
  const shape = input?.shape;
  if (shape === undefined) return undefined;
  if (shape.length < 2) {
    return call.problem('shape/mismatch', `the input needs 2 axes or more, [batch, channels, …], but has 1`);
  }
  const sizes = shape.map((size, axis) => (axis < 2 ? size : 1));
  const noise = dropped(call, call.emit('ConstantOfShape', [call.sizes(sizes)]), call.number('p'));
  return call.emit('Mul', [input, noise]);
};

const dropout = (
  name: string,
  documentation: string,
  lower: LayerDefinition['lower'],
  example = 'float32[8, 128, 768]',
): LayerDefinition => ({
  name,
  kind: 'module',
  documentation,
  source: `torch.nn.${name}.html`,
  inputs: { names: ['input'], least: 1 },
  parameters: [probability, inplace],
  example: { inputs: { x: example }, call: `${name}(0.1)` },
  lower,
});

const functional: LayerDefinition = {
  name: 'dropout',
  kind: 'function',
  documentation: 'Zeroes elements at random in training; nothing in inference.',
  source: 'torch.nn.functional.dropout.html',
  inputs: { names: ['input'], least: 1 },
  parameters: [probability, flag('training', true, 'False makes it the input itself.'), inplace],
  example: { inputs: { x: 'float32[8, 128, 768]' }, call: 'dropout(0.1)' },
  lower: (call) => (call.boolean('training') ? elements(call) : call.emit('Identity', [call.inputs[0]])),
};

const stochasticDepth: LayerDefinition = {
  name: 'StochasticDepth',
  kind: 'module',
  documentation:
    'Zeroes whole samples, or the whole batch, at random in training: a branch that is left out.',
  source: 'https://docs.pytorch.org/vision/stable/generated/torchvision.ops.StochasticDepth.html',
  inputs: { names: ['input'], least: 1 },
  parameters: [
    number('p', 'Probability of being zeroed.', { least: 0, most: 1 }),
    {
      name: 'mode',
      type: 'string',
      choices: ['batch', 'row'],
      documentation: 'The whole batch, or each sample.',
    },
  ],
  example: { inputs: { x: 'float32[8, 128, 768]' }, call: "StochasticDepth(0.1, mode='row')" },
  lower: (call) => {
    const [input] = call.inputs;
    if (input?.shape === undefined) return undefined;
    const rows = call.string('mode') === 'row';
    const sizes = input.shape.map((size, axis) => (axis === 0 && rows ? size : 1));
    const noise = dropped(call, call.emit('ConstantOfShape', [call.sizes(sizes)]), call.number('p'));
    return call.emit('Mul', [input, noise]);
  },
};

export const dropoutLayers = [
  dropout('Dropout', 'Zeroes elements at random in training; nothing in inference.', elements),
  dropout('Dropout1d', 'Zeroes whole channels at random in training.', channels, 'float32[8, 16, 32]'),
  dropout('Dropout2d', 'Zeroes whole channels at random in training.', channels, 'float32[8, 16, 32, 32]'),
  dropout('Dropout3d', 'Zeroes whole channels at random in training.', channels, 'float32[8, 16, 8, 8, 8]'),
  dropout(
    'AlphaDropout',
    'Dropout that keeps mean and variance, for networks of SELU; costed as Dropout.',
    elements,
  ),
  dropout(
    'FeatureAlphaDropout',
    'AlphaDropout of whole channels; costed as Dropout2d.',
    channels,
    'float32[8, 16, 32, 32]',
  ),
  functional,
  stochasticDepth,
];
