/** Parts of tensors, by range or by index. */

import { printDimension } from '../../../model/dimension.ts';
import { int, type LayerDefinition, type LayerLowering, type Tensor } from '../layerDefinition.ts';
import { axisOf } from './axisOf.ts';
import { anything, axisAt, integer, listOf, number, numbersOf } from './parameters.ts';

const x = 'float32[8, 128, 768]';
const whichAxis = integer('dim', 'The axis.');

/** Elements `start` to `end` of an axis. */
function sliced(call: LayerLowering, axis: number, start: number, end: number, step = 1): Tensor {
  const one = (value: number) => call.integersConstant([value]);
  return call.emit('Slice', [call.inputs[0], one(start), one(end), one(axis), one(step)]);
}

const select: LayerDefinition = {
  name: 'select',
  kind: 'function',
  documentation: 'One position of an axis, which is dropped: `x[:, 0]` is `select(x, 1, 0)`.',
  source: 'torch.select.html',
  inputs: { names: ['input'], least: 1 },
  parameters: [whichAxis, integer('index', 'The position.')],
  example: { inputs: { x }, call: 'select(1, 0)' },
  lower: (call) => {
    const axis = axisOf(call);
    if (axis === undefined) return undefined;
    const size = call.inputs[0]?.shape?.[axis];
    const index = call.integer('index');
    if (typeof size === 'number' && axisAt(index, size) === undefined) {
      return call.problem(
        'shape/mismatch',
        `axis ${axis} has ${size} positions, none of them ${index}`,
        'index',
      );
    }
    return call.emit('Gather', [call.inputs[0], call.scalarConstant(index, 'int64')], { axis: int(axis) });
  },
};

const narrow: LayerDefinition = {
  name: 'narrow',
  kind: 'function',
  documentation: 'A range of an axis.',
  source: 'torch.narrow.html',
  inputs: { names: ['input'], least: 1 },
  parameters: [
    whichAxis,
    integer('start', 'Its first position.'),
    integer('length', 'Its length.', { least: 0 }),
  ],
  example: { inputs: { x }, call: 'narrow(1, 0, 64)' },
  lower: (call) => {
    const axis = axisOf(call);
    if (axis === undefined) return undefined;
    const size = call.inputs[0]?.shape?.[axis];
    const given = call.integer('start');
    const start = given < 0 && typeof size === 'number' ? given + size : given;
    const end = start + call.integer('length');
    if (typeof size === 'number' && (start < 0 || end > size)) {
      return call.problem(
        'shape/mismatch',
        `axis ${axis} has ${size} positions, not ${start} to ${end}`,
        'length',
      );
    }
    return sliced(call, axis, start, end);
  },
};

const slice: LayerDefinition = {
  name: 'slice',
  kind: 'function',
  documentation: 'A range of an axis as Python slices it: `x[:, 1:, :]` is `slice(x, 1, 1)`.',
  source: 'torch.narrow.html',
  inputs: { names: ['input'], least: 1 },
  parameters: [
    { ...whichAxis, beyond: true },
    integer('start', 'First position.', { default: 0, beyond: true }),
    integer('end', 'Position behind the last; the end where it is left out.', {
      default: null,
      beyond: true,
    }),
    integer('step', 'Distance between positions.', { default: 1, least: 1, beyond: true }),
  ],
  example: { inputs: { x }, call: 'slice(1, 1)' },
  lower: (call) => {
    const axis = axisOf(call);
    if (axis === undefined) return undefined;
    const end = call.optionalInteger('end') ?? 2 ** 31;
    return sliced(call, axis, call.integer('start'), end, call.integer('step'));
  },
};

