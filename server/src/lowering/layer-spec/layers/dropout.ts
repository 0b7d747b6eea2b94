/** Dropout of elements and of whole channels. */

import type { Dimension } from '../../../model/dimension.ts';
import type { LayerDefinition, LayerLowering, Tensor } from '../layerDefinition.ts';
import { flag, inplace, number } from './parameters.ts';

const probability = number('p', 'Probability of being zeroed.', { default: 0.5, least: 0, most: 1 });

const elements: LayerDefinition['lower'] = (call) => dropped(call, call.inputs[0], call.number('p'));

/** Zeroes elements at random while training. */
export function dropped(call: LayerLowering, input: Tensor | undefined, p: number): Tensor {
  return call.emit('Dropout', [input, call.scalarConstant(p, 'float32'), call.scalarConstant(1, 'bool')]);
}

/**
 * Zeros and ones by chance in the shape of `sizes`, divided by their share, times the input (PyTorch 2.x aten/src/ATen/native/Dropout.cpp,
 * `_dropout_impl`; torchvision and timm do the same).
 */
function timesNoise(call: LayerLowering, input: Tensor, sizes: readonly Dimension[]): Tensor {
  const chances = call.emit('ConstantOfShape', [call.sizes(sizes)]);
  const share = call.scalarConstant(1 - call.number('p'), 'float32');
  return call.emit('Mul', [input, call.emit('Div', [call.emit('Bernoulli', [chances]), share])]);
}

/**
 * As transformers does: numbers between the share and one more, rounded down, times the input, which is divided by the share
 * (transformers 5.18 models/beit/modeling_beit.py, `drop_path`).
 */
function timesRounded(call: LayerLowering, input: Tensor, sizes: readonly Dimension[]): Tensor {
  const like = call.emit('ConstantOfShape', [call.sizes(sizes)]);
  const share = call.scalarConstant(1 - call.number('p'), 'float32');
  const noise = call.emit('Floor', [call.emit('Add', [call.emit('RandomUniformLike', [like]), share])]);
  return call.emit('Mul', [call.emit('Div', [input, share]), noise]);
}

/** One random number per sample and channel, which all elements of the channel are multiplied by. */
const channels: LayerDefinition['lower'] = (call) => {
  const [input] = call.inputs;
  const shape = input?.shape;
  if (input === undefined || shape === undefined) return undefined;
  if (shape.length < 2) {
    return call.problem('shape/mismatch', `the input needs 2 axes or more, [batch, channels, …], but has 1`);
  }
  const sizes = shape.map((size, axis) => (axis < 2 ? size : 1));
  return timesNoise(call, input, sizes);
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
    {
      name: 'noise',
      type: 'string',
      choices: ['chance', 'rounded'],
      default: 'chance',
      documentation:
        'Zeros and ones by chance, as in torchvision and timm; `rounded`: random numbers rounded down, as `drop_path` of transformers.',
    },
  ],
  example: { inputs: { x: 'float32[8, 128, 768]' }, call: "StochasticDepth(0.1, mode='row')" },
  lower: (call) => {
    const [input] = call.inputs;
    if (input?.shape === undefined) return undefined;
    const rows = call.string('mode') === 'row';
    const sizes = input.shape.map((size, axis) => (axis === 0 && rows ? size : 1));
    return call.string('noise') === 'rounded'
      ? timesRounded(call, input, sizes)
      : timesNoise(call, input, sizes);
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
