/** Images rearranged, resampled and cut into blocks. */

import { countElements } from '../../../model/countElements.ts';
import type { Dimension } from '../../../model/dimension.ts';
import { int, ints, type LayerDefinition, type ParameterDefinition, text } from '../layerDefinition.ts';
import { hasRank, hasSpatialAxes } from './inputRank.ts';
import { anything, choice, flag, integer, integers, listOf, numbersOf } from './parameters.ts';

const blocks = (name: 'PixelShuffle' | 'PixelUnshuffle'): LayerDefinition => {
  const shuffles = name === 'PixelShuffle';
  const factor = shuffles ? 'upscale_factor' : 'downscale_factor';
  return {
    name,
    kind: 'module',
    documentation: shuffles
      ? 'Moves blocks of r² channels to blocks of r × r pixels.'
      : 'Moves blocks of r × r pixels to r² channels.',
    source: `torch.nn.${name}.html`,
    inputs: { names: ['input'], least: 1 },
    parameters: [integer(factor, 'The r.', { least: 1 })],
    example: { inputs: { x: 'float32[8, 16, 32, 32]' }, call: `${name}(2)` },
    lower: (call) => {
      const [input] = call.inputs;
      if (!hasSpatialAxes(call, 2)) return undefined;
      const r = call.integer(factor);
      const [, channels, height, width] = input?.shape ?? [];
      const wrong = (size: Dimension | undefined, by: number): size is number =>
        typeof size === 'number' && size % by !== 0;
      if (shuffles && wrong(channels, r * r)) {
        return call.problem(
          'shape/mismatch',
          `${channels} channels do not divide into blocks of ${r} × ${r}`,
          factor,
        );
      }
      if (!shuffles && (wrong(height, r) || wrong(width, r))) {
        return call.problem(
          'shape/mismatch',
          `${height} × ${width} pixels do not divide into blocks of ${r} × ${r}`,
          factor,
        );
      }
      return shuffles
        ? call.emit('DepthToSpace', [input], { blocksize: int(r), mode: text('CRD') })
        : call.emit('SpaceToDepth', [input], { blocksize: int(r) });
    },
  };
};

const channelShuffle: LayerDefinition = {
  name: 'ChannelShuffle',
  kind: 'module',
  documentation: 'Interleaves the channels of groups.',
  source: 'torch.nn.ChannelShuffle.html',
  inputs: { names: ['input'], least: 1 },
  parameters: [integer('groups', 'Groups the channels are divided into.', { least: 1 })],
  example: { inputs: { x: 'float32[8, 16, 32, 32]' }, call: 'ChannelShuffle(2)' },
  lower: (call) => {
    const [input] = call.inputs;
    const groups = call.integer('groups');
    const channels = call.fixed(input?.shape?.[1]);
    const shape = input?.shape;
    if (channels === undefined || shape === undefined) return undefined;
    if (channels % groups !== 0) {
      return call.problem(
        'shape/mismatch',
        `${channels} channels do not divide into ${groups} groups`,
        'groups',
      );
    }
    const inner = shape.slice(2);
    const apart = call.sizes([shape[0] ?? 1, groups, channels / groups, ...inner]);
    const split = call.emit('Reshape', [input, apart]);
    const order = [0, 2, 1, ...inner.map((_, axis) => axis + 3)];
    return call.emit('Reshape', [call.emit('Transpose', [split], { perm: ints(order) }), call.sizes(shape)]);
  },
};

const modes = ['nearest', 'linear', 'bilinear', 'bicubic', 'trilinear', 'area', 'nearest-exact'] as const;
/** Axes a mode is for; those of the others are any. */
const axesOfMode: Readonly<Record<string, number>> = { linear: 1, bilinear: 2, bicubic: 2, trilinear: 3 };
const target: readonly ParameterDefinition[] = [
  anything('size', 'Size of the output: one for all axes, or a tuple.', { default: null }),
  anything('scale_factor', 'Factor of the size, instead: one for all axes, or a tuple.', { default: null }),
];
const mode = choice('mode', modes, 'nearest', 'How elements between the old ones are found.');
const aligned = flag('align_corners', false, 'Does not change the cost.');
const recomputed = flag('recompute_scale_factor', false, 'Does not change the cost.');
const resampling: readonly ParameterDefinition[] = [
  ...target,
  mode,
  { ...aligned, default: null },
  { ...recomputed, default: null },
];

