/** Attention, as a layer with its projections and as a function; rotary positions. */

import { elementTypes } from '../../../model/elementType.ts';
import {
  float,
  int,
  ints,
  type LayerDefinition,
  type LayerLowering,
  type ParameterDefinition,
  type Tensor,
} from '../layerDefinition.ts';
import { hasRank } from './inputRank.ts';
import { project } from './linear.ts';
import { choice, flag, followingSize, integer, number } from './parameters.ts';

/** Whether attention is one kernel; shared by the layers that contain attention. */
export const fusedFlag = flag(
  'fused',
  true,
  'Whether attention runs as one kernel that stores no scores, as PyTorch runs it; False writes it out, as exporters do. It wins over the framework option attention.',
  { beyond: true },
);

export const causalFlag = flag('causal', false, 'Whether a position sees only those before it.', {
  beyond: true,
});

const beyondPyTorch: readonly ParameterDefinition[] = [
  causalFlag,
  integer('num_kv_heads', 'Key and value heads, fewer for grouped-query attention.', {
    default: null,
    least: 1,
    beyond: true,
  }),
  integer('head_dim', 'Size of a head; embed_dim / num_heads where it is left out.', {
    default: null,
    least: 1,
    beyond: true,
  }),
  fusedFlag,
  flag('rotary', false, 'Whether query and key are rotated by position (RoPE).', { beyond: true }),
];

const multiheadAttention: LayerDefinition = {
  name: 'MultiheadAttention',
  kind: 'module',
  documentation:
    'Multi-head attention on [batch, sequence, embed_dim] with its input and output projections; self-attention from one source, query and memory from two, query, key and value from three.',
  source: 'torch.nn.MultiheadAttention.html',
  inputs: { names: ['query', 'key', 'value', 'attn_mask'], least: 1 },
  parameters: [
    followingSize('embed_dim', 'Size of the last axis of the query.'),
    integer('num_heads', 'Heads the query is divided into.', { least: 1 }),
    number('dropout', 'Probability of a weight to be zeroed; part of the kernel where attention is fused.', {
      default: 0,
      least: 0,
      most: 1,
    }),
    flag('bias', true, 'Whether the projections add a bias.'),
    flag('add_bias_kv', false, 'Whether a learned row is appended to key and value.'),
    flag('add_zero_attn', false, 'Whether a row of zeros is appended to key and value.'),
    integer('kdim', 'Size of the last axis of the key.', { default: null, least: 1 }),
    integer('vdim', 'Size of the last axis of the value.', { default: null, least: 1 }),
    flag('batch_first', true, 'Whether the first axis is the batch. True here, False in PyTorch.'),
    ...beyondPyTorch,
  ],
  work: '4·d² parameters and 4·d for the biases; 8·d² FLOPs per token for the projections and 4·d per pair of tokens. A causal mask does not reduce FLOPs, as in PyTorch’s count.',
  example: { inputs: { x: 'float32[8, 128, 512]' }, call: 'MultiheadAttention(512, 8)' },
  lower: (call) => {
    const batchFirst = call.boolean('batch_first');
    const form = batchFirst ? '[batch, sequence, embed_dim]' : '[sequence, batch, embed_dim]';
    if (!hasRank(call, [3], form)) return undefined;
    const [query, second, third] = call.inputs.map((tensor) => (batchFirst ? tensor : turned(call, tensor)));
    if (query === undefined) return undefined;
    const width = call.size('embed_dim', query.shape?.at(-1), 'the last axis of the query');
    if (width === undefined) return undefined;
    const heads = call.integer('num_heads');
    const headSize = call.optionalInteger('head_dim') ?? width / heads;
    if (!Number.isInteger(headSize)) {
      return call.problem('shape/mismatch', `${width} does not divide into ${heads} heads`, 'num_heads');
    }
    const groups = call.optionalInteger('num_kv_heads') ?? heads;
    if (heads % groups !== 0) {
      return call.problem(
        'shape/mismatch',
        `${heads} heads do not share ${groups} key and value heads evenly`,
        'num_kv_heads',
      );
    }
    const key = second ?? query;
    const value = third ?? key;
    if (call.given('kdim')) call.size('kdim', key.shape?.at(-1), 'the last axis of the key');
    if (call.given('vdim')) call.size('vdim', value.shape?.at(-1), 'the last axis of the value');
    const output = attend(call, {
      prefix: '',
      query,
      key,
      value,
      mask: call.input('attn_mask'),
      width,
      heads,
      groups,
      headSize,
      bias: call.boolean('bias'),
      causal: call.boolean('causal'),
      fused: call.boolean('fused'),
      rotary: call.boolean('rotary'),
      dropout: call.number('dropout'),
      biasRow: call.boolean('add_bias_kv'),
      zeroRow: call.boolean('add_zero_attn'),
    });
    return batchFirst ? output : turned(call, output);
  },
};

