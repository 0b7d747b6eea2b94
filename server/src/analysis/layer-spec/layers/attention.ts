/** Attention, as a layer with its projections and as a function. */

import {
  float,
  int,
  ints,
  type LayerDefinition,
  type LayerLowering,
  type Tensor,
} from '../layerDefinition.ts';
import { project } from './linear.ts';

const multiheadAttention: LayerDefinition = {
  name: 'MultiheadAttention',
  kind: 'module',
  documentation:
    'Multi-head attention on [batch, sequence, embed_dim] with its input and output projections; self-attention from one source, query and memory from two, query, key and value from three.',
  source: 'torch.nn.MultiheadAttention.html',
  inputs: { names: ['query', 'key', 'value'], least: 1 },
  parameters: [
    {
      name: 'embed_dim',
      type: 'integer',
      follows: true,
      documentation: 'Size of the last axis of the query.',
    },
    { name: 'num_heads', type: 'integer', documentation: 'Heads the query is divided into.' },
    {
      name: 'dropout',
      type: 'number',
      default: 0,
      documentation: 'Probability of a weight to be zeroed; part of the kernel where attention is fused.',
    },
    { name: 'bias', type: 'boolean', default: true, documentation: 'Whether the projections add a bias.' },
    { name: 'add_bias_kv', type: 'boolean', default: false, documentation: 'Not supported.' },
    { name: 'add_zero_attn', type: 'boolean', default: false, documentation: 'Not supported.' },
    { name: 'kdim', type: 'integer', default: null, documentation: 'Size of the last axis of the key.' },
    { name: 'vdim', type: 'integer', default: null, documentation: 'Size of the last axis of the value.' },
    {
      name: 'batch_first',
      type: 'boolean',
      default: true,
      documentation: 'Always True here: the first axis is the batch.',
    },
    {
      name: 'causal',
      type: 'boolean',
      default: false,
      documentation: 'Whether a position sees only those before it; beyond PyTorch.',
    },
    {
      name: 'num_kv_heads',
      type: 'integer',
      default: null,
      documentation: 'Key and value heads, fewer for grouped-query attention; beyond PyTorch.',
    },
    {
      name: 'head_dim',
      type: 'integer',
      default: null,
      documentation: 'Size of a head; embed_dim / num_heads where it is left out; beyond PyTorch.',
    },
    {
      name: 'fused',
      type: 'boolean',
      default: true,
      documentation:
        'Whether attention runs as one kernel that stores no scores, as PyTorch runs it; False writes it out, as exporters do; beyond PyTorch.',
    },
    {
      name: 'rotary',
      type: 'boolean',
      default: false,
      documentation: 'Whether query and key are rotated by position (RoPE); beyond PyTorch.',
    },
  ],
  lower: (call) => {
    const [query, second, third] = call.inputs;
    if (query === undefined) return undefined;
    if (query.shape !== undefined && query.shape.length !== 3) {
      return call.problem(
        'shape/mismatch',
        `the input needs 3 axes, [batch, sequence, embed_dim], but has ${query.shape.length}`,
      );
    }
    const width = call.size('embed_dim', query.shape?.at(-1), 'the last axis of the query');
    if (width === undefined) return undefined;
    const heads = call.integer('num_heads');
    const headSize = call.optionalInteger('head_dim') ?? width / heads;
    if (heads < 1 || !Number.isInteger(headSize)) {
      return call.problem('shape/mismatch', `${width} does not divide into ${heads} heads`, 'num_heads');
    }
    const groups = call.optionalInteger('num_kv_heads') ?? heads;
    if (groups < 1 || heads % groups !== 0) {
      return call.problem(
        'shape/mismatch',
        `${heads} heads do not share ${groups} key and value heads evenly`,
        'num_kv_heads',
      );
    }
    const key = second ?? query;
    const value = third ?? key;
    const projected = projections(call, { query, key, value, width, heads, groups, headSize });
    const rotated = call.boolean('rotary')
      ? [rotate(call, projected.query, heads, headSize), rotate(call, projected.key, groups, headSize)]
      : [projected.query, projected.key];
    const [rotatedQuery = projected.query, rotatedKey = projected.key] = rotated;
    const attend = call.boolean('fused') ? fusedAttention : writtenOutAttention;
    const attended = attend(call, {
      ...projected,
      query: rotatedQuery,
      key: rotatedKey,
      width,
      heads,
      groups,
      headSize,
    });
    const weight = call.parameter('out_proj.weight', [width, heads * headSize]);
    return project(
      call,
      attended,
      weight,
      call.boolean('bias') ? call.parameter('out_proj.bias', [width]) : undefined,
    );
  },
};

