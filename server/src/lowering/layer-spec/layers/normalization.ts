/** Normalisations. */

import type { Dimension } from '../../../model/dimension.ts';
import { elementTypes } from '../../../model/elementType.ts';
import {
  float,
  int,
  type LayerDefinition,
  type LayerLowering,
  type ParameterDefinition,
  type Tensor,
} from '../layerDefinition.ts';
import { exampleImage, type SpatialAxes } from './convolution.ts';
import { hasRank } from './inputRank.ts';
import { choice, flag, followingSize, integer, integers, number, numbersOf } from './parameters.ts';

const eps = (standard: number | null): ParameterDefinition =>
  number('eps', 'Added to the variance.', { default: standard });

const affine = (name: string, standard = true): ParameterDefinition =>
  flag(name, standard, 'Whether a trained scale (and shift) follows.');

const shift = flag('bias', true, 'Whether the affine part has a shift.');

const momentum = number('momentum', 'Weight of the newest batch in the running statistics.', {
  default: 0.1,
});

const features = followingSize('num_features', 'Channels of the input.');

/** Scale and shift of normalisations that demand both: what is not trained is stored, or constant. */
function scaleAndShift(call: LayerLowering, channels: number, trained: boolean): readonly Tensor[] {
  const biased = trained && call.boolean('bias');
  return [storedTensor(call, 'weight', [channels], trained), storedTensor(call, 'bias', [channels], biased)];
}

const storedTensor = (
  call: LayerLowering,
  name: string,
  sizes: readonly number[],
  isTrained: boolean,
): Tensor => (isTrained ? call.parameter(name, sizes) : call.buffer(name, sizes));

const batchNorm = (name: string, axes: SpatialAxes | undefined): LayerDefinition => ({
  name,
  kind: 'module',
  documentation:
    axes === undefined
      ? 'Batch normalisation whose statistics are those of all GPUs; the exchange of the statistics is not costed.'
      : 'Normalises every channel by its mean and variance over the batch.',
  source: `torch.nn.${name}.html`,
  inputs: { names: ['input'], least: 1 },
  parameters: [
    features,
    eps(1e-5),
    momentum,
    affine('affine'),
    flag('track_running_stats', true, 'Does not change the cost of training.'),
    ...(axes === undefined
      ? [{ ...integer('process_group', 'All GPUs.', { default: null }), type: 'any' as const }]
      : []),
    shift,
  ],
  work: '2·channels parameters.',
  example: { inputs: { x: exampleImage(axes ?? 2) }, call: `${name}(16)` },
  lower: (call) => {
    const [input] = call.inputs;
    const ranks = axes === undefined ? [2, 3, 4, 5] : axes === 1 ? [2, 3] : [axes + 2];
    if (!hasRank(call, ranks, '[batch, channels, …]')) return undefined;
    const channels = call.size('num_features', input?.shape?.[1], "the input's channel count");
    if (channels === undefined) return undefined;
    const [output] = call.emitMany(
      'BatchNormalization',
      [
        input,
        ...scaleAndShift(call, channels, call.boolean('affine')),
        call.buffer('running_mean', [channels]),
        call.buffer('running_var', [channels]),
      ],
      3,
      // ONNX's momentum weighs the old statistics, PyTorch's the new ones.
      {
        epsilon: float(call.number('eps')),
        momentum: float(call.value('momentum') === null ? 0.9 : 1 - call.number('momentum')),
        training_mode: int(1),
      },
    );
    return output;
  },
});

const instanceNorm = (axes: SpatialAxes): LayerDefinition => ({
  name: `InstanceNorm${axes}d`,
  kind: 'module',
  documentation: 'Normalises every channel of every sample by its mean and variance.',
  source: `torch.nn.InstanceNorm${axes}d.html`,
  inputs: { names: ['input'], least: 1 },
  parameters: [
    features,
    eps(1e-5),
    momentum,
    affine('affine', false),
    flag('track_running_stats', false, 'Does not change the cost of training.'),
    shift,
  ],
  work: 'No parameters, or 2·channels where it is affine.',
  example: { inputs: { x: exampleImage(axes) }, call: `InstanceNorm${axes}d(16)` },
  lower: (call) => {
    const [input] = call.inputs;
    if (!hasRank(call, [axes + 2], '[batch, channels, …]')) return undefined;
    const channels = call.size('num_features', input?.shape?.[1], "the input's channel count");
    if (channels === undefined) return undefined;
    const weights = scaleAndShift(call, channels, call.boolean('affine'));
    return call.emit('InstanceNormalization', [input, ...weights], { epsilon: float(call.number('eps')) });
  },
});

