/** The same elements in another shape or order, and tensors joined. */

import {
  type Dimension,
  equalDimensions,
  isSymbolic,
  printDimension,
  productOfDimensions,
  type SymbolicDimension,
} from '../../../model/dimension.ts';
import {
  int,
  ints,
  type LayerDefinition,
  type LayerLowering,
  type SpecValue,
  type Tensor,
} from '../layerDefinition.ts';
import { printShape } from '../printShape.ts';
import { anything, axisAt, dimensions, integer, integers, listOf } from './parameters.ts';

const x = 'float32[8, 128, 768]';

const isDimension = (value: SpecValue): value is number | SymbolicDimension =>
  typeof value === 'number' || (typeof value === 'object' && value !== null && 'kind' in value);

/** An axis given by number, or `undefined` after an issue; `extra` where a new axis may stand behind the last. */
function axisOf(call: LayerLowering, name: string, rank: number, extra = 0): number | undefined {
  const given = call.integer(name);
  const axis = axisAt(given, rank + extra);
  if (axis !== undefined) return axis;
  return call.problem(
    'spec/argument',
    `the input has no axis ${given}; it is ${call.inputs[0] ? printShape(call.inputs[0]) : 'unknown'}`,
    name,
  );
}

/** The sizes of an argument; -1 may stand for what is left. `undefined` after an issue. */
function sizesOf(call: LayerLowering, name: string): readonly Dimension[] | undefined {
  const sizes: Dimension[] = [];
  for (const size of listOf(call.value(name))) {
    if (!isDimension(size)) return call.problem('spec/argument', 'a shape is a list of sizes', name);
    if (typeof size === 'number' && (!Number.isInteger(size) || size < -1)) {
      return call.problem('spec/argument', `a size is a whole number or -1, not ${size}`, name);
    }
    sizes.push(size);
  }
  if (sizes.filter((size) => size === -1).length > 1) {
    return call.problem('spec/argument', 'only one size can be -1', name);
  }
  return sizes;
}

/** Reshapes to `sizes`, copying open sizes that stay where they are, so that the batch stays open. */
function reshaped(call: LayerLowering, sizes: readonly Dimension[], argument: string): Tensor | undefined {
  const [input] = call.inputs;
  const shape = input?.shape;
  if (shape !== undefined && !holdsAsMany(shape, sizes)) {
    return call.problem(
      'shape/mismatch',
      `${printShape(input)} has another number of elements than [${sizes.map(printDimension).join(', ')}]`,
      argument,
    );
  }
  const left = sizes.includes(-1);
  const copied = sizes.map((size, axis) => {
    if (typeof size === 'number') return size;
    const same = shape?.[axis];
    return same !== undefined && equalDimensions(same, size) ? 0 : undefined;
  });
  const open = copied.filter((size) => size === undefined).length;
  // One open size that moves is what is left; of several, all but what is left are read from the model's input.
  if (open === 0 || (open === 1 && !left)) {
    return call.emit('Reshape', [input, call.integersConstant(copied.map((size) => size ?? -1))]);
  }
  return call.emit('Reshape', [input, call.sizes(sizes)]);
}

/** Whether the elements fit, as far as numbers tell: in sizes that stay open alike, by what they are multiplied with. */
function holdsAsMany(shape: readonly Dimension[], sizes: readonly Dimension[]): boolean {
  const have = multiple(productOfDimensions(shape));
  const want = multiple(productOfDimensions(sizes.filter((size) => size !== -1)));
  if (have === undefined || want === undefined || have.of !== want.of) return true;
  return sizes.includes(-1) ? want.count > 0 && have.count % want.count === 0 : have.count === want.count;
}

/** `32·batch` as 32 times `batch`; `undefined` for a sum, and for what is unknown. */
function multiple(size: Dimension): { readonly count: number; readonly of: string } | undefined {
  if (typeof size === 'number') return { count: size, of: '' };
  if (!isSymbolic(size)) return undefined;
  const [term, ...others] = size.terms;
  if (term === undefined || others.length > 0) return undefined;
  return { count: term.coefficient, of: term.factors.map(({ text }) => text).join(' ') };
}

