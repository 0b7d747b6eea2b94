/** The same elements in another order: axes that change places, and what moves along them. */

import { int, ints, type LayerDefinition } from '../layerDefinition.ts';
import { axisOf } from './axisOf.ts';
import { axisAt, dimensions, integer, integers, listOf } from './parameters.ts';

const x = 'float32[8, 128, 768]';

const permute: LayerDefinition = {
  name: 'permute',
  kind: 'function',
  documentation: 'Reorders the axes.',
  source: 'torch.permute.html',
  inputs: { names: ['input'], least: 1 },
  parameters: [dimensions('dims', 'Old axis of every new one.', { rest: true })],
  example: { inputs: { x }, call: 'permute(0, 2, 1)' },
  lower: (call) => {
    const order = listOf(call.value('dims')).filter((axis) => typeof axis === 'number');
    const rank = call.inputs[0]?.shape?.length ?? order.length;
    const axes = order.map((axis) => (axis < 0 ? axis + rank : axis));
    if (axes.length !== rank || [...axes].sort((a, b) => a - b).some((axis, index) => axis !== index)) {
      return call.problem('spec/argument', `\`dims\` names each of the ${rank} axes once`, 'dims');
    }
    return call.emit('Transpose', [call.inputs[0]], { perm: ints(axes) });
  },
};

const transpose: LayerDefinition = {
  name: 'transpose',
  kind: 'function',
  documentation: 'Swaps two axes.',
  source: 'torch.transpose.html',
  inputs: { names: ['input'], least: 1 },
  parameters: [integer('dim0', 'One axis.'), integer('dim1', 'The other.')],
  example: { inputs: { x }, call: 'transpose(1, 2)' },
  lower: (call) => {
    const rank = call.inputs[0]?.shape?.length;
    if (rank === undefined) return undefined;
    const first = axisOf(call, 'dim0');
    const second = axisOf(call, 'dim1');
    if (first === undefined || second === undefined) return undefined;
    const perm = Array.from({ length: rank }, (_, axis) => axis);
    perm[first] = second;
    perm[second] = first;
    return call.emit('Transpose', [call.inputs[0]], { perm: ints(perm) });
  },
};

const flip: LayerDefinition = {
  name: 'flip',
  kind: 'function',
  documentation: 'Reverses axes.',
  source: 'torch.flip.html',
  inputs: { names: ['input'], least: 1 },
  parameters: [integers('dims', 'The axes.')],
  example: { inputs: { x }, call: 'flip(1)' },
  lower: (call) => {
    const [input] = call.inputs;
    const rank = input?.shape?.length;
    if (rank === undefined) return undefined;
    const axes = call.integers('dims', listOf(call.value('dims')).length);
    if (axes.some((axis) => axisAt(axis, rank) === undefined)) {
      return call.problem('spec/argument', `the input has ${rank} axes`, 'dims');
    }
    const all = (value: number) => call.integersConstant(axes.map(() => value));
    return call.emit('Slice', [input, all(-1), all(-(2 ** 31)), call.integersConstant(axes), all(-1)]);
  },
};

const roll: LayerDefinition = {
  name: 'roll',
  kind: 'function',
  documentation: 'Moves elements along axes, those that fall off coming back at the other end.',
  source: 'torch.roll.html',
  inputs: { names: ['input'], least: 1 },
  parameters: [integers('shifts', 'By how much, for every axis.'), integers('dims', 'The axes.')],
  example: { inputs: { x: 'float32[8, 56, 56, 96]' }, call: 'roll((-3, -3), (1, 2))' },
  lower: (call) => {
    const shape = call.inputs[0]?.shape;
    if (shape === undefined) return undefined;
    const axes = call.integers('dims', listOf(call.value('dims')).length);
    const shifts = call.integers('shifts', axes.length);
    let output = call.inputs[0];
    for (const [index, given] of axes.entries()) {
      const axis = axisAt(given, shape.length);
      if (axis === undefined) {
        return call.problem('spec/argument', `the input has no axis ${given}`, 'dims');
      }
      const size = call.fixed(shape[axis]);
      if (size === undefined) return undefined;
      const head = ((-(shifts[index] ?? 0) % size) + size) % size;
      if (head === 0) continue;
      const sizes = call.integersConstant([head, size - head]);
      const [front, back] = call.emitMany('Split', [output, sizes], 2, { axis: int(axis) });
      output = call.emit('Concat', [back, front], { axis: int(axis) });
    }
    return output;
  },
};

export const orderLayers: readonly LayerDefinition[] = [permute, transpose, flip, roll];
