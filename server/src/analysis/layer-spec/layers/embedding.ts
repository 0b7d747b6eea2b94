/** Lookups in trained tables. */

import { int, type LayerDefinition, type ParameterDefinition } from '../layerDefinition.ts';
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
const sparse = flag('sparse', false, 'Whether the gradient is sparse; costed as dense.');

const embedding: LayerDefinition = {
  name: 'Embedding',
  kind: 'module',
  documentation: 'Looks up one row of a table for every index.',
  source: 'torch.nn.Embedding.html',
  inputs: { names: ['input'], least: 1 },
  parameters: [...table, paddingIndex, ...renormalization, sparse, tiedWeight],
  work: 'rows·length parameters, and no FLOPs; the gradient is as large as the table.',
  example: { inputs: { tokens: 'int64[8, 128]' }, call: 'Embedding(50257, 768)' },
  lower: (call) => {
    const shape = [call.integer('num_embeddings'), call.integer('embedding_dim')];
    const weight = ownOrTied(call, shape);
    return weight && call.emit('Gather', [weight, call.inputs[0]], { axis: int(0) });
  },
};

const reductions = { sum: 'ReduceSum', mean: 'ReduceMean', max: 'ReduceMax' } as const;

const embeddingBag: LayerDefinition = {
  name: 'EmbeddingBag',
  kind: 'module',
  documentation:
    'Looks up the rows of every bag of indices and adds them up, or takes their mean or maximum.',
  source: 'torch.nn.EmbeddingBag.html',
  inputs: { names: ['input'], least: 1 },
  parameters: [
    ...table,
    ...renormalization,
    choice('mode', ['sum', 'mean', 'max'], 'mean', 'How the rows of a bag are joined.'),
    sparse,
    flag('include_last_offset', false, 'Does not change the cost.'),
    paddingIndex,
    tiedWeight,
  ],
  work: 'rows·length parameters, and no FLOPs. A bag is a row of a [bags, length] input; offsets are not read.',
  example: { inputs: { ids: 'int64[256, 20]' }, call: "EmbeddingBag(10000, 64, mode='sum')" },
  lower: (call) => {
    const shape = [call.integer('num_embeddings'), call.integer('embedding_dim')];
    const rank = call.inputs[0]?.shape?.length;
    if (rank !== undefined && rank !== 2) {
      return call.problem(
        'shape/mismatch',
        `the input needs 2 axes, [bags, length], but has ${rank}; write bags of one length instead of offsets`,
      );
    }
    const weight = ownOrTied(call, shape);
    if (weight === undefined) return undefined;
    const rows = call.emit('Gather', [weight, call.inputs[0]], { axis: int(0) });
    const mode = call.string('mode');
    const reduction = mode === 'sum' || mode === 'max' ? reductions[mode] : reductions.mean;
    return call.emit(reduction, [rows, call.integersConstant([1])], { keepdims: int(0) });
  },
};

export const embeddingLayers = [embedding, embeddingBag];