const groupNorm: LayerDefinition = {
  name: 'GroupNorm',
  kind: 'module',
  documentation: 'Normalises every group of channels by its mean and variance.',
  source: 'torch.nn.GroupNorm.html',
  inputs: { names: ['input'], least: 1 },
  parameters: [
    integer('num_groups', 'Groups the channels are divided into.', { least: 1 }),
    followingSize('num_channels', 'Channels of the input.'),
    eps(1e-5),
    affine('affine'),
    shift,
  ],
  work: '2·channels parameters.',
  example: { inputs: { x: exampleImage(2) }, call: 'GroupNorm(4, 16)' },
  lower: (call) => {
    const [input] = call.inputs;
    const channels = call.size('num_channels', input?.shape?.[1], "the input's channel count");
    if (channels === undefined) return undefined;
    const groups = call.integer('num_groups');
    if (channels % groups !== 0) {
      return call.problem(
        'shape/mismatch',
        `${channels} channels do not divide into ${groups} groups`,
        'num_groups',
      );
    }
    const weights = scaleAndShift(call, channels, call.boolean('affine'));
    return call.emit('GroupNormalization', [input, ...weights], {
      num_groups: int(groups),
      epsilon: float(call.number('eps')),
    });
  },
};

const lastAxes = integers('normalized_shape', 'Sizes of the last axes; the last one where it is left out.', {
  follows: true,
  least: 1,
});

const layerNorm: LayerDefinition = {
  name: 'LayerNorm',
  kind: 'module',
  documentation: 'Normalises over the last axes by their mean and variance.',
  source: 'torch.nn.LayerNorm.html',
  inputs: { names: ['input'], least: 1 },
  parameters: [lastAxes, eps(1e-5), affine('elementwise_affine'), shift],
  work: '2 parameters per element of the last axes.',
  example: { inputs: { x: 'float32[8, 128, 768]' }, call: 'LayerNorm(768)' },
  lower: (call) => {
    const sizes = normalizedSizes(call);
    if (sizes === undefined) return undefined;
    const trained = call.boolean('elementwise_affine');
    return normalizeLast(call, call.inputs[0], '', sizes, {
      eps: call.number('eps'),
      trained,
      shift: trained && call.boolean('bias'),
    });
  },
};

/** Layer normalisation over axes of these sizes, with weights named `${prefix}weight` and `${prefix}bias`. */
export function normalizeLast(
  call: LayerLowering,
  input: Tensor | undefined,
  prefix: string,
  sizes: readonly number[],
  options: { readonly eps: number; readonly trained: boolean; readonly shift: boolean },
): Tensor {
  const weight = storedTensor(call, `${prefix}weight`, sizes, options.trained);
  const bias = options.shift ? [call.parameter(`${prefix}bias`, sizes)] : [];
  const attributes = { axis: int(-sizes.length), epsilon: float(options.eps) };
  return call.emit('LayerNormalization', [input, weight, ...bias], attributes);
}

