/** Matrix products with weights, and lookups in them. */

import { int, ints, type LayerDefinition, type LayerLowering, type Tensor } from '../layerDefinition.ts';

const linear: LayerDefinition = {
  name: 'Linear',
  kind: 'module',
  documentation: 'Affine map of the last axis: y = x·Wᵀ + b.',
  source: 'torch.nn.Linear.html',
  inputs: { names: ['input'], least: 1 },
  parameters: [
    {
      name: 'in_features',
      type: 'integer',
      follows: true,
      documentation: 'Size of the last axis of the input.',
    },
    { name: 'out_features', type: 'integer', documentation: 'Size of the last axis of the output.' },
    { name: 'bias', type: 'boolean', default: true, documentation: 'Whether b is added.' },
    {
      name: 'weight',
      type: 'layer',
      default: null,
      documentation:
        'Layer whose weight is used instead of an own one (weight tying); not an argument of PyTorch.',
    },
  ],
  lower: (call) => {
    const [input] = call.inputs;
    const inFeatures = call.size('in_features', input?.shape?.at(-1), 'the last axis of the input');
    if (inFeatures === undefined || input === undefined) return undefined;
    const outFeatures = call.integer('out_features');
    const tied = call.given('weight') ? call.tied('weight', 'weight') : undefined;
    const own = tied === undefined ? call.parameter('weight', [outFeatures, inFeatures]) : tied;
    if (tied?.shape !== undefined && (tied.shape[0] !== outFeatures || tied.shape[1] !== inFeatures)) {
      return call.problem(
        'shape/mismatch',
        `the tied weight is ${tied.shape.join(' × ')}, but this layer needs ${outFeatures} × ${inFeatures}`,
        'weight',
      );
    }
    return project(
      call,
      input,
      own,
      call.boolean('bias') ? call.parameter('bias', [outFeatures]) : undefined,
    );
  },
};

/** x·Wᵀ + b with W of shape [out, in], as PyTorch stores it and its exporter writes it. */
export function project(
  call: LayerLowering,
  input: Tensor,
  weight: Tensor,
  bias: Tensor | undefined,
): Tensor {
  if (input.shape?.length === 2) {
    return call.emit('Gemm', bias === undefined ? [input, weight] : [input, weight, bias], {
      transB: int(1),
    });
  }
  const transposed = call.emit('Transpose', [weight], { perm: ints([1, 0]) });
  const product = call.emit('MatMul', [input, transposed]);
  return bias === undefined ? product : call.emit('Add', [product, bias]);
}

const embedding: LayerDefinition = {
  name: 'Embedding',
  kind: 'module',
  documentation: 'Looks up one row of a table for every index.',
  source: 'torch.nn.Embedding.html',
  inputs: { names: ['input'], least: 1 },
  parameters: [
    { name: 'num_embeddings', type: 'integer', documentation: 'Rows of the table.' },
    { name: 'embedding_dim', type: 'integer', documentation: 'Length of a row.' },
    { name: 'padding_idx', type: 'integer', default: null, documentation: 'Row that is not trained.' },
  ],
  lower: (call) => {
    const [input] = call.inputs;
    const rows = call.integer('num_embeddings');
    const width = call.integer('embedding_dim');
    return call.emit('Gather', [call.parameter('weight', [rows, width]), input], { axis: int(0) });
  },
};

const parameter: LayerDefinition = {
  name: 'Parameter',
  kind: 'module',
  documentation: 'A trained tensor by itself, such as learned positions or a class token; takes no input.',
  source: 'torch.nn.parameter.Parameter.html',
  inputs: { names: [], least: 0 },
  parameters: [{ name: 'shape', type: 'dimensions', rest: true, documentation: 'Sizes of the tensor.' }],
  lower: (call) => {
    const value = call.value('shape');
    const sizes = (Array.isArray(value) ? value : [value]).map((size) =>
      typeof size === 'number' ? size : undefined,
    );
    if (sizes.length === 0 || sizes.some((size) => size === undefined || size < 1)) {
      return call.problem('spec/argument', 'the sizes of a parameter are numbers above 0', 'shape');
    }
    return call.emit('Identity', [call.parameter('weight', sizes.map(Number))]);
  },
};

export const linearLayers = [linear, embedding, parameter];
