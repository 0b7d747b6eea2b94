/** Lookups in trained tables. */

import { isFloatingPoint } from '../../../model/elementType.ts';
import {
  int,
  type LayerDefinition,
  type LayerLowering,
  type ParameterDefinition,
  type Tensor,
  text,
} from '../layerDefinition.ts';
import { printShape } from '../printShape.ts';
import { ownOrTied } from './linear.ts';
import { choice, flag, integer, number, tiedWeight } from './parameters.ts';

const table: readonly ParameterDefinition[] = [
  integer('num_embeddings', 'Rows of the table.', { least: 1 }),
  integer('embedding_dim', 'Length of a row.', { least: 1 }),
];
const paddingIndex = integer('padding_idx', 'Row that is not trained.', { default: null });
const renormalization: readonly ParameterDefinition[] = [
  number('max_norm', 'Norm above which a row is scaled down; not costed.', { default: null }),
  number('norm_type', 'Exponent of that norm.', { default: 2 }),
  flag('scale_grad_by_freq', false, 'Does not change the cost.'),
];
const sparse = flag('sparse', false, 'Whether the gradient holds only the rows that were looked up.');

const embedding: LayerDefinition = {
  name: 'Embedding',
  kind: 'module',
  documentation: 'Looks up one row of a table for every index.',
  source: 'torch.nn.Embedding.html',
  inputs: { names: ['input'], least: 1 },
  parameters: [...table, paddingIndex, ...renormalization, sparse, tiedWeight],
  work: 'rows·length parameters, and no FLOPs; the gradient is as large as the table, with `sparse=True` as large as the rows looked up.',
  example: { inputs: { tokens: 'int64[8, 128]' }, call: 'Embedding(50257, 768)' },
  lower: (call) => {
    if (!areIndices(call)) return undefined;
    const shape = [call.integer('num_embeddings'), call.integer('embedding_dim')];
    const weight = ownOrTied(call, shape);
    return weight && call.emit('Gather', [weight, call.inputs[0]], { axis: int(0) });
  },
};

/** PyTorch looks up whole numbers alone. */
function areIndices(call: LayerLowering): boolean {
  const [input] = call.inputs;
  if (input?.elementType === undefined || !isFloatingPoint(input.elementType)) return true;
  const message = `a table is looked up by whole numbers, such as int64, and the input is ${printShape(input)}`;
  call.problem('shape/mismatch', message);
  return false;
}

const reductions = { sum: 'ReduceSum', mean: 'ReduceMean', max: 'ReduceMax' } as const;

const embeddingBag: LayerDefinition = {
  name: 'EmbeddingBag',
  kind: 'module',
  documentation:
    'Looks up the rows of every bag of indices and adds them up, or takes their mean or maximum.',
  source: 'torch.nn.EmbeddingBag.html',
  inputs: { names: ['input', 'offsets'], least: 1 },
  parameters: [
    ...table,
    ...renormalization,
    choice('mode', ['sum', 'mean', 'max'], 'mean', 'How the rows of a bag are joined.'),
    sparse,
    flag('include_last_offset', false, 'Whether the last of the offsets is the number of indices.'),
    paddingIndex,
    tiedWeight,
  ],
  work: 'rows·length parameters, and no FLOPs. A bag is a row of a [bags, length] input, or begins at an offset into a list of indices; then rows are added where they belong by operators of their own, where PyTorch has one kernel.',
  example: { inputs: { ids: 'int64[256, 20]' }, call: "EmbeddingBag(10000, 64, mode='sum')" },
  lower: (call) => {
    if (!areIndices(call)) return undefined;
    const shape = [call.integer('num_embeddings'), call.integer('embedding_dim')];
    const [input, offsets] = call.inputs;
    const rank = input?.shape?.length;
    const wanted = offsets === undefined ? 2 : 1;
    if (rank !== undefined && rank !== wanted) {
      return call.problem(
        'shape/mismatch',
        offsets === undefined
          ? `the input needs 2 axes, [bags, length], but has ${rank}; or name offsets: \`from ids, offsets\``
          : `beside offsets the input needs 1 axis, all indices one after another, but has ${rank}`,
      );
    }
    const weight = ownOrTied(call, shape);
    if (weight === undefined || input === undefined) return undefined;
    const rows = call.emit('Gather', [weight, input], { axis: int(0) });
    const mode = call.string('mode');
    if (offsets !== undefined) return bagsAtOffsets(call, rows, input, offsets, shape[1] ?? 1);
    const reduction = mode === 'sum' || mode === 'max' ? reductions[mode] : reductions.mean;
    return call.emit(reduction, [rows, call.integersConstant([1])], { keepdims: int(0) });
  },
};

/**
 * Rows of bags that begin at offsets: the bag of every index is the count of the bags that begin at it or before it, as
 * PyTorch finds it (aten/src/ATen/native/EmbeddingBag.cpp, make_offset2bag, 2.13).
 */
function bagsAtOffsets(
  call: LayerLowering,
  rows: Tensor,
  input: Tensor,
  given: Tensor,
  width: number,
): Tensor {
  const mode = call.string('mode');
  const [start, end] = [0, -1].map((at) => call.integersConstant([at]));
  const offsets = call.boolean('include_last_offset') ? call.emit('Slice', [given, start, end]) : given;
  const filled = (value: number, type: 'int64' | 'float32', shape: Tensor): Tensor =>
    call.emit('Expand', [call.scalarConstant(value, type), shape]);
  const [indices, bags] = [input, offsets].map((tensor) => call.emit('Shape', [tensor]));
  if (indices === undefined || bags === undefined) return rows;
  const add = { reduction: text('add') };
  const begins = call.emit(
    'ScatterElements',
    [filled(0, 'int64', indices), offsets, filled(1, 'int64', bags)],
    add,
  );
  const counted = call.emit('CumSum', [begins, call.scalarConstant(0, 'int64')]);
  const bag = call.emit('Sub', [counted, call.scalarConstant(1, 'int64')]);
  const place = call.emit('Unsqueeze', [bag, call.integersConstant([1])]);
  const size = call.emit('Concat', [bags, call.integersConstant([width])], { axis: int(0) });
  const joined = call.emit('ScatterND', [filled(0, 'float32', size), place, rows], {
    reduction: text(mode === 'max' ? 'max' : 'add'),
  });
  if (mode !== 'mean') return joined;
  const ones = filled(1, 'float32', indices);
  const lengths = call.emit('ScatterElements', [filled(0, 'float32', bags), bag, ones], add);
  // The mean of no rows is 0.
  const divisor = call.emit('Max', [lengths, call.scalarConstant(1, 'float32')]);
  return call.emit('Div', [joined, call.emit('Unsqueeze', [divisor, call.integersConstant([1])])]);
}

export const embeddingLayers = [embedding, embeddingBag];