const rmsNorm: LayerDefinition = {
  name: 'RMSNorm',
  kind: 'module',
  documentation: 'Normalises over the last axes by their root mean square.',
  source: 'torch.nn.RMSNorm.html',
  inputs: { names: ['input'], least: 1 },
  parameters: [
    lastAxes,
    eps(null),
    affine('elementwise_affine'),
    flag(
      'fused',
      true,
      'Whether one kernel computes it, as that of torch.nn does; False writes it out, as models of transformers do.',
      { beyond: true },
    ),
    {
      ...choice(
        'cast',
        ['before', 'behind', 'never'],
        'before',
        'Written out and in half precision: where what fp32 gave goes back to the type of the input; before the scale as in LlamaRMSNorm, behind it as in GemmaRMSNorm, or never as in T5LayerNorm.',
      ),
      beyond: true,
    },
  ],
  work: '1 parameter per element of the last axes.',
  example: { inputs: { x: 'float32[8, 128, 768]' }, call: 'RMSNorm(768)' },
  lower: (call) => {
    const sizes = normalizedSizes(call);
    if (sizes === undefined) return undefined;
    // Without eps PyTorch uses the smallest step of the element type.
    const epsilon = call.value('eps') === null ? 1.1920929e-7 : call.number('eps');
    const isTrained = call.boolean('elementwise_affine');
    if (!call.boolean('fused'))
      return writtenOut(call, isTrained ? call.parameter('weight', sizes) : undefined, sizes.length, epsilon);
    const weight = storedTensor(call, 'weight', sizes, isTrained);
    return call.emit('RMSNormalization', [call.inputs[0], weight], {
      axis: int(-sizes.length),
      epsilon: float(epsilon),
    });
  },
};

/** Operator by operator in fp32, as `LlamaRMSNorm` of transformers has it (5.18, modeling_llama.py). */
function writtenOut(call: LayerLowering, weight: Tensor | undefined, axes: number, epsilon: number): Tensor {
  const cast = call.string('cast');
  const inFull = (tensor: Tensor | undefined): Tensor =>
    call.emit('Cast', [tensor], { to: int(elementTypes.indexOf('float32')) });
  const [given] = call.inputs;
  const input = cast === 'never' ? given : inFull(given);
  const squared = call.emit('Pow', [input, call.scalarConstant(2, 'float32')]);
  const over = call.integersConstant(Array.from({ length: axes }, (_, axis) => axis - axes));
  const mean = call.emit('ReduceMean', [squared, over]);
  const root = call.emit('Sqrt', [call.emit('Add', [mean, call.scalarConstant(epsilon, 'float32')])]);
  const normalized = call.emit('Mul', [input, call.emit('Reciprocal', [root])]);
  const back = cast === 'before' || (cast === 'behind' && weight === undefined);
  const narrowed = back ? inFull(normalized) : normalized;
  if (weight === undefined) return narrowed;
  const scaled = call.emit('Mul', [weight, narrowed]);
  return cast === 'behind' ? inFull(scaled) : scaled;
}

/** The normalised sizes: those given, checked against the last axes of the input, or its last axis. */
function normalizedSizes(call: LayerLowering): readonly number[] | undefined {
  const given = call.given('normalized_shape') ? numbersOf(call.value('normalized_shape')) : [];
  const shape = call.inputs[0]?.shape;
  if (given.length <= 1) {
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

const localResponseNorm = (name: string): LayerDefinition => ({
  name,
  kind: 'module',
  documentation: 'Divides by the energy of neighbouring channels (AlexNet, GoogLeNet).',
  source: name === 'LocalResponseNorm' ? `torch.nn.${name}.html` : 'torch.nn.LocalResponseNorm.html',
  inputs: { names: ['input'], least: 1 },
  parameters: [
    integer('size', 'Neighbouring channels summed.', { least: 1 }),
    number('alpha', 'Factor of the sum.', { default: 1e-4 }),
    number('beta', 'Exponent.', { default: 0.75 }),
    number('k', 'Added to the sum.', { default: 1 }),
  ],
  example: { inputs: { x: exampleImage(2) }, call: `${name}(5)` },
  lower: (call) =>
    call.emit('LRN', [call.inputs[0]], {
      size: int(call.integer('size')),
      alpha: float(call.number('alpha')),
      beta: float(call.number('beta')),
      bias: float(call.number('k')),
    }),
});

export const normalizationLayers = [
  batchNorm('BatchNorm1d', 1),
  batchNorm('BatchNorm2d', 2),
  batchNorm('BatchNorm3d', 3),
  batchNorm('SyncBatchNorm', undefined),
  layerNorm,
  rmsNorm,
  groupNorm,
  instanceNorm(1),
  instanceNorm(2),
  instanceNorm(3),
  localResponseNorm('LocalResponseNorm'),
  localResponseNorm('CrossMapLRN2d'),
];
