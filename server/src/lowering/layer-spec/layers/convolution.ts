/** Convolutions and transposed convolutions over one to three spatial axes. */

import { itemAt } from '../../../model/at.ts';
import {
  int,
  ints,
  type LayerDefinition,
  type LayerLowering,
  type NodeAttributes,
  type ParameterDefinition,
  type Tensor,
  text,
} from '../layerDefinition.ts';
import { hasSpatialAxes } from './inputRank.ts';
import { choice, flag, followingSize, integer, integers } from './parameters.ts';

export type SpatialAxes = 1 | 2 | 3;

/** `one spatial axis`, `two spatial axes`, … */
export const axesInWords = (axes: SpatialAxes): string =>
  ['one spatial axis', 'two spatial axes', 'three spatial axes'][axes - 1] ?? '';

/** A small example input of this many spatial axes: `float32[8, 16, 32, 32]`. */
export const exampleImage = (axes: SpatialAxes, channels = 16): string =>
  `float32[8, ${[channels, ...Array.from({ length: axes }, () => (axes === 3 ? 16 : 32))].join(', ')}]`;

const channels: readonly ParameterDefinition[] = [
  followingSize('in_channels', 'Channels of the input.'),
  integer('out_channels', 'Channels of the output.', { least: 1 }),
  integers('kernel_size', 'Extent of the kernel.', { least: 1 }),
  integers('stride', 'Step of the kernel.', { default: 1, least: 1 }),
];
const dilation = integers('dilation', 'Distance between kernel elements.', { default: 1, least: 1 });
const groups = integer('groups', 'Channel groups convolved apart.', { default: 1, least: 1 });
const bias = flag('bias', true, 'Whether a bias is added.');
const paddingModes = { zeros: undefined, reflect: 'reflect', replicate: 'edge', circular: 'wrap' } as const;

const convolution = (axes: SpatialAxes): LayerDefinition => ({
  name: `Conv${axes}d`,
  kind: 'module',
  documentation: `Convolution over ${axesInWords(axes)} of a [batch, channels, …] tensor.`,
  source: `torch.nn.Conv${axes}d.html`,
  inputs: { names: ['input'], least: 1 },
  parameters: [
    ...channels,
    {
      name: 'padding',
      type: 'padding',
      default: 0,
      least: 0,
      documentation: "Elements added on both sides, 'valid' or 'same'.",
    },
    dilation,
    groups,
    bias,
    choice(
      'padding_mode',
      Object.keys(paddingModes),
      'zeros',
      'What is added; zeros need no copy of the input.',
    ),
  ],
  work: 'out·in/groups·kernel parameters, and out for the bias; 2·in/groups·kernel FLOPs per element of the output.',
  example: { inputs: { x: exampleImage(axes, 3) }, call: `Conv${axes}d(3, 16, kernel_size=3, padding=1)` },
  lower: (call) => {
    if (!hasSpatialAxes(call, axes)) return undefined;
    const found = channelsOf(call);
    if (found === undefined) return undefined;
    const { inChannels, outChannels, groupCount } = found;
    const kernel = call.integers('kernel_size', axes);
    const stride = call.integers('stride', axes);
    if (call.value('padding') === 'same' && stride.some((step) => step !== 1)) {
      return call.problem(
        'spec/argument',
        `padding='same' is for a stride of 1, not ${stride.join(' × ')}; give the padding as a number`,
        'padding',
      );
    }
    const weight = call.parameter('weight', [outChannels, inChannels / groupCount, ...kernel]);
    const { input, attributes } = padded(call, axes, kernel);
    return call.emit('Conv', [input, weight, ...biasOf(call, outChannels)], {
      kernel_shape: ints(kernel),
      strides: ints(stride),
      dilations: ints(call.integers('dilation', axes)),
      group: int(groupCount),
      ...attributes,
    });
  },
});