const split: LayerDefinition = {
  name: 'split',
  kind: 'function',
  documentation: 'Consecutive parts of an axis: of one size, or of several.',
  source: 'torch.split.html',
  inputs: { names: ['tensor'], least: 1 },
  parameters: [
    anything('split_size_or_sections', 'Size of a part, or a tuple of sizes.'),
    integer('dim', 'The axis.', { default: 0 }),
  ],
  example: { inputs: { x }, call: 'split(256, dim=-1)' },
  lower: (call) => {
    const axis = axisOf(call);
    if (axis === undefined) return undefined;
    const given = call.value('split_size_or_sections');
    const sizes = numbersOf(given);
    const argument = 'split_size_or_sections';
    const isList = Array.isArray(given);
    const wrong = sizes.find((size) => !Number.isInteger(size) || size < (isList ? 0 : 1));
    if (sizes.length === 0 || sizes.length < listOf(given).length || wrong !== undefined) {
      const what = `\`${argument}\` is a whole number from 1, or a tuple of sizes from 0`;
      return call.problem('spec/argument', wrong === undefined ? what : `${what}, not ${wrong}`, argument);
    }
    const total = call.fixed(call.inputs[0]?.shape?.[axis]);
    if (total === undefined) return undefined;
    if (!isList) return parts(call, axis, partsOf(total, sizes[0] ?? total, call));
    const sum = sizes.reduce((a, b) => a + b, 0);
    if (sum !== total) {
      return call.problem(
        'shape/mismatch',
        `the parts are ${sum} in all, but axis ${axis} is ${total}`,
        argument,
      );
    }
    return parts(call, axis, sizes);
  },
};

/** More parts than this are a slip of the hand; each is an output. */
const mostParts = 1024;

function partsOf(total: number, size: number, call: LayerLowering): readonly number[] {
  const count = Math.max(1, Math.ceil(total / Math.max(1, size)));
  if (count > mostParts) {
    call.problem('spec/argument', `an axis of ${total} has more than ${mostParts} parts of ${size}`);
    return [total];
  }
  return Array.from({ length: count }, (_, index) => Math.min(size, total - index * size));
}

function parts(call: LayerLowering, axis: number, sizes: readonly number[]): readonly Tensor[] {
  if (sizes.length === 1) return [call.emit('Identity', [call.inputs[0]])];
  const given = call.integersConstant(sizes);
  return call.emitMany('Split', [call.inputs[0], given], sizes.length, { axis: int(axis) });
}

const chunk: LayerDefinition = {
  name: 'chunk',
  kind: 'function',
  documentation: 'Consecutive parts of an axis, as many as asked, of the same size but for the last.',
  source: 'torch.chunk.html',
  inputs: { names: ['input'], least: 1 },
  parameters: [
    integer('chunks', 'How many.', { least: 1, most: mostParts }),
    integer('dim', 'The axis.', { default: 0 }),
  ],
  example: { inputs: { x }, call: 'chunk(3, dim=-1)' },
  lower: (call) => {
    const axis = axisOf(call);
    const total = axis === undefined ? undefined : call.fixed(call.inputs[0]?.shape?.[axis]);
    if (axis === undefined || total === undefined) return undefined;
    return parts(call, axis, partsOf(total, Math.ceil(total / call.integer('chunks')), call));
  },
};

const unbind: LayerDefinition = {
  name: 'unbind',
  kind: 'function',
  documentation: 'Every position of an axis as a tensor of its own.',
  source: 'torch.unbind.html',
  inputs: { names: ['input'], least: 1 },
  parameters: [integer('dim', 'The axis.', { default: 0 })],
  example: { inputs: { x: 'float32[3, 8, 128, 64]' }, call: 'unbind()' },
  lower: (call) => {
    const axis = axisOf(call);
    const total = axis === undefined ? undefined : call.fixed(call.inputs[0]?.shape?.[axis]);
    if (axis === undefined || total === undefined) return undefined;
    const place = call.integersConstant([axis]);
    return parts(call, axis, partsOf(total, 1, call)).map((part) => call.emit('Squeeze', [part, place]));
  },
};

