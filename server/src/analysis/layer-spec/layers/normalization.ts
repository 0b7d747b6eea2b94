/** Normalisations, and dropout. */

import type { Dimension } from '../../../model/dimension.ts';
import { float, int, type LayerDefinition, type ParameterDefinition } from '../layerDefinition.ts';

const eps = (value: number | null): ParameterDefinition => ({
  name: 'eps',
  type: 'number',
  default: value,
  documentation: 'Added to the variance.',
});

const affine = (name: string): ParameterDefinition => ({
  name,
  type: 'boolean',
  default: true,
  documentation: 'Whether a trained scale (and shift) follows.',
});

const batchNorm = (axes: 1 | 2 | 3): LayerDefinition => ({
  name: `BatchNorm${axes}d`,
  kind: 'module',
  documentation: 'Normalises every channel by its mean and variance over the batch.',
  source: `torch.nn.BatchNorm${axes}d.html`,
  inputs: { names: ['input'], least: 1 },
  parameters: [
    { name: 'num_features', type: 'integer', follows: true, documentation: 'Channels of the input.' },
    eps(1e-5),
    {
      name: 'momentum',
      type: 'number',
      default: 0.1,
      documentation: 'Weight of the newest batch in the running statistics.',
    },
    affine('affine'),
    {
      name: 'track_running_stats',
      type: 'boolean',
      default: true,
      documentation: 'Does not change the cost of training.',
    },
  ],
  lower: (call) => {
    const [input] = call.inputs;
    const channels = call.size('num_features', input?.shape?.[1], "the input's channel count");
    if (channels === undefined) return undefined;
    const hold = call.boolean('affine') ? call.parameter : call.buffer;
    const [output] = call.emitMany(
      'BatchNormalization',
      [
        input,
        hold('weight', [channels]),
        hold('bias', [channels]),
        call.buffer('running_mean', [channels]),
        call.buffer('running_var', [channels]),
      ],
      3,
      // ONNX's momentum weighs the old statistics, PyTorch's the new ones.
      {
        epsilon: float(call.number('eps')),
        momentum: float(1 - call.number('momentum')),
        training_mode: int(1),
      },
    );
    return output;
  },
});

const layerNorm: LayerDefinition = {
  name: 'LayerNorm',
  kind: 'module',
  documentation: 'Normalises over the last axes by their mean and variance.',
  source: 'torch.nn.LayerNorm.html',
  inputs: { names: ['input'], least: 1 },
  parameters: [
    { name: 'normalized_shape', type: 'integers', follows: true, documentation: 'Sizes of the last axes.' },
    eps(1e-5),
    affine('elementwise_affine'),
    { name: 'bias', type: 'boolean', default: true, documentation: 'Whether the affine part has a shift.' },
  ],
  lower: (call) => {
    const sizes = normalizedSizes(call.value('normalized_shape'), call.given('normalized_shape'));
    const shape = checkedSizes(call, sizes);
    if (shape === undefined) return undefined;
    const trained = call.boolean('elementwise_affine');
    const weight = (trained ? call.parameter : call.buffer)('weight', shape);
    const bias = trained && call.boolean('bias') ? [call.parameter('bias', shape)] : [];
    const attributes = { axis: int(-shape.length), epsilon: float(call.number('eps')) };
    return call.emit('LayerNormalization', [call.inputs[0], weight, ...bias], attributes);
  },
};

const rmsNorm: LayerDefinition = {
  name: 'RMSNorm',
  kind: 'module',
  documentation: 'Normalises over the last axes by their root mean square.',
  source: 'torch.nn.RMSNorm.html',
  inputs: { names: ['input'], least: 1 },
  parameters: [
    { name: 'normalized_shape', type: 'integers', follows: true, documentation: 'Sizes of the last axes.' },
    eps(null),
    affine('elementwise_affine'),
  ],
  lower: (call) => {
    const sizes = normalizedSizes(call.value('normalized_shape'), call.given('normalized_shape'));
    const shape = checkedSizes(call, sizes);
    if (shape === undefined) return undefined;
    const weight = (call.boolean('elementwise_affine') ? call.parameter : call.buffer)('weight', shape);
    // Without eps PyTorch uses the smallest step of the element type.
    const epsilon = call.value('eps') === null ? 1.1920929e-7 : call.number('eps');
    return call.emit('RMSNormalization', [call.inputs[0], weight], {
      axis: int(-shape.length),
      epsilon: float(epsilon),
    });
  },
};

