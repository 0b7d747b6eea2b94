/** Convolutions and pooling over one or two spatial axes. */

import {
  int,
  ints,
  type LayerDefinition,
  type LayerLowering,
  type NodeAttributes,
  text,
} from '../layerDefinition.ts';

const convolution = (axes: 1 | 2 | 3): LayerDefinition => ({
  name: `Conv${axes}d`,
  kind: 'module',
  documentation: `Convolution over ${axes === 1 ? 'one spatial axis' : `${axes} spatial axes`} of a [batch, channels, …] tensor.`,
  source: `torch.nn.Conv${axes}d.html`,
  inputs: { names: ['input'], least: 1 },
  parameters: [
    { name: 'in_channels', type: 'integer', follows: true, documentation: 'Channels of the input.' },
    { name: 'out_channels', type: 'integer', documentation: 'Channels of the output.' },
    { name: 'kernel_size', type: 'integers', documentation: 'Extent of the kernel.' },
    { name: 'stride', type: 'integers', default: 1, documentation: 'Step of the kernel.' },
    {
      name: 'padding',
      type: 'padding',
      default: 0,
      documentation: "Zeros added on both sides, 'valid' or 'same'.",
    },
    { name: 'dilation', type: 'integers', default: 1, documentation: 'Distance between kernel elements.' },
    { name: 'groups', type: 'integer', default: 1, documentation: 'Channel groups convolved apart.' },
    { name: 'bias', type: 'boolean', default: true, documentation: 'Whether a bias is added.' },
    { name: 'padding_mode', type: 'string', default: 'zeros', documentation: 'Does not change the cost.' },
  ],
  lower: (call) => {
    const [input] = call.inputs;
    if (!hasRank(call, axes + 2)) return undefined;
    const inChannels = call.size('in_channels', input?.shape?.[1], "the input's channel count");
    if (inChannels === undefined) return undefined;
    const outChannels = call.integer('out_channels');
    const groups = call.integer('groups');
    if (groups < 1 || inChannels % groups !== 0 || outChannels % groups !== 0) {
      return call.problem(
        'shape/mismatch',
        `${inChannels} input and ${outChannels} output channels do not divide into ${groups} groups`,
        'groups',
      );
    }
    const kernel = call.integers('kernel_size', axes);
    const weight = call.parameter('weight', [outChannels, inChannels / groups, ...kernel]);
    const bias = call.boolean('bias') ? call.parameter('bias', [outChannels]) : undefined;
    return call.emit('Conv', bias === undefined ? [input, weight] : [input, weight, bias], {
      kernel_shape: ints(kernel),
      strides: ints(call.integers('stride', axes)),
      dilations: ints(call.integers('dilation', axes)),
      group: int(groups),
      ...padding(call, axes),
    });
  },
});

function padding(call: LayerLowering, axes: number): NodeAttributes {
  const value = call.value('padding');
  if (value === 'same') return { auto_pad: text('SAME_UPPER') };
  if (value === 'valid') return { auto_pad: text('VALID') };
  return { pads: ints(bothSides(call.integers('padding', axes))) };
}

const bothSides = (pads: readonly number[]): readonly number[] => [...pads, ...pads];

const pooling = (name: 'MaxPool' | 'AvgPool', axes: 1 | 2): LayerDefinition => ({
  name: `${name}${axes}d`,
  kind: 'module',
  documentation: `${name === 'MaxPool' ? 'Maximum' : 'Mean'} over windows of ${axes === 1 ? 'one spatial axis' : 'two spatial axes'}.`,
  source: `torch.nn.${name}${axes}d.html`,
  inputs: { names: ['input'], least: 1 },
  parameters: [
    { name: 'kernel_size', type: 'integers', documentation: 'Extent of the window.' },
    {
      name: 'stride',
      type: 'integers',
      default: null,
      documentation: 'Step of the window; the extent where it is left out.',
    },
    { name: 'padding', type: 'integers', default: 0, documentation: 'Added on both sides.' },
    ...(name === 'MaxPool'
      ? [
          {
            name: 'dilation',
            type: 'integers',
            default: 1,
            documentation: 'Distance between window elements.',
          } as const,
          {
            name: 'return_indices',
            type: 'boolean',
            default: false,
            documentation: 'Not supported: indices are not an output.',
          } as const,
          {
            name: 'ceil_mode',
            type: 'boolean',
            default: false,
            documentation: 'Whether output sizes round up.',
          } as const,
        ]
      : [
          {
            name: 'ceil_mode',
            type: 'boolean',
            default: false,
            documentation: 'Whether output sizes round up.',
          } as const,
          {
            name: 'count_include_pad',
            type: 'boolean',
            default: true,
            documentation: 'Whether padding counts in the mean.',
          } as const,
        ]),
  ],
  lower: (call) => {
    if (!hasRank(call, axes + 2)) return undefined;
    const kernel = call.integers('kernel_size', axes);
    const [input] = call.inputs;
    return call.emit(name === 'MaxPool' ? 'MaxPool' : 'AveragePool', [input], {
      kernel_shape: ints(kernel),
      strides: ints(call.value('stride') === null ? kernel : call.integers('stride', axes)),
      pads: ints(bothSides(call.integers('padding', axes))),
      ceil_mode: int(call.boolean('ceil_mode') ? 1 : 0),
      ...(name === 'MaxPool'
        ? { dilations: ints(call.integers('dilation', axes)) }
        : { count_include_pad: int(call.boolean('count_include_pad') ? 1 : 0) }),
    });
  },
});

const adaptivePooling: LayerDefinition = {
  name: 'AdaptiveAvgPool2d',
  kind: 'module',
  documentation: 'Mean over windows chosen so that the output has the given size.',
  source: 'torch.nn.AdaptiveAvgPool2d.html',
  inputs: { names: ['input'], least: 1 },
  parameters: [{ name: 'output_size', type: 'integers', documentation: 'Height and width of the output.' }],
  lower: (call) => {
    if (!hasRank(call, 4)) return undefined;
    const [input] = call.inputs;
    const output = call.integers('output_size', 2);
    if (output.every((size) => size === 1)) return call.emit('GlobalAveragePool', [input]);
    const sizes = (input?.shape ?? []).slice(2).map((size) => call.fixed(size));
    const kernel: number[] = [];
    for (const [axis, size] of sizes.entries()) {
      const wanted = output[axis] ?? 1;
      if (size === undefined) return undefined;
      if (wanted < 1 || size % wanted !== 0) {
        return call.problem(
          'shape/mismatch',
          `an output of ${output.join(' × ')} needs an input whose sizes are multiples of it, not ${sizes.join(' × ')}`,
          'output_size',
        );
      }
      kernel.push(size / wanted);
    }
    if (kernel.length === 0) return undefined;
    return call.emit('AveragePool', [input], { kernel_shape: ints(kernel), strides: ints(kernel) });
  },
};

/** Reports an input of the wrong rank; true where the rank is right or unknown. */
function hasRank(call: LayerLowering, rank: number): boolean {
  const shape = call.inputs[0]?.shape;
  if (shape === undefined || shape.length === rank) return true;
  call.problem(
    'shape/mismatch',
    `the input needs ${rank} axes, [batch, channels, …], but has ${shape.length}`,
  );
  return false;
}

export const convolutionLayers = [
  convolution(1),
  convolution(2),
  convolution(3),
  pooling('MaxPool', 1),
  pooling('MaxPool', 2),
  pooling('AvgPool', 1),
  pooling('AvgPool', 2),
  adaptivePooling,
];