/** One kernel that never stores the scores, as PyTorch runs it (FlashAttention, Dao et al. 2022). */
function fusedAttention(call: LayerLowering, of: Attended): Tensor {
  return call.emit('Attention', [of.query, of.key, of.value], {
    q_num_heads: int(of.heads),
    kv_num_heads: int(of.groups),
    is_causal: int(call.boolean('causal') ? 1 : 0),
  });
}

/** Scores, softmax and weighted sum as operators of their own, as exporters write attention. */
function writtenOutAttention(call: LayerLowering, of: Attended): Tensor {
  const inHeads = (input: Tensor, heads: number, order: readonly number[]) => {
    const split = call.emit('Reshape', [input, call.integersConstant([0, 0, heads, of.headSize])]);
    return call.emit('Transpose', [split], { perm: ints(order) });
  };
  const query = inHeads(of.query, of.heads, [0, 2, 1, 3]);
  const keys = inHeads(of.key, of.groups, [0, 2, 1, 3]);
  const values = inHeads(of.value, of.groups, [0, 2, 1, 3]);
  const turned = call.emit('Transpose', [repeatGroups(call, keys, of)], { perm: ints([0, 1, 3, 2]) });
  const scale = call.scalarConstant(1 / Math.sqrt(of.headSize), 'float32');
  let scores = call.emit('Mul', [call.emit('MatMul', [query, turned]), scale]);
  if (call.boolean('causal')) {
    const lengths = [query.shape?.[2], keys.shape?.[2]].map((length) => call.fixed(length) ?? 1);
    scores = call.emit('Add', [scores, call.buffer('causal_mask', lengths)]);
  }
  let weights = call.emit('Softmax', [scores], { axis: int(-1) });
  const p = call.number('dropout');
  if (p > 0) {
    const ratio = call.scalarConstant(p, 'float32');
    weights = call.emit('Dropout', [weights, ratio, call.scalarConstant(1, 'bool')]);
  }
  const summed = call.emit('MatMul', [weights, repeatGroups(call, values, of)]);
  const joined = call.emit('Transpose', [summed], { perm: ints([0, 2, 1, 3]) });
  return call.emit('Reshape', [joined, call.integersConstant([0, 0, of.heads * of.headSize])]);
}

/** Key and value heads repeated for every query head that shares them. */
function repeatGroups(call: LayerLowering, input: Tensor, of: Attended): Tensor {
  if (of.groups === of.heads) return input;
  const apart = call.emit('Unsqueeze', [input, call.integersConstant([2])]);
  const times = call.integersConstant([1, 1, of.heads / of.groups, 1, 1]);
  const repeated = call.emit('Expand', [apart, times]);
  return call.emit('Reshape', [repeated, call.integersConstant([0, of.heads, -1, of.headSize])]);
}

interface Attended {
  readonly query: Tensor;
  readonly key: Tensor;
  readonly value: Tensor;
  readonly width: number;
  readonly heads: number;
  readonly groups: number;
  readonly headSize: number;
}

