/** Pooling over one to three spatial axes, and its inverse. */

import {
  int,
  ints,
  type LayerDefinition,
  type LayerLowering,
  type ParameterDefinition,
  type Tensor,
} from '../layerDefinition.ts';
import { axesInWords, bothSides, exampleImage, type SpatialAxes } from './convolution.ts';
import { hasSpatialAxes } from './inputRank.ts';
import { anything, flag, integer, integers, listOf, number } from './parameters.ts';

const kernelSize = integers('kernel_size', 'Extent of the window.', { least: 1 });
const stride = integers('stride', 'Step of the window; the extent where it is left out.', {
  default: null,
  least: 1,
});
const padding = integers('padding', 'Elements added on both sides.', { default: 0, least: 0 });
const ceilMode = flag('ceil_mode', false, 'Whether output sizes round up.');
const returnIndices = flag(
  'return_indices',
  false,
  'Whether the positions of the maxima are a second output.',
);

const windowsOf = (call: LayerLowering, axes: SpatialAxes) => {
  const kernel = call.integers('kernel_size', axes);
  return {
    kernel_shape: ints(kernel),
    strides: ints(call.value('stride') === null ? kernel : call.integers('stride', axes)),
  };
};

/** The window must reach into the input even where padding surrounds it, as PyTorch demands. */
function hasFittingPadding(call: LayerLowering, axes: SpatialAxes): boolean {
  const kernel = call.integers('kernel_size', axes);
  const pads = call.integers('padding', axes);
  const wrong = pads.findIndex((pad, axis) => 2 * pad > (kernel[axis] ?? 1));
  if (wrong < 0) return true;
  call.problem(
    'spec/argument',
    `\`padding\` is at most half the kernel size ${kernel[wrong]}, not ${pads[wrong]}`,
    'padding',
  );
  return false;
}

const maxPooling = (axes: SpatialAxes): LayerDefinition => ({
  name: `MaxPool${axes}d`,
  kind: 'module',
  documentation: `Maximum over windows of ${axesInWords(axes)}.`,
  source: `torch.nn.MaxPool${axes}d.html`,
  inputs: { names: ['input'], least: 1 },
  parameters: [
    kernelSize,
    stride,
    padding,
    integers('dilation', 'Distance between window elements.', { default: 1, least: 1 }),
    returnIndices,
    ceilMode,
  ],
  outputs: ['output', 'indices'],
  example: { inputs: { x: exampleImage(axes) }, call: `MaxPool${axes}d(2)` },
  lower: (call) => {
    if (!hasSpatialAxes(call, axes) || !hasFittingPadding(call, axes)) return undefined;
    return call.emitMany('MaxPool', [call.inputs[0]], call.boolean('return_indices') ? 2 : 1, {
      ...windowsOf(call, axes),
      dilations: ints(call.integers('dilation', axes)),
      pads: ints(bothSides(call.integers('padding', axes))),
      ceil_mode: int(call.boolean('ceil_mode') ? 1 : 0),
    });
  },
});

const averagePooling = (axes: SpatialAxes): LayerDefinition => ({
  name: `AvgPool${axes}d`,
  kind: 'module',
  documentation: `Mean over windows of ${axesInWords(axes)}.`,
  source: `torch.nn.AvgPool${axes}d.html`,
  inputs: { names: ['input'], least: 1 },
  parameters: [
    kernelSize,
    stride,
    padding,
    ceilMode,
    flag('count_include_pad', true, 'Whether padding counts in the mean.'),
    ...(axes === 1
      ? []
      : [integer('divisor_override', 'Divisor of the sums; does not change the cost.', { default: null })]),
  ],
  example: { inputs: { x: exampleImage(axes) }, call: `AvgPool${axes}d(2)` },
  lower: (call) => {
    if (!hasSpatialAxes(call, axes) || !hasFittingPadding(call, axes)) return undefined;
    return call.emit('AveragePool', [call.inputs[0]], {
      ...windowsOf(call, axes),
      pads: ints(bothSides(call.integers('padding', axes))),
      ceil_mode: int(call.boolean('ceil_mode') ? 1 : 0),
      count_include_pad: int(call.boolean('count_include_pad') ? 1 : 0),
    });
  },
});

const normPooling = (axes: SpatialAxes): LayerDefinition => ({
  name: `LPPool${axes}d`,
  kind: 'module',
  documentation: `p-norm over windows of ${axesInWords(axes)}.`,
  source: `torch.nn.LPPool${axes}d.html`,
  inputs: { names: ['input'], least: 1 },
  parameters: [number('norm_type', 'The p of the norm.'), kernelSize, stride, ceilMode],
  example: { inputs: { x: exampleImage(axes) }, call: `LPPool${axes}d(2, kernel_size=2)` },
  lower: (call) => {
    if (!hasSpatialAxes(call, axes)) return undefined;
    return call.emit('LpPool', [call.inputs[0]], {
      ...windowsOf(call, axes),
      // ONNX takes whole norms only; which one it is does not change the cost.
      p: int(Math.max(1, Math.round(call.number('norm_type')))),
      ceil_mode: int(call.boolean('ceil_mode') ? 1 : 0),
    });
  },
});

