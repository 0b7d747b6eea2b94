/** Padding of the spatial axes. */

import {
  type LayerDefinition,
  type LayerLowering,
  type SpecValue,
  type Tensor,
  text,
} from '../layerDefinition.ts';
import { axesInWords, exampleImage, type SpatialAxes } from './convolution.ts';
import { hasRank } from './inputRank.ts';
import { choice, integers, listOf, number } from './parameters.ts';

const modes = { constant: 'constant', reflect: 'reflect', replicate: 'edge', circular: 'wrap' } as const;
type Mode = keyof typeof modes;

const layersOfMode: readonly (readonly [prefix: string, mode: Mode, documentation: string])[] = [
  ['ZeroPad', 'constant', 'Adds zeros around'],
  ['ConstantPad', 'constant', 'Adds one value around'],
  ['ReflectionPad', 'reflect', 'Adds reflected elements around'],
  ['ReplicationPad', 'replicate', 'Repeats the outermost elements around'],
  ['CircularPad', 'circular', 'Adds elements of the other side around'],
];

const spatial: readonly SpatialAxes[] = [1, 2, 3];

const padLayers = layersOfMode.flatMap(([prefix, mode, documentation]) =>
  spatial.map(
    (axes): LayerDefinition => ({
      name: `${prefix}${axes}d`,
      kind: 'module',
      documentation: `${documentation} ${axesInWords(axes)}.`,
      source: `torch.nn.${prefix}${axes}d.html`,
      inputs: { names: ['input'], least: 1 },
      parameters: [
        integers('padding', 'Elements added: one number, or (before, after) from the last axis on.'),
        ...(prefix === 'ConstantPad' ? [number('value', 'The value added.')] : []),
      ],
      example: {
        inputs: { x: exampleImage(axes, 3) },
        call: `${prefix}${axes}d(${prefix === 'ConstantPad' ? '2, 0.5' : '2'})`,
      },
      lower: (call) => {
        if (!hasRank(call, [axes + 1, axes + 2], '[batch, channels, …]')) return undefined;
        const given = call.value('padding');
        const amounts = Array.isArray(given)
          ? call.integers('padding', 2 * axes)
          : Array.from({ length: 2 * axes }, () => call.integer('padding'));
        const value = prefix === 'ConstantPad' ? call.number('value') : 0;
        return pad(call, amounts, mode, value);
      },
    }),
  ),
);

/** Pads from the last axis on, (before, after) of each, as `torch.nn.functional.pad` counts them. */
function pad(call: LayerLowering, amounts: readonly number[], mode: Mode, value: number): Tensor | undefined {
  const [input] = call.inputs;
  const shape = input?.shape;
  if (shape === undefined) return undefined;
  const before = shape.map(() => 0);
  const after = shape.map(() => 0);
  for (const [index, amount] of amounts.entries()) {
    const axis = shape.length - 1 - Math.floor(index / 2);
    (index % 2 === 0 ? before : after)[axis] = amount;
  }
  for (const [axis, size] of shape.entries()) {
    const most = mode === 'reflect' ? Number(size) - 1 : mode === 'circular' ? Number(size) : undefined;
    const given = Math.max(before[axis] ?? 0, after[axis] ?? 0);
    if (typeof size === 'number' && most !== undefined && given > most) {
      return call.problem(
        'shape/mismatch',
        `${given} elements cannot be added to an axis of ${size} by mode '${mode}', which takes at most ${most}`,
        call.given('pad') ? 'pad' : 'padding',
      );
    }
  }
  const constant =
    mode === 'constant' && value !== 0 ? [call.scalarConstant(value, input?.elementType ?? 'float32')] : [];
  return call.emit('Pad', [input, call.integersConstant([...before, ...after]), ...constant], {
    mode: text(modes[mode]),
  });
}

const isMode = (value: SpecValue): value is Mode => Object.keys(modes).some((mode) => mode === value);

const padFunction: LayerDefinition = {
  name: 'pad',
  kind: 'function',
  documentation: 'Adds elements around axes, from the last on; negative numbers take them off.',
  source: 'torch.nn.functional.pad.html',
  inputs: { names: ['input'], least: 1 },
  parameters: [
    integers('pad', '(before, after) of the last axis, then of the one before it, and so on.'),
    choice('mode', Object.keys(modes), 'constant', 'What is added.'),
    number('value', 'The value mode constant adds; 0 where it is left out.', { default: null }),
  ],
  example: { inputs: { x: 'float32[8, 3, 32, 32]' }, call: 'pad((1, 1, 2, 2))' },
  lower: (call) => {
    const amounts = listOf(call.value('pad'));
    const rank = call.inputs[0]?.shape?.length ?? amounts.length;
    if (amounts.length % 2 !== 0 || amounts.length > 2 * rank) {
      return call.problem(
        'spec/argument',
        `\`pad\` is (before, after) of up to ${rank} axes, not ${amounts.length} numbers`,
        'pad',
      );
    }
    const mode = call.value('mode');
    const value = call.value('value') === null ? 0 : call.number('value');
    const numbers = call.integers('pad', amounts.length);
    return isMode(mode) ? pad(call, numbers, mode, value) : undefined;
  },
};

export const paddingLayers = [...padLayers, padFunction];
