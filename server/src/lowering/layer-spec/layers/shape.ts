/** The same elements in another shape. */

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
  type LayerDefinition,
  type LayerLowering,
  type SpecValue,
  type Tensor,
} from '../layerDefinition.ts';
import { printShape } from '../printShape.ts';
import { axisOf } from './axisOf.ts';
import { anything, axisAt, dimensions, integer, listOf } from './parameters.ts';

const x = 'float32[8, 128, 768]';

const isDimension = (value: SpecValue): value is number | SymbolicDimension =>
  typeof value === 'number' || (typeof value === 'object' && value !== null && 'kind' in value);

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
      const axis = axisOf(call);
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
    const axis = axisOf(call, 'dim', 1);
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
];