const resampled =
  (chosen?: 'nearest' | 'bilinear'): LayerDefinition['lower'] =>
  (call) => {
    const [input] = call.inputs;
    if (!hasRank(call, [3, 4, 5], '[batch, channels, …]')) return undefined;
    const axes = (input?.shape?.length ?? 4) - 2;
    const name = chosen ?? call.string('mode');
    const wanted = axesOfMode[name];
    if (wanted !== undefined && wanted !== axes) {
      const message = `mode '${name}' is for ${wanted} spatial axes, but the input has ${axes}`;
      return call.problem('shape/mismatch', message, 'mode');
    }
    const given = ['size', 'scale_factor'].filter((argument) => call.value(argument) !== null);
    const [argument] = given;
    if (argument === undefined || given.length > 1) {
      return call.problem('spec/argument', 'one of `size` and `scale_factor` is given', argument);
    }
    const values = numbersOf(call.value(argument));
    if (
      values.length !== listOf(call.value(argument)).length ||
      (values.length !== 1 && values.length !== axes)
    ) {
      return call.problem('spec/argument', `\`${argument}\` is one number or ${axes}`, argument);
    }
    if (values.some((value) => value <= 0)) {
      return call.problem('spec/argument', `\`${argument}\` is above 0`, argument);
    }
    const all = Array.from({ length: axes }, (_, axis) => values[axis] ?? values[0] ?? 1);
    const attributes = {
      axes: ints(all.map((_, axis) => axis + 2)),
      mode: text(name.endsWith('linear') ? 'linear' : name === 'bicubic' ? 'cubic' : 'nearest'),
    };
    return argument === 'size'
      ? call.emit('Resize', [input, undefined, undefined, call.integersConstant(all)], attributes)
      : call.emit('Resize', [input, undefined, call.vectorConstant(all, 'float32')], attributes);
  };

const upsample = (
  name: string,
  parameters: readonly ParameterDefinition[],
  documentation: string,
  chosen?: 'nearest' | 'bilinear',
): LayerDefinition => ({
  name,
  kind: name === 'interpolate' ? 'function' : 'module',
  documentation,
  source: name === 'interpolate' ? `torch.nn.functional.${name}.html` : `torch.nn.${name}.html`,
  inputs: { names: ['input'], least: 1 },
  parameters,
  example: { inputs: { x: 'float32[8, 16, 32, 32]' }, call: `${name}(scale_factor=2)` },
  lower: resampled(chosen),
});

const kernel: readonly ParameterDefinition[] = [
  integers('kernel_size', 'Extent of a block.', { least: 1 }),
  integers('dilation', 'Distance between its elements.', { default: 1, least: 1 }),
  integers('padding', 'Zeros added on both sides.', { default: 0, least: 0 }),
  integers('stride', 'Step between blocks.', { default: 1, least: 1 }),
];

/** Places along an axis times the extent of a block: beyond this no image is meant. */
const mostPlaces = 2 ** 20;