/** [sequence, batch, size] as [batch, sequence, size], and back. */
export const turned = (call: LayerLowering, input: Tensor): Tensor =>
  call.emit('Transpose', [input], { perm: ints([1, 0, 2]) });

export interface Attended {
  /** Begins the names of weights: `self_attn.`. */
  readonly prefix: string;
  readonly query: Tensor;
  readonly key: Tensor;
  readonly value: Tensor;
  readonly mask: Tensor | undefined;
  readonly width: number;
  readonly heads: number;
  readonly groups: number;
  readonly headSize: number;
  readonly bias: boolean;
  readonly causal: boolean;
  readonly fused: boolean;
  readonly rotary: boolean;
  readonly dropout: number;
  /** Whether key and value get one row more at their end: a learned one, one of zeros, or both. */
  readonly biasRow?: boolean;
  readonly zeroRow?: boolean;
}

/** Attention on [batch, sequence, size] with its projections. */
export function attend(call: LayerLowering, of: Attended): Tensor {
  const projected = projections(call, of);
  const rotated = of.rotary
    ? {
        query: rotate(call, projected.query, of.heads, of.headSize),
        key: rotate(call, projected.key, of.groups, of.headSize),
      }
    : {};
  const attended = (of.fused ? fusedAttention : writtenOutAttention)(
    call,
    withRows(call, { ...of, ...projected, ...rotated }),
  );
  const weight = call.parameter(`${of.prefix}out_proj.weight`, [of.width, of.heads * of.headSize]);
  const bias = of.bias ? call.parameter(`${of.prefix}out_proj.bias`, [of.width]) : undefined;
  return project(call, attended, weight, bias);
}

/**
 * Key and value with the rows that PyTorch appends (torch.nn.functional.multi_head_attention_forward, 2.13): first the
 * learned ones `bias_k` and `bias_v`, then zeros. The mask shows them to every position.
 */
function withRows(call: LayerLowering, of: Attended): Attended {
  const rows = (of.biasRow ? 1 : 0) + (of.zeroRow ? 1 : 0);
  if (rows === 0) return of;
  const size = of.groups * of.headSize;
  const append = (to: Tensor, name: string): Tensor => {
    const batch = call.emit('Shape', [to], { start: int(0), end: int(1) });
    const shape = call.emit('Concat', [batch, call.integersConstant([1, size])], { axis: int(0) });
    const row = (from: Tensor): Tensor => call.emit('Expand', [from, shape]);
    return call.emit(
      'Concat',
      [
        to,
        ...(of.biasRow ? [row(call.parameter(`${of.prefix}${name}`, [1, 1, size]))] : []),
        ...(of.zeroRow ? [row(call.scalarConstant(0, 'float32'))] : []),
      ],
      { axis: int(1) },
    );
  };
  const mask =
    of.mask === undefined
      ? undefined
      : call.emit('Pad', [of.mask, call.integersConstant([0, rows]), undefined, call.integersConstant([-1])]);
  return { ...of, key: append(of.key, 'bias_k'), value: append(of.value, 'bias_v'), mask };
}