const transposedConvolution = (axes: SpatialAxes): LayerDefinition => ({
  name: `ConvTranspose${axes}d`,
  kind: 'module',
  documentation: `Transposed convolution over ${axesInWords(axes)}: the gradient of a convolution, which enlarges.`,
  source: `torch.nn.ConvTranspose${axes}d.html`,
  inputs: { names: ['input'], least: 1 },
  parameters: [
    ...channels,
    integers('padding', 'Elements taken off both sides of the output.', { default: 0, least: 0 }),
    integers('output_padding', 'Elements added to one side of the output.', { default: 0, least: 0 }),
    groups,
    bias,
    dilation,
    choice('padding_mode', ['zeros'], 'zeros', 'Zeros only.'),
  ],
  work: 'in·out/groups·kernel parameters, and out for the bias; 2·out/groups·kernel FLOPs per element of the input.',
  example: {
    inputs: { x: exampleImage(axes) },
    call: `ConvTranspose${axes}d(16, 8, kernel_size=2, stride=2)`,
  },
  lower: (call) => {
    if (!hasSpatialAxes(call, axes)) return undefined;
    const found = channelsOf(call);
    if (found === undefined) return undefined;
    const { inChannels, outChannels, groupCount } = found;
    const kernel = call.integers('kernel_size', axes);
    const weight = call.parameter('weight', [inChannels, outChannels / groupCount, ...kernel]);
    return call.emit('ConvTranspose', [call.inputs[0], weight, ...biasOf(call, outChannels)], {
      kernel_shape: ints(kernel),
      strides: ints(call.integers('stride', axes)),
      dilations: ints(call.integers('dilation', axes)),
      pads: ints(bothSides(call.integers('padding', axes))),
      output_padding: ints(call.integers('output_padding', axes)),
      group: int(groupCount),
    });
  },
});

function channelsOf(call: LayerLowering) {
  const inChannels = call.size('in_channels', call.inputs[0]?.shape?.[1], "the input's channel count");
  if (inChannels === undefined) return undefined;
  const outChannels = call.integer('out_channels');
  const groupCount = call.integer('groups');
  if (inChannels % groupCount !== 0 || outChannels % groupCount !== 0) {
    return call.problem(
      'shape/mismatch',
      `${inChannels} input and ${outChannels} output channels do not divide into ${groupCount} groups`,
      'groups',
    );
  }
  return { inChannels, outChannels, groupCount };
}

const biasOf = (call: LayerLowering, size: number): readonly Tensor[] =>
  call.boolean('bias') ? [call.parameter('bias', [size])] : [];

/** The input and the attributes that pad it: other elements than zeros are added by an operator of their own. */
function padded(
  call: LayerLowering,
  axes: number,
  kernel: readonly number[],
): { readonly input: Tensor | undefined; readonly attributes: NodeAttributes } {
  const [input] = call.inputs;
  const value = call.value('padding');
  const mode = Object.entries(paddingModes).find(([name]) => name === call.string('padding_mode'))?.[1];
  if (mode === undefined) {
    if (value === 'same') return { input, attributes: { auto_pad: text('SAME_UPPER') } };
    if (value === 'valid') return { input, attributes: { auto_pad: text('VALID') } };
    return { input, attributes: { pads: ints(bothSides(call.integers('padding', axes))) } };
  }
  const spans = call.integers('dilation', axes).map((step, axis) => step * ((kernel[axis] ?? 1) - 1));
  const before =
    value === 'same'
      ? spans.map((span) => Math.floor(span / 2))
      : value === 'valid'
        ? spans.map(() => 0)
        : call.integers('padding', axes);
  const after = value === 'same' ? spans.map((span, axis) => span - itemAt(before, axis)) : before;
  const pads = call.integersConstant([0, 0, ...before, 0, 0, ...after]);
  return { input: call.emit('Pad', [input, pads], { mode: text(mode) }), attributes: {} };
}

export const bothSides = (pads: readonly number[]): readonly number[] => [...pads, ...pads];

const spatial: readonly SpatialAxes[] = [1, 2, 3];

export const convolutionLayers = [...spatial.map(convolution), ...spatial.map(transposedConvolution)];