const gather: LayerDefinition = {
  name: 'gather',
  kind: 'function',
  documentation: 'One element per index along an axis.',
  source: 'torch.gather.html',
  inputs: { names: ['input', 'index'], least: 2 },
  parameters: [whichAxis],
  example: { inputs: { x, index: 'int64[8, 16, 768]' }, call: 'gather(x, 1, index)' },
  lower: (call) => {
    const axis = axisOf(call);
    if (axis === undefined) return undefined;
    return call.emit('GatherElements', [call.inputs[0], call.input('index')], { axis: int(axis) });
  },
};

const scatter: LayerDefinition = {
  name: 'scatter',
  kind: 'function',
  documentation: 'The input with other elements at the indices along an axis: those of `src`, or one value.',
  source: 'torch.scatter.html',
  inputs: { names: ['input', 'index', 'src'], least: 2 },
  parameters: [whichAxis, number('value', 'What is written where there is no `src`.', { default: null })],
  example: { inputs: { x, index: 'int64[8, 16, 768]' }, call: 'scatter(x, 1, index, value=0)' },
  lower: (call) => {
    const axis = axisOf(call);
    const [input] = call.inputs;
    const [index, source] = [call.input('index'), call.input('src')];
    if (axis === undefined || index?.shape === undefined) return undefined;
    const value = call.value('value');
    const written =
      source === undefined && typeof value === 'number'
        ? call.emit('Expand', [
            call.scalarConstant(value, input?.elementType ?? 'float32'),
            call.sizes(index.shape),
          ])
        : source;
    if (written === undefined || (source !== undefined && value !== null))
      return call.problem('spec/argument', 'one of `src` and `value` says what is written', 'value');
    return call.emit('ScatterElements', [input, index, written], { axis: int(axis) });
  },
};

const indexSelect: LayerDefinition = {
  name: 'index_select',
  kind: 'function',
  documentation: 'Entries of an axis at given indices.',
  source: 'torch.index_select.html',
  inputs: { names: ['input', 'index'], least: 2 },
  parameters: [whichAxis],
  example: { inputs: { x, index: 'int64[16]' }, call: 'index_select(x, 1, index)' },
  lower: (call) => {
    const axis = axisOf(call);
    const index = call.input('index');
    if (axis === undefined) return undefined;
    if (index?.shape !== undefined && index.shape.length > 1) {
      return call.problem(
        'shape/mismatch',
        `the index has one axis, not ${index.shape.map(printDimension).join(' × ')}`,
      );
    }
    return call.emit('Gather', [call.inputs[0], index], { axis: int(axis) });
  },
};

const oneHot: LayerDefinition = {
  name: 'one_hot',
  kind: 'function',
  documentation: 'A new last axis with 1 at the index and 0 elsewhere.',
  source: 'torch.nn.functional.one_hot.html',
  inputs: { names: ['tensor'], least: 1 },
  parameters: [integer('num_classes', 'Size of the new axis.', { least: 1 })],
  example: { inputs: { labels: 'int64[8, 128]' }, call: 'one_hot(10)' },
  lower: (call) =>
    call.emit('OneHot', [
      call.inputs[0],
      call.integersConstant([call.integer('num_classes')]),
      call.vectorConstant([0, 1], 'int64'),
    ]),
};

const triangle = (name: 'tril' | 'triu'): LayerDefinition => ({
  name,
  kind: 'function',
  documentation: `${name === 'tril' ? 'Lower' : 'Upper'} triangle of matrices, 0 elsewhere.`,
  source: `torch.${name}.html`,
  inputs: { names: ['input'], least: 1 },
  parameters: [integer('diagonal', 'Which diagonal bounds it.', { default: 0 })],
  example: { inputs: { x: 'float32[8, 128, 128]' }, call: `${name}()` },
  lower: (call) =>
    call.emit('Trilu', [call.inputs[0], call.scalarConstant(call.integer('diagonal'), 'int64')], {
      upper: int(name === 'triu' ? 1 : 0),
    }),
});

export const indexingLayers = [
  select,
  narrow,
  slice,
  split,
  chunk,
  unbind,
  gather,
  scatter,
  indexSelect,
  oneHot,
  triangle('tril'),
  triangle('triu'),
];