const reshape = (name: 'reshape' | 'view'): LayerDefinition => ({
  name,
  kind: 'function',
  documentation: 'The same elements in another shape; -1 stands for what is left.',
  source:
    name === 'reshape'
      ? 'torch.reshape.html'
      : 'https://docs.pytorch.org/docs/stable/generated/torch.Tensor.view.html',
  inputs: { names: ['input'], least: 1 },
  parameters: [dimensions('shape', 'Sizes of the output.', { rest: true })],
  example: { inputs: { x }, call: `${name}(8, 128, 12, 64)` },
  lower: (call) => {
    const sizes = sizesOf(call, 'shape');
    return sizes && reshaped(call, sizes, 'shape');
  },
});

const flatten = (name: 'Flatten' | 'flatten'): LayerDefinition => ({
  name,
  kind: name === 'Flatten' ? 'module' : 'function',
  documentation: 'Joins a range of axes into one.',
  source: name === 'Flatten' ? 'torch.nn.Flatten.html' : 'torch.flatten.html',
  inputs: { names: ['input'], least: 1 },
  parameters: [
    integer('start_dim', 'First axis joined.', { default: name === 'Flatten' ? 1 : 0 }),
    integer('end_dim', 'Last axis joined.', { default: -1 }),
  ],
  example: { inputs: { x: 'float32[8, 16, 32, 32]' }, call: `${name}(1)` },
  lower: (call) => {
    const [input] = call.inputs;
    const shape = input?.shape;
    const [start, end] = [call.integer('start_dim'), call.integer('end_dim')];
    if (start === 1 && (end === -1 || end === (shape?.length ?? 0) - 1)) {
      return call.emit('Flatten', [input], { axis: int(1) });
    }
    if (shape === undefined) return undefined;
    const first = axisAt(start, shape.length);
    const last = axisAt(end, shape.length);
    if (first === undefined || last === undefined || first > last) {
      return call.problem(
        'spec/argument',
        `the input has no axes ${start} to ${end}; it has ${shape.length}`,
        'start_dim',
      );
    }
    const joined = productOfDimensions(shape.slice(first, last + 1));
    const sizes = [...shape.slice(0, first), isSymbolic(joined) ? -1 : joined, ...shape.slice(last + 1)];
    return reshaped(call, sizes, 'start_dim');
  },
});

const unflatten = (name: 'Unflatten' | 'unflatten'): LayerDefinition => {
  const sizes = name === 'Unflatten' ? 'unflattened_size' : 'sizes';
  return {
    name,
    kind: name === 'Unflatten' ? 'module' : 'function',
    documentation: 'Divides an axis into several.',
    source: name === 'Unflatten' ? 'torch.nn.Unflatten.html' : 'torch.unflatten.html',
    inputs: { names: ['input'], least: 1 },
    parameters: [
      integer('dim', 'The axis.'),
      dimensions(sizes, 'Sizes of the new axes; -1 stands for what is left.'),
    ],
    example: { inputs: { x }, call: `${name}(2, (12, 64))` },
    lower: (call) => {
      const shape = call.inputs[0]?.shape;
      const parts = sizesOf(call, sizes);
      if (shape === undefined || parts === undefined) return undefined;
      const axis = axisOf(call, 'dim', shape.length);
      if (axis === undefined) return undefined;
      const size = shape[axis] ?? 1;
      if (!holdsAsMany([size], parts)) {
        return call.problem(
          'shape/mismatch',
          `an axis of ${printDimension(size)} does not divide into ${parts.map(printDimension).join(' × ')}`,
          sizes,
        );
      }
      return reshaped(call, [...shape.slice(0, axis), ...parts, ...shape.slice(axis + 1)], sizes);
    },
  };
};

const squeeze: LayerDefinition = {
  name: 'squeeze',
  kind: 'function',
  documentation: 'Takes out axes of size 1.',
  source: 'torch.squeeze.html',
  inputs: { names: ['input'], least: 1 },
  parameters: [anything('dim', 'Axis or axes; all of size 1 where it is left out.', { default: null })],
  example: { inputs: { x: 'float32[8, 1, 768]' }, call: 'squeeze(1)' },
  lower: (call) => {
    const [input] = call.inputs;
    const shape = input?.shape;
    if (shape === undefined) return undefined;
    const given = call.value('dim');
    const asked =
      given === null
        ? shape.map((_, axis) => axis)
        : listOf(given).map((axis) => (typeof axis === 'number' ? axisAt(axis, shape.length) : undefined));
    if (asked.includes(undefined)) {
      return call.problem('spec/argument', `the input has ${shape.length} axes`, 'dim');
    }
    // As in PyTorch, an axis of another size stays.
    const taken = asked.filter((axis) => axis !== undefined && shape[axis] === 1).map(Number);
    return taken.length === 0
      ? call.emit('Identity', [input])
      : call.emit('Squeeze', [input, call.integersConstant(taken)]);
  },
};