const groupNorm: LayerDefinition = {
  name: 'GroupNorm',
  kind: 'module',
  documentation: 'Normalises every group of channels by its mean and variance.',
  source: 'torch.nn.GroupNorm.html',
  inputs: { names: ['input'], least: 1 },
  parameters: [
    { name: 'num_groups', type: 'integer', documentation: 'Groups the channels are divided into.' },
    { name: 'num_channels', type: 'integer', follows: true, documentation: 'Channels of the input.' },
    eps(1e-5),
    affine('affine'),
  ],
  lower: (call) => {
    const [input] = call.inputs;
    const channels = call.size('num_channels', input?.shape?.[1], "the input's channel count");
    if (channels === undefined) return undefined;
    const groups = call.integer('num_groups');
    if (groups < 1 || channels % groups !== 0) {
      return call.problem(
        'shape/mismatch',
        `${channels} channels do not divide into ${groups} groups`,
        'num_groups',
      );
    }
    const hold = call.boolean('affine') ? call.parameter : call.buffer;
    const inputs = [input, hold('weight', [channels]), hold('bias', [channels])];
    return call.emit('GroupNormalization', inputs, {
      num_groups: int(groups),
      epsilon: float(call.number('eps')),
    });
  },
};

const localResponseNorm: LayerDefinition = {
  name: 'LocalResponseNorm',
  kind: 'module',
  documentation: 'Divides by the energy of neighbouring channels (AlexNet, GoogLeNet).',
  source: 'torch.nn.LocalResponseNorm.html',
  inputs: { names: ['input'], least: 1 },
  parameters: [
    { name: 'size', type: 'integer', documentation: 'Neighbouring channels summed.' },
    { name: 'alpha', type: 'number', default: 1e-4, documentation: 'Factor of the sum.' },
    { name: 'beta', type: 'number', default: 0.75, documentation: 'Exponent.' },
    { name: 'k', type: 'number', default: 1, documentation: 'Added to the sum.' },
  ],
  lower: (call) =>
    call.emit('LRN', [call.inputs[0]], {
      size: int(call.integer('size')),
      alpha: float(call.number('alpha')),
      beta: float(call.number('beta')),
      bias: float(call.number('k')),
    }),
};

const dropout: LayerDefinition = {
  name: 'Dropout',
  kind: 'module',
  documentation: 'Zeroes elements at random in training; nothing in inference.',
  source: 'torch.nn.Dropout.html',
  inputs: { names: ['input'], least: 1 },
  parameters: [
    { name: 'p', type: 'number', default: 0.5, documentation: 'Probability of an element to be zeroed.' },
    { name: 'inplace', type: 'boolean', default: false, documentation: 'Does not change the cost here.' },
  ],
  lower: (call) => {
    const p = call.number('p');
    if (p < 0 || p > 1) return call.problem('spec/argument', `\`p\` is a probability, not ${p}`, 'p');
    const ratio = call.scalarConstant(p, 'float32');
    return call.emit('Dropout', [call.inputs[0], ratio, call.scalarConstant(1, 'bool')]);
  },
};

type Sizes = readonly number[] | undefined;

function normalizedSizes(value: unknown, given: boolean): Sizes {
  if (!given) return undefined;
  const list: readonly unknown[] = Array.isArray(value) ? value : [value];
  return list.filter((item) => typeof item === 'number');
}

/** The normalised sizes: those given, checked against the last axes of the input, or its last axis. */
function checkedSizes(call: Parameters<LayerDefinition['lower']>[0], given: Sizes): Sizes {
  const shape = call.inputs[0]?.shape;
  if (given === undefined || given.length <= 1) {
    const last = call.size('normalized_shape', shape?.at(-1), 'the last axis of the input');
    return last === undefined ? undefined : [last];
  }
  if (shape !== undefined) {
    const actual: readonly (Dimension | undefined)[] = shape.slice(-given.length);
    const fixed = actual.map((size) => call.fixed(size));
    if (
      fixed.length < given.length ||
      given.some((size, axis) => fixed[axis] !== undefined && fixed[axis] !== size)
    ) {
      call.problem(
        'shape/mismatch',
        `normalises ${given.join(' × ')}, but the last axes of the input are ${fixed.join(' × ')}`,
        'normalized_shape',
      );
    }
  }
  return given;
}

export const normalizationLayers = [
  batchNorm(1),
  batchNorm(2),
  batchNorm(3),
  layerNorm,
  rmsNorm,
  groupNorm,
  localResponseNorm,
  dropout,
];
