/** Tensors one after another: several joined, or copies of one. */

import { int, type LayerDefinition } from '../layerDefinition.ts';
import { printShape } from '../printShape.ts';
import { axisOf } from './axisOf.ts';
import { integer, integers, listOf } from './parameters.ts';

const x = 'float32[8, 128, 768]';

const concatenation = (name: 'cat' | 'concat' | 'stack'): LayerDefinition => ({
  name,
  kind: 'function',
  documentation:
    name === 'stack' ? 'Joins tensors along a new axis.' : 'Joins tensors along one of their axes.',
  source: `torch.${name === 'stack' ? 'stack' : 'cat'}.html`,
  inputs: { names: ['tensors'], least: 1, variadic: true },
  parameters: [integer('dim', name === 'stack' ? 'Where the new axis stands.' : 'The axis.', { default: 0 })],
  example: { inputs: { a: x, b: x }, call: `${name}((a, b), dim=1)` },
  lower: (call) => {
    const [first] = call.inputs;
    const rank = first?.shape?.length;
    if (rank === undefined) return undefined;
    const axis = axisOf(call, 'dim', name === 'stack' ? 1 : 0);
    if (axis === undefined) return undefined;
    for (const other of call.inputs) {
      const differs =
        other.shape?.length !== rank ||
        other.shape.some((size, index) => {
          const own = first?.shape?.[index];
          return (
            (name === 'stack' || index !== axis) &&
            typeof size === 'number' &&
            typeof own === 'number' &&
            size !== own
          );
        });
      if (other.shape !== undefined && differs) {
        return call.problem(
          'shape/mismatch',
          `${printShape(first)} and ${printShape(other)} do not join along axis ${axis}`,
        );
      }
    }
    const place = call.integersConstant([axis]);
    const parts =
      name === 'stack' ? call.inputs.map((tensor) => call.emit('Unsqueeze', [tensor, place])) : call.inputs;
    return call.emit('Concat', parts, { axis: int(axis) });
  },
});

const repeat = (name: 'tile' | 'repeat'): LayerDefinition => ({
  name,
  kind: 'function',
  documentation: 'Copies of the input one after another along axes.',
  source:
    name === 'tile'
      ? 'torch.tile.html'
      : 'https://docs.pytorch.org/docs/stable/generated/torch.Tensor.repeat.html',
  inputs: { names: ['input'], least: 1 },
  parameters: [
    integers(name === 'tile' ? 'dims' : 'repeats', 'Copies along every axis.', { rest: true, least: 1 }),
  ],
  example: { inputs: { x }, call: `${name}(1, 2, 1)` },
  lower: (call) => {
    const [input] = call.inputs;
    const rank = input?.shape?.length;
    const argument = name === 'tile' ? 'dims' : 'repeats';
    const times = call.integers(argument, listOf(call.value(argument)).length);
    if (rank === undefined) return undefined;
    if (name === 'repeat' && times.length < rank) {
      return call.problem(
        'spec/argument',
        `the input has ${rank} axes, more than ${times.length} repeats`,
        argument,
      );
    }
    const added = Array.from({ length: Math.max(0, times.length - rank) }, (_, axis) => axis);
    const widened =
      added.length === 0 ? input : call.emit('Unsqueeze', [input, call.integersConstant(added)]);
    const all = [...Array.from({ length: Math.max(0, rank - times.length) }, () => 1), ...times];
    return call.emit('Tile', [widened, call.integersConstant(all)]);
  },
});

const repeatInterleave: LayerDefinition = {
  name: 'repeat_interleave',
  kind: 'function',
  documentation: 'Every element of an axis several times in a row.',
  source: 'torch.repeat_interleave.html',
  inputs: { names: ['input'], least: 1 },
  parameters: [integer('repeats', 'How often.', { least: 1 }), integer('dim', 'The axis.')],
  example: { inputs: { x: 'float32[8, 4, 128, 64]' }, call: 'repeat_interleave(2, dim=1)' },
  lower: (call) => {
    const [input] = call.inputs;
    const shape = input?.shape;
    if (shape === undefined) return undefined;
    const axis = axisOf(call);
    if (axis === undefined) return undefined;
    const times = call.integer('repeats');
    const apart = call.emit('Unsqueeze', [input, call.integersConstant([axis + 1])]);
    const ones = Array.from({ length: shape.length + 1 }, (_, index) => (index === axis + 1 ? times : 1));
    const tiled = call.emit('Tile', [apart, call.integersConstant(ones)]);
    const sizes = shape.map((size, index) => (index < axis ? 0 : index === axis ? -1 : size));
    return call.emit('Reshape', [tiled, call.sizes(sizes)]);
  },
};

export const joiningLayers: readonly LayerDefinition[] = [
  concatenation('cat'),
  concatenation('concat'),
  concatenation('stack'),
  repeat('tile'),
  repeat('repeat'),
  repeatInterleave,
];