/** One kernel that never stores the scores, as PyTorch runs it (FlashAttention, Dao et al. 2022). */
function fusedAttention(call: LayerLowering, of: Attended): Tensor {
  const mask = of.mask === undefined ? [] : [of.mask];
  return call.emit('Attention', [of.query, of.key, of.value, ...mask], {
    q_num_heads: int(of.heads),
    kv_num_heads: int(of.groups),
    is_causal: int(of.causal ? 1 : 0),
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
  const transposed = call.emit('Transpose', [repeatGroups(call, keys, of)], { perm: ints([0, 1, 3, 2]) });
  const scale = call.scalarConstant(1 / Math.sqrt(of.headSize), 'float32');
  let scores = call.emit('Mul', [call.emit('MatMul', [query, transposed]), scale]);
  if (of.causal) {
    const lengths = [query.shape?.[2], keys.shape?.[2]].map((length) => call.fixed(length) ?? 1);
    scores = call.emit('Add', [scores, call.buffer(`${of.prefix}causal_mask`, lengths)]);
  }
  if (of.mask !== undefined) scores = call.emit('Add', [scores, of.mask]);
  let weights = call.emit('Softmax', [scores], { axis: int(-1) });
  if (of.dropout > 0) {
    const ratio = call.scalarConstant(of.dropout, 'float32');
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

/** Query, key and value projections: one product for plain self-attention, as PyTorch packs them, else three. */
function projections(call: LayerLowering, of: Attended): Pick<Attended, 'query' | 'key' | 'value'> {
  const inner = of.heads * of.headSize;
  const grouped = of.groups * of.headSize;
  const bias = (name: string, size: number) =>
    of.bias ? call.parameter(`${of.prefix}${name}`, [size]) : undefined;
  if (of.query.name === of.key.name && of.key.name === of.value.name && of.groups === of.heads) {
    const weight = call.parameter(`${of.prefix}in_proj_weight`, [3 * inner, of.width]);
    const packed = project(call, of.query, weight, bias('in_proj_bias', 3 * inner));
    const sizes = call.integersConstant([inner, inner, inner]);
    const [query, key, value] = call.emitMany('Split', [packed, sizes], 3, { axis: int(-1) });
    if (query !== undefined && key !== undefined && value !== undefined) return { query, key, value };
  }
  const projection = (name: string, input: Tensor, size: number) => {
    const from = call.fixed(input.shape?.at(-1)) ?? of.width;
    const weight = call.parameter(`${of.prefix}${name}_proj.weight`, [size, from]);
    return project(call, input, weight, bias(`${name}_proj.bias`, size));
  };
  return {
    query: projection('q', of.query, inner),
    key: projection('k', of.key, grouped),
    value: projection('v', of.value, grouped),
  };
}

/**
 * Rotary position embedding (Su et al. 2021, eq. 34), with the halves rotated as Llama does: x·cos + rotate(x)·sin.
 * Works on [batch, sequence, heads·head], so that no axis moves.
 */
function rotate(call: LayerLowering, input: Tensor, heads: number, headSize: number): Tensor {
  const split = call.emit('Reshape', [input, call.integersConstant([0, 0, heads, headSize])]);
  return call.emit('Reshape', [
    rotateHeads(call, split, headSize),
    call.integersConstant([0, 0, heads * headSize]),
  ]);
}

/** The same on [batch, sequence, heads, head]. `cast`: what is computed in fp32 where the model trains in half precision. */
function rotateHeads(call: LayerLowering, given: Tensor, headSize: number, cast = 'none'): Tensor {
  const inFull = (tensor: Tensor): Tensor =>
    call.emit('Cast', [tensor], { to: int(elementTypes.indexOf('float32')) });
  const input = cast === 'input' ? inFull(given) : given;
  const length = call.fixed(input.shape?.[1]) ?? 1;
  const half = Math.floor(headSize / 2);
  // Slices, whose gradients are each filled up with zeros (transformers 5.18, models/llama/modeling_llama.py, `rotate_half`).
  const part = (from: number, to: number): Tensor =>
    call.emit('Slice', [input, ...[[from], [to], [-1]].map((numbers) => call.integersConstant(numbers))]);
  const [first, last] = [part(0, half), part(half, headSize)];
  const quarter = call.emit('Concat', [call.emit('Neg', [last]), first], { axis: int(-1) });
  const table = (name: string) => call.buffer(name, [length, 1, headSize]);
  const operand = (tensor: Tensor): Tensor => (cast === 'operands' ? inFull(tensor) : tensor);
  const rotated = call.emit('Add', [
    call.emit('Mul', [operand(input), table('cos')]),
    call.emit('Mul', [operand(quarter), table('sin')]),
  ]);
  return cast === 'none' ? rotated : inFull(rotated);
}

const rotaryEmbedding: LayerDefinition = {
  name: 'RotaryPositionalEmbeddings',
  kind: 'module',
  documentation:
    'Rotates pairs of elements of [batch, sequence, heads, head] by an angle that grows with position (RoPE).',
  source:
    'https://docs.pytorch.org/torchtune/stable/generated/torchtune.modules.RotaryPositionalEmbeddings.html',
  inputs: { names: ['input'], least: 1 },
  parameters: [
    followingSize('dim', 'Size of a head.'),
    integer('max_seq_len', 'Does not change the cost.', { default: 4096, least: 1 }),
    integer('base', 'Does not change the cost.', { default: 10000, least: 1 }),
    {
      ...choice(
        'cast',
        ['none', 'input', 'operands'],
        'none',
        'In half precision: what is cast to fp32, and the sum cast back. The input once as in Cohere, what each product reads as in ModernBERT, or nothing as in Llama.',
      ),
      beyond: true,
    },
  ],
  work: 'No parameters, no FLOPs of products; element-wise as PyTorch runs it: two products, a sum, halves swapped.',
  example: { inputs: { x: 'float32[8, 128, 8, 64]' }, call: 'RotaryPositionalEmbeddings(64)' },
  lower: (call) => {
    const [input] = call.inputs;
    if (input === undefined || !hasRank(call, [4], '[batch, sequence, heads, head]')) return undefined;
    const size = call.size('dim', input.shape?.at(-1), 'the last axis of the input');
    return size === undefined ? undefined : rotateHeads(call, input, size, call.string('cast'));
  },
};

const scaledDotProductAttention: LayerDefinition = {
  name: 'scaled_dot_product_attention',
  kind: 'function',
  documentation: 'softmax(Q·Kᵀ·scale)·V on [batch, heads, sequence, head] tensors, in one fused kernel.',
  source: 'torch.nn.functional.scaled_dot_product_attention.html',
  inputs: { names: ['query', 'key', 'value', 'attn_mask'], least: 3 },
  parameters: [
    number('dropout_p', 'Share of the weights zeroed in training, drawn inside the kernel.', {
      default: 0,
      least: 0,
      most: 1,
    }),
    flag('is_causal', false, 'Whether a position sees only those before it.'),
    number('scale', 'Factor of Q·Kᵀ; 1/√head where it is left out.', { default: null }),
    flag('enable_gqa', false, 'Whether key and value may have fewer heads.'),
    integer(
      'window',
      'Tokens that one token sees, itself included: kernels such as FlashAttention skip the others, and no more are kept in a cache.',
      {
        default: null,
        least: 1,
        beyond: true,
      },
    ),
  ],
  work: '4·head FLOPs per head and pair of tokens.',
  example: {
    inputs: { q: 'float32[8, 8, 128, 64]', k: 'float32[8, 8, 128, 64]', v: 'float32[8, 8, 128, 64]' },
    call: 'scaled_dot_product_attention(q, k, v, is_causal=True)',
  },
  lower: (call) => {
    const [query, key, value] = call.inputs;
    if (!hasRank(call, [4], '[batch, heads, sequence, head]')) return undefined;
    const [heads, groups] = [query?.shape?.[1], key?.shape?.[1]];
    if (typeof heads === 'number' && typeof groups === 'number' && heads !== groups) {
      const shared = `${heads} heads of the query ${heads % groups === 0 ? '' : 'cannot '}share ${groups} heads of the key`;
      if (heads % groups !== 0) return call.problem('shape/mismatch', `${shared} evenly`);
      if (!call.boolean('enable_gqa')) {
        return call.problem('shape/mismatch', `${shared} only with enable_gqa=True`, 'enable_gqa');
      }
    }
    const mask = call.input('attn_mask');
    return call.emit('Attention', [query, key, value, ...(mask === undefined ? [] : [mask])], {
      is_causal: int(call.boolean('is_causal') ? 1 : 0),
      ...(call.value('scale') === null ? {} : { scale: float(call.number('scale')) }),
      ...(call.value('window') === null ? {} : { left_window_size: int(call.integer('window') - 1) }),
    });
  },
};

export const attentionLayers = [multiheadAttention, scaledDotProductAttention, rotaryEmbedding];