const unsqueeze: LayerDefinition = {
  name: 'unsqueeze',
  kind: 'function',
  documentation: 'Inserts an axis of size 1.',
  source: 'torch.unsqueeze.html',
  inputs: { names: ['input'], least: 1 },
  parameters: [integer('dim', 'Where it stands in the output.')],
  example: { inputs: { x }, call: 'unsqueeze(1)' },
  lower: (call) => {
    const axis = axisOf(call, 'dim', call.inputs[0]?.shape?.length ?? 0, 1);
    return axis === undefined
      ? undefined
      : call.emit('Unsqueeze', [call.inputs[0], call.integersConstant([axis])]);
  },
};

const expand: LayerDefinition = {
  name: 'expand',
  kind: 'function',
  documentation: 'Repeats axes of size 1 without a copy; -1 keeps a size, new axes stand in front.',
  source: 'https://docs.pytorch.org/docs/stable/generated/torch.Tensor.expand.html',
  inputs: { names: ['input'], least: 1 },
  parameters: [dimensions('sizes', 'Sizes of the output.', { rest: true })],
  example: { inputs: { x: 'float32[1, 1, 768]' }, call: 'expand(8, -1, -1)' },
  lower: (call) => {
    const [input] = call.inputs;
    const shape = input?.shape;
    const sizes = listOf(call.value('sizes')).filter(isDimension);
    if (shape === undefined) return undefined;
    const wanted: Dimension[] = [];
    for (const [axis, size] of sizes.entries()) {
      const own = shape[axis - (sizes.length - shape.length)];
      if (
        size !== -1 &&
        own !== undefined &&
        own !== 1 &&
        !equalDimensions(own, size) &&
        typeof own === 'number'
      ) {
        return call.problem(
          'shape/mismatch',
          `axis ${axis} is ${own}, and only 1 expands to ${printDimension(size)} (the input is ${printShape(input)})`,
          'sizes',
        );
      }
      wanted.push(size === -1 || (own !== undefined && equalDimensions(own, size)) ? 1 : size);
    }
    if (sizes.length < shape.length) {
      return call.problem(
        'spec/argument',
        `the input has ${shape.length} axes, more than ${sizes.length} sizes`,
        'sizes',
      );
    }
    return call.emit('Expand', [input, call.sizes(wanted)]);
  },
};

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
    const first = axisOf(call, 'dim0', rank);
    const second = axisOf(call, 'dim1', rank);
    if (first === undefined || second === undefined) return undefined;
    const perm = Array.from({ length: rank }, (_, axis) => axis);
    perm[first] = second;
    perm[second] = first;
    return call.emit('Transpose', [call.inputs[0]], { perm: ints(perm) });
  },
};

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
    const axis = axisOf(call, 'dim', shape.length);
    if (axis === undefined) return undefined;
    const times = call.integer('repeats');
    const apart = call.emit('Unsqueeze', [input, call.integersConstant([axis + 1])]);
    const ones = Array.from({ length: shape.length + 1 }, (_, index) => (index === axis + 1 ? times : 1));
    const tiled = call.emit('Tile', [apart, call.integersConstant(ones)]);
    const sizes = shape.map((size, index) => (index < axis ? 0 : index === axis ? -1 : size));
    return call.emit('Reshape', [tiled, call.sizes(sizes)]);
  },
};

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
    const axis = axisOf(call, 'dim', rank, name === 'stack' ? 1 : 0);
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
    const axes = call.integers('dims', listOf(call.value('dims')).length);
    const shifts = call.integers('shifts', axes.length);
    let output = call.inputs[0];
    for (const [index, given] of axes.entries()) {
      const axis = shape && axisAt(given, shape.length);
      if (axis === undefined) {
        return call.problem('spec/argument', `the input has no axis ${given}`, 'dims');
      }
      const size = call.fixed(shape?.[axis]);
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

export const shapeLayers: readonly LayerDefinition[] = [
  reshape('reshape'),
  reshape('view'),
  flatten('Flatten'),
  flatten('flatten'),
  unflatten('Unflatten'),
  unflatten('unflatten'),
  squeeze,
  unsqueeze,
  expand,
  permute,
  transpose,
  repeat('tile'),
  repeat('repeat'),
  repeatInterleave,
  concatenation('cat'),
  concatenation('concat'),
  concatenation('stack'),
  flip,
  roll,
];