const adaptivePooling = (kind: 'Avg' | 'Max', axes: SpatialAxes): LayerDefinition => ({
  name: `Adaptive${kind}Pool${axes}d`,
  kind: 'module',
  documentation: `${kind === 'Avg' ? 'Mean' : 'Maximum'} over windows of ${axesInWords(axes)}, chosen so that the output has the given size.`,
  source: `torch.nn.Adaptive${kind}Pool${axes}d.html`,
  inputs: { names: ['input'], least: 1 },
  parameters: [
    anything(
      'output_size',
      'Size of the output: one for all axes, or a tuple; None keeps that of the input.',
    ),
    ...(kind === 'Max' ? [returnIndices] : []),
  ],
  ...(kind === 'Max' ? { outputs: ['output', 'indices'] } : {}),
  work: 'If the input size is not a multiple of the output size, costs assume equal windows.',
  example: { inputs: { x: exampleImage(axes) }, call: `Adaptive${kind}Pool${axes}d(1)` },
  lower: (call) => {
    if (!hasSpatialAxes(call, axes)) return undefined;
    const [input] = call.inputs;
    const wanted = outputSizes(call, axes);
    if (wanted === undefined || input === undefined) return undefined;
    const outputs = kind === 'Max' && call.boolean('return_indices') ? 2 : 1;
    if (wanted.every((size) => size === 1) && outputs === 1) {
      return call.emit(kind === 'Max' ? 'GlobalMaxPool' : 'GlobalAveragePool', [input]);
    }
    const sizes = (input.shape ?? []).slice(2).map((size) => call.fixed(size));
    const windows = sizes.flatMap((size, axis) => {
      if (size === undefined) return [];
      return [windowFor(size, wanted[axis] ?? size)];
    });
    if (windows.length !== axes) return undefined;
    if (windows.some(({ stride: step }) => step < 1)) return enlarged(call, input, wanted, axes);
    return call.emitMany(kind === 'Max' ? 'MaxPool' : 'AveragePool', [input], outputs, {
      kernel_shape: ints(windows.map((window) => window.kernel)),
      strides: ints(windows.map((window) => window.stride)),
    });
  },
});

/** Windows of one kernel and stride that give `wanted` outputs: PyTorch's own where `size` is a multiple of it. */
function windowFor(size: number, wanted: number): { readonly kernel: number; readonly stride: number } {
  const step = Math.floor(size / wanted);
  return { kernel: size - (wanted - 1) * step, stride: step };
}

/** An output larger than the input repeats elements. */
function enlarged(
  call: LayerLowering,
  input: Tensor,
  wanted: readonly (number | undefined)[],
  axes: number,
): Tensor {
  const sizes = wanted.map((size, axis) => size ?? call.fixed(input.shape?.[axis + 2]) ?? 1);
  const spatial = Array.from({ length: axes }, (_, axis) => axis + 2);
  return call.emit('Resize', [input, undefined, undefined, call.integersConstant(sizes)], {
    axes: ints(spatial),
  });
}

/** Output sizes; `undefined` inside where the input's size is kept. */
function outputSizes(call: LayerLowering, axes: SpatialAxes): readonly (number | undefined)[] | undefined {
  const given = listOf(call.value('output_size'));
  const problem = (message: string) => call.problem('spec/argument', message, 'output_size');
  if (given.length !== 1 && given.length !== axes) {
    return problem(`\`output_size\` is one size or ${axes}, not ${given.length}`);
  }
  const sizes: (number | undefined)[] = [];
  for (let axis = 0; axis < axes; axis += 1) {
    const size = given.length === 1 ? given[0] : given[axis];
    if (size === null) sizes.push(undefined);
    else if (typeof size === 'number' && Number.isInteger(size) && size >= 1) sizes.push(size);
    else return problem('`output_size` is a whole number above 0, None, or a tuple of them');
  }
  return sizes;
}

const maxUnpooling = (axes: SpatialAxes): LayerDefinition => {
  const parameters: readonly ParameterDefinition[] = [kernelSize, stride, padding];
  const size = axes === 3 ? 8 : 16;
  const shape = `[8, 16, ${Array.from({ length: axes }, () => size).join(', ')}]`;
  return {
    name: `MaxUnpool${axes}d`,
    kind: 'module',
    documentation: `Puts elements back where MaxPool${axes}d found them; from two sources: elements, indices.`,
    source: `torch.nn.MaxUnpool${axes}d.html`,
    inputs: { names: ['input', 'indices'], least: 2 },
    parameters,
    example: {
      inputs: { x: `float32${shape}`, indices: `int64${shape}` },
      call: `MaxUnpool${axes}d(2) from x, indices`,
    },
    lower: (call) => {
      if (!hasSpatialAxes(call, axes)) return undefined;
      return call.emit('MaxUnpool', [call.inputs[0], call.input('indices')], {
        ...windowsOf(call, axes),
        pads: ints(bothSides(call.integers('padding', axes))),
      });
    },
  };
};

const spatial: readonly SpatialAxes[] = [1, 2, 3];

export const poolingLayers = [
  ...spatial.map(maxPooling),
  ...spatial.map(averagePooling),
  ...spatial.map(normPooling),
  ...spatial.map((axes) => adaptivePooling('Avg', axes)),
  ...spatial.map((axes) => adaptivePooling('Max', axes)),
  ...spatial.map(maxUnpooling),
];