/** Query, key and value projections: one product for plain self-attention, as PyTorch packs them, else three. */
function projections(call: LayerLowering, of: Attended): { query: Tensor; key: Tensor; value: Tensor } {
  const inner = of.heads * of.headSize;
  const grouped = of.groups * of.headSize;
  const bias = (name: string, size: number) =>
    call.boolean('bias') ? call.parameter(name, [size]) : undefined;
  if (of.query.name === of.key.name && of.key.name === of.value.name && of.groups === of.heads) {
    const weight = call.parameter('in_proj_weight', [3 * inner, of.width]);
    const packed = project(call, of.query, weight, bias('in_proj_bias', 3 * inner));
    const sizes = call.integersConstant([inner, inner, inner]);
    const [query, key, value] = call.emitMany('Split', [packed, sizes], 3, { axis: int(-1) });
    if (query !== undefined && key !== undefined && value !== undefined) return { query, key, value };
  }
  const projection = (name: string, input: Tensor, size: number, given: string | undefined) => {
    const last = input.shape?.at(-1);
    const asked = given === undefined ? undefined : call.size(given, last, `the last axis of the ${name}`);
    const from = asked ?? call.fixed(last) ?? of.width;
    return project(
      call,
      input,
      call.parameter(`${name}_proj.weight`, [size, from]),
      bias(`${name}_proj.bias`, size),
    );
  };
  return {
    query: projection('q', of.query, inner, undefined),
    key: projection('k', of.key, grouped, call.given('kdim') ? 'kdim' : undefined),
    value: projection('v', of.value, grouped, call.given('vdim') ? 'vdim' : undefined),
  };
}

/**
 * Rotary position embedding (Su et al. 2021, eq. 34), with the halves rotated as Llama does: x·cos + rotate(x)·sin.
 * Works on [batch, sequence, heads·head], so that no axis moves.
 */
function rotate(call: LayerLowering, input: Tensor, heads: number, headSize: number): Tensor {
  const length = call.fixed(input.shape?.[1]) ?? 1;
  const split = call.emit('Reshape', [input, call.integersConstant([0, 0, heads, headSize])]);
  const half = Math.floor(headSize / 2);
  const sizes = call.integersConstant([half, headSize - half]);
  const [first, last] = call.emitMany('Split', [split, sizes], 2, { axis: int(-1) });
  const turned = call.emit('Concat', [call.emit('Neg', [last]), first], { axis: int(-1) });
  const table = (name: string) => call.buffer(name, [length, 1, headSize]);
  const sum = call.emit('Add', [
    call.emit('Mul', [split, table('cos')]),
    call.emit('Mul', [turned, table('sin')]),
  ]);
  return call.emit('Reshape', [sum, call.integersConstant([0, 0, heads * headSize])]);
}

const scaledDotProductAttention: LayerDefinition = {
  name: 'scaled_dot_product_attention',
  kind: 'function',
  documentation: 'softmax(Q·Kᵀ·scale)·V on [batch, heads, sequence, head] tensors, in one fused kernel.',
  source: 'torch.nn.functional.scaled_dot_product_attention.html',
  inputs: { names: ['query', 'key', 'value', 'attn_mask'], least: 3 },
  parameters: [
    { name: 'dropout_p', type: 'number', default: 0, documentation: 'Fused; does not change the cost.' },
    {
      name: 'is_causal',
      type: 'boolean',
      default: false,
      documentation: 'Whether a position sees only those before it.',
    },
    {
      name: 'scale',
      type: 'number',
      default: null,
      documentation: 'Factor of Q·Kᵀ; 1/√head where it is left out.',
    },
    {
      name: 'enable_gqa',
      type: 'boolean',
      default: false,
      documentation: 'Whether key and value may have fewer heads.',
    },
  ],
  lower: (call) =>
    call.emit('Attention', [...call.inputs], {
      is_causal: int(call.boolean('is_causal') ? 1 : 0),
      ...(call.value('scale') === null ? {} : { scale: float(call.number('scale')) }),
    }),
};

export const attentionLayers = [multiheadAttention, scaledDotProductAttention];