const unfold: LayerDefinition = {
  name: 'Unfold',
  kind: 'module',
  documentation: 'Sliding blocks of an image as columns: [batch, channels·kernel, blocks].',
  source: 'torch.nn.Unfold.html',
  inputs: { names: ['input'], least: 1 },
  parameters: kernel,
  example: { inputs: { x: 'float32[8, 16, 32, 32]' }, call: 'Unfold(3, padding=1)' },
  lower: (call) => {
    if (!hasSpatialAxes(call, 2)) return undefined;
    const shape = call.inputs[0]?.shape;
    const sizes = [call.fixed(shape?.[2]), call.fixed(shape?.[3])];
    const channels = call.fixed(shape?.[1]);
    if (channels === undefined) return undefined;
    const [extent, dilation, padding, stride] = kernel.map(({ name }) => call.integers(name, 2));
    const pads = [0, 0, ...(padding ?? []), 0, 0, ...(padding ?? [])];
    let output = pads.some((pad) => pad > 0)
      ? call.emit('Pad', [call.inputs[0], call.integersConstant(pads)])
      : call.inputs[0];
    const counts: number[] = [];
    // Rows and columns are picked one axis after the other, as exporters write it: [.., kernel, blocks, ..].
    for (const axis of [0, 1]) {
      const size = sizes[axis];
      const step = stride?.[axis] ?? 1;
      const window = extent?.[axis] ?? 1;
      const apart = dilation?.[axis] ?? 1;
      if (size === undefined) return undefined;
      const count = Math.floor((size + 2 * (padding?.[axis] ?? 0) - apart * (window - 1) - 1) / step) + 1;
      if (count < 1) {
        return call.problem(
          'shape/mismatch',
          `no block of ${window} fits into ${size} pixels`,
          'kernel_size',
        );
      }
      if (count * window > mostPlaces) {
        const message = `blocks of ${window} at ${count} places are more than ${mostPlaces}`;
        return call.problem('spec/argument', message, 'kernel_size');
      }
      counts.push(count);
      const rows = Array.from({ length: window }, (_, row) =>
        Array.from({ length: count }, (_, block) => row * apart + block * step),
      );
      const index = call.emit('Reshape', [
        call.integersConstant(rows.flat()),
        call.integersConstant([window, count]),
      ]);
      output = call.emit('Gather', [output, index], { axis: int(axis === 0 ? 2 : 4) });
    }
    const ordered = call.emit('Transpose', [output], { perm: ints([0, 1, 2, 4, 3, 5]) });
    const columns = channels * countElements(extent ?? []);
    const blocksInAll = counts.reduce((product, count) => product * count, 1);
    return call.emit('Reshape', [ordered, call.integersConstant([-1, columns, blocksInAll])]);
  },
};

const fold: LayerDefinition = {
  name: 'Fold',
  kind: 'module',
  documentation: 'Columns of sliding blocks added up to an image.',
  source: 'torch.nn.Fold.html',
  inputs: { names: ['input'], least: 1 },
  parameters: [integers('output_size', 'Height and width of the image.', { least: 1 }), ...kernel],
  example: { inputs: { x: 'float32[8, 144, 1024]' }, call: 'Fold(32, 3, padding=1)' },
  lower: (call) => {
    if (!hasRank(call, [3], '[batch, channels·kernel, blocks]')) return undefined;
    const [image, extent, dilation, padding, stride] = ['output_size', ...kernel.map(({ name }) => name)].map(
      (name) => call.integers(name, 2),
    );
    if (image === undefined || extent === undefined) return undefined;
    const counts = image.map((size, axis) => {
      const span = (dilation?.[axis] ?? 1) * ((extent[axis] ?? 1) - 1) + 1;
      return Math.floor((size + 2 * (padding?.[axis] ?? 0) - span) / (stride?.[axis] ?? 1)) + 1;
    });
    const expected = counts.reduce((product, count) => product * count, 1);
    const actual = call.inputs[0]?.shape?.[2];
    if (typeof actual === 'number' && actual !== expected) {
      return call.problem(
        'shape/mismatch',
        `the input has ${actual} blocks, but an image of ${image.join(' × ')} has ${expected}`,
        'output_size',
      );
    }
    return call.emit(
      'Col2Im',
      [call.inputs[0], call.integersConstant(image), call.integersConstant(extent)],
      {
        dilations: ints(dilation ?? [1, 1]),
        pads: ints([...(padding ?? []), ...(padding ?? [])]),
        strides: ints(stride ?? [1, 1]),
      },
    );
  },
};

export const visionLayers: readonly LayerDefinition[] = [
  blocks('PixelShuffle'),
  blocks('PixelUnshuffle'),
  channelShuffle,
  upsample('Upsample', resampling, 'Resamples an image to another size.'),
  upsample(
    'interpolate',
    [...resampling, flag('antialias', false, 'Does not change the cost here.')],
    'Resamples an image to another size.',
  ),
  upsample('UpsamplingNearest2d', target, 'Resamples an image by its nearest elements.', 'nearest'),
  upsample('UpsamplingBilinear2d', target, 'Resamples an image bilinearly.', 'bilinear'),
  unfold,
  fold,
];
