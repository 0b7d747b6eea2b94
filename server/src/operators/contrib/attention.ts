/**
 * Attention as ONNX Runtime fuses it: with projections, rotation and key-value caches inside one operator.
 *
 * Shapes follow docs/ContribOperators.md of microsoft/onnxruntime; FLOPs are those of the products alone, as for the
 * standard's Attention. A cache comes back longer by the new keys; where it is a shared buffer its length is given.
 */

import {
  addDimensions,
  type Dimension,
  maximumOfDimensions,
  multiplyDimensions,
  unknownDimension,
} from '../../model/dimension.ts';
import type { ValueType } from '../../model/graph.ts';
import type {
  CostContext,
  Inference,
  InferenceContext,
  OperatorCost,
  OperatorDefinition,
} from '../definition.ts';
import {
  fusedAttentionMap,
  pagedAttentionMap,
  projectedAttentionMap,
  sparseAttentionMap,
} from '../dimensions/sequences.ts';
import { type AttentionSizes, attentionCost } from '../vocabulary/attentionCost.ts';
import { contradict } from '../vocabulary/broadcast.ts';
import { scalarOf } from '../vocabulary/contents.ts';
import { defineContrib } from '../vocabulary/define.ts';
import { data, detached, weight } from '../vocabulary/facts.ts';
import { type Heads, headsOf, partOf } from '../vocabulary/heads.ts';
import {
  elementTypeOf,
  mismatch,
  printShape,
  single,
  tensor,
  tensorOfUnknownShape,
  unknownBecause,
  unknownValue,
  whyUnknown,
} from '../vocabulary/types.ts';
import { unknownCost, unknownShapeCost } from '../vocabulary/work.ts';

const projected = (['Attention', 'QAttention'] as const).map((type) => {
  const past = type === 'Attention' ? 4 : 8;
  // A quantized input has the type of its scale once it is projected.
  const floating = type === 'Attention' ? 0 : 3;
  return defineContrib({
    type,
    documentation:
      type === 'Attention'
        ? 'projection to Q, K, V and attention'
        : 'projection of 8-bit integers to Q, K, V and attention',
    inputs: {
      Attention: [
        data('input'),
        weight('weights'),
        weight('bias'),
        detached('mask_index'),
        data('past'),
        data('attention_bias'),
        detached('past_sequence_length'),
      ],
      QAttention: [
        detached('input'),
        detached('weight'),
        data('bias'),
        data('input_scale'),
        data('weight_scale'),
        detached('mask_index'),
        detached('input_zero_point'),
        detached('weight_zero_point'),
        data('past'),
      ],
    }[type],
    pytorch: { layer: type, autocast: 'half' },
    infer: (context) => inferProjected(context, floating, past),
    dimensions: (context) => projectedAttentionMap(context, { past }),
    cost: (context) => projectedCost(context, past),
  });
});

const groupQueryAttention = defineContrib({
  type: 'GroupQueryAttention',
  documentation: 'attention of grouped queries over a cache, rotated if asked for',
  inputs: [
    data('query'),
    data('key'),
    data('value'),
    data('past_key'),
    data('past_value'),
    detached('seqlens_k'),
    detached('total_sequence_length'),
    detached('cos_cache'),
    detached('sin_cache'),
    detached('position_ids'),
    detached('attention_bias'),
    detached('head_sink'),
    detached('k_scale'),
    detached('v_scale'),
    detached('q_norm_weight'),
    detached('k_norm_weight'),
  ],
  pytorch: { layer: 'GroupQueryAttention', autocast: 'half' },
  infer: (context) =>
    inferOver(context, partsOf(symbolicShapes(context), 'num_heads', 'kv_num_heads'), {
      past: 3,
      total: scalarOf(context, 6),
    }),
  dimensions: (context) =>
    fusedAttentionMap(context, {
      heads: 'num_heads',
      groups: 'kv_num_heads',
      past: 3,
      lengths: [5],
      positions: 9,
      scoreBias: 10,
      perHead: [11],
    }),
  cost: (context) =>
    costOver(context, partsOf(boundShapes(context), 'num_heads', 'kv_num_heads'), {
      past: 3,
      window: context.int('local_window_size', -1),
      rotates: context.int('do_rotary', 0) === 1,
    }),
});

const multiHeadAttention = defineContrib({
  type: 'MultiHeadAttention',
  documentation: 'attention of several heads, over a cache if given',
  inputs: [
    data('query'),
    data('key'),
    data('value'),
    weight('bias'),
    detached('key_padding_mask'),
    data('attention_bias'),
    data('past_key'),
    data('past_value'),
    detached('past_sequence_length'),
    detached('cache_indirection'),
  ],
  pytorch: { layer: 'MultiHeadAttention', autocast: 'half' },
  infer: (context) =>
    inferOver(context, partsOf(symbolicShapes(context), 'num_heads', 'num_heads'), {
      past: 6,
      pastLength: 8,
    }),
  dimensions: (context) =>
    fusedAttentionMap(context, {
      heads: 'num_heads',
      groups: 'num_heads',
      past: 6,
      bias: 3,
      keyMask: 4,
      scoreBias: 5,
      ties: [9],
    }),
  cost: (context) => costOver(context, partsOf(boundShapes(context), 'num_heads', 'num_heads'), { past: 6 }),
});

const decoderMaskedAttention = defineContrib({
  type: 'DecoderMaskedMultiHeadAttention',
  documentation: 'attention of one new token over a cache',
  inputs: [
    data('query'),
    data('key'),
    data('value'),
    detached('mask_index'),
    data('attention_bias'),
    data('past_key'),
    data('past_value'),
    detached('past_sequence_length'),
    detached('beam_width'),
    detached('cache_indirection'),
    data('bias'),
  ],
  pytorch: { layer: 'DecoderMaskedMultiHeadAttention', autocast: 'half' },
  infer: (context) =>
    inferOver(context, partsOf(symbolicShapes(context), 'num_heads', 'num_heads'), { past: 5 }),
  dimensions: (context) =>
    fusedAttentionMap(context, {
      heads: 'num_heads',
      groups: 'num_heads',
      past: 5,
      bias: 10,
      keyMask: 3,
      scoreBias: 4,
      ties: [8, 9],
    }),
  cost: (context) => costOver(context, partsOf(boundShapes(context), 'num_heads', 'num_heads'), { past: 5 }),
});

const pagedAttention = defineContrib({
  type: 'PagedAttention',
  documentation: 'attention over a cache of blocks, sequences packed one after another',
  inputs: [
    data('query'),
    data('key'),
    data('value'),
    data('key_cache'),
    data('value_cache'),
    detached('cumulative_sequence_length'),
    detached('past_seqlens'),
    detached('block_table'),
    data('cos_cache'),
    data('sin_cache'),
    detached('slot_mapping'),
    data('head_sink'),
    data('q_norm_weight'),
    data('k_norm_weight'),
    data('k_scale'),
    data('v_scale'),
    detached('attention_metadata'),
  ],
  pytorch: { layer: 'PagedAttention', autocast: 'half' },
  infer: inferPaged,
  dimensions: pagedAttentionMap,
  cost: (context) => {
    const reason = 'how many keys each sequence has in the paged cache is known only when the model runs';
    const [query, output, cache] = [context.input(0), context.output(0), context.input(3)];
    if (query === undefined || output === undefined || cache === undefined) return unknownCost(reason);
    // No sequence has more keys than the whole cache [blocks, block size, heads, size] has places.
    const [blocks = 0, blockSize = 0, , size = 0] = cache.dimensions;
    const heads = Math.max(1, context.int('num_heads', 1));
    const [tokens = 0, width = 0] = output.dimensions;
    const sizes = { rows: tokens * heads, keys: blocks * blockSize, size, valueSize: width / heads };
    const most = attentionCost(context, sizes, [0, 3, 4]);
    return most.kind === 'known' ? { kind: 'unknown', reason, atMost: most } : unknownCost(reason);
  },
});

/** Which blocks of keys a block of queries meets is listed; how much of the cache is filled is not. */
const sparseAttention = defineContrib({
  type: 'SparseAttention',
  documentation: 'attention of grouped queries to listed blocks of a cache',
  inputs: [
    data('query'),
    data('key'),
    data('value'),
    data('past_key'),
    data('past_value'),
    detached('block_row_indices'),
    detached('block_col_indices'),
    detached('total_sequence_length'),
    detached('key_total_sequence_lengths'),
    data('cos_cache'),
    data('sin_cache'),
  ],
  pytorch: { layer: 'SparseAttention', autocast: 'widest' },
  infer: (context) => {
    const query = context.inputShape(0);
    if (query === undefined) return unknownBecause(context, 0);
    const [batch, length, width] = query;
    if (batch === undefined || length === undefined || width === undefined)
      return mismatch(`queries are [batch, length, width], not ${printShape(query)}`);
    const heads = context.int('num_heads', 1);
    const groups = context.int('kv_num_heads', heads);
    const size =
      context.inputType(1) === undefined ? partOf(width, heads + 2 * groups) : partOf(width, heads);
    const caches = [3, 4].map((index) => context.inputType(index) ?? unknownValue('the cache is missing'));
    return {
      outputs: [
        tensor(elementTypeOf(context, 0), [batch, length, multiplyDimensions(size, heads)]),
        ...caches,
      ],
    };
  },
  dimensions: sparseAttentionMap,
  cost: (context) => {
    const reason = 'how many of the listed blocks are filled is known only when the model runs';
    const [output, cache, blocks] = [context.output(0), context.input(3), context.input(6)];
    if (output === undefined || cache === undefined || blocks === undefined) return unknownCost(reason);
    const heads = Math.max(1, context.int('num_heads', 1));
    const side = Math.max(1, context.int('sparse_block_size', 64));
    const [batch = 0, length = 0, width = 0] = output.dimensions;
    const [places, listed] = [cache.dimensions[2], blocks.dimensions.at(-1)];
    if (places === undefined || listed === undefined) return unknownCost(reason);
    // Every layout lists so many blocks of side · side pairs for a cache that is full.
    const pairs = Math.min(listed * side ** 2, length * places);
    const size = width / heads;
    const keys = length === 0 ? 0 : pairs / length;
    const sizes = { rows: batch * heads * length, keys, size, valueSize: size };
    const operands = context.hasInput(1) ? [0, 1, 2] : [0];
    const most = attentionCost(context, sizes, operands);
    return most.kind === 'known' ? { kind: 'unknown', reason, atMost: most } : unknownCost(reason);
  },
});

export const contribAttention: readonly OperatorDefinition[] = [
  ...projected,
  groupQueryAttention,
  multiHeadAttention,
  decoderMaskedAttention,
  pagedAttention,
  sparseAttention,
];

/** What shapes and sizes are read from, while they may be symbolic and when they are numbers. */
interface Shapes {
  inputShape(index: number): readonly Dimension[] | undefined;
  hasInput(index: number): boolean;
  int(name: string, otherwise: number): number;
}

const symbolicShapes = (context: InferenceContext): Shapes => ({
  inputShape: (index) => context.inputShape(index),
  hasInput: (index) => context.inputType(index) !== undefined,
  int: (name, otherwise) => context.int(name, otherwise),
});

const boundShapes = (context: CostContext): Shapes => ({
  inputShape: (index) => context.input(index)?.dimensions,
  hasInput: (index) => context.hasInput(index),
  int: (name, otherwise) => context.int(name, otherwise),
});

interface Cache {
  /** Input with the keys so far; the values follow. */
  readonly past: number;
  /** Input that gives the length of what a shared buffer holds. */
  readonly pastLength?: number;
  /** Length of the sequence with its past, where it is known. */
  readonly total?: Dimension | undefined;
}

interface Parts {
  readonly query: Heads<Dimension>;
  readonly key: Heads<Dimension>;
  readonly value: Heads<Dimension>;
  /** Keys and values are the cache itself, as in cross attention, and do not extend it. */
  readonly cached: boolean;
}

/** Queries, keys and values from inputs 0 to 2, packed into input 0 or 1 as the operators allow. */
function partsOf(
  shapes: Shapes,
  headsName: string,
  groupsName: string,
): Parts | { readonly missing: number } | string {
  const heads = shapes.int(headsName, 0);
  const groups = shapes.int(groupsName, heads);
  if (heads <= 0 || groups <= 0 || heads % groups !== 0)
    return `${headsName} ${heads} must be a positive multiple of ${groupsName} ${groups}`;
  const first = shapes.inputShape(0);
  if (first === undefined) return { missing: 0 };
  const [batch = 1, length = 1, width = 0, , packedSize = 0] = first;
  const isPacked = !shapes.hasInput(1);
  if (first.length === 5) {
    const all: Heads<Dimension> = { batch, heads, length, size: packedSize };
    return { query: all, key: all, value: all, cached: false };
  }
  if (first.length !== 3)
    return `queries are [batch, length, width] or packed with keys and values, not ${printShape(first)}`;
  if (isPacked) {
    const size = partOf(width, heads + 2 * groups);
    const query: Heads<Dimension> = { batch, heads, length, size };
    const key: Heads<Dimension> = { batch, heads: groups, length, size };
    return { query, key, value: key, cached: false };
  }
  const query: Heads<Dimension> = { batch, heads, length, size: partOf(width, heads) };
  const second = shapes.inputShape(1);
  if (second === undefined) return { missing: 1 };
  if (second.length === 5) {
    const [, keys = 1, , , size = 0] = second;
    const key: Heads<Dimension> = { batch, heads: groups, length: keys, size };
    return { query, key, value: key, cached: false };
  }
  const key = headsOf(second, groups);
  const third = shapes.inputShape(2);
  if (third === undefined) return { missing: 2 };
  const value = headsOf(third, groups);
  if (key === undefined || value === undefined)
    return `keys ${printShape(second)} and values ${printShape(third)} are not [batch, length, width]`;
  return { query, key, value, cached: second.length === 4 };
}

function inferOver(context: InferenceContext, parts: ReturnType<typeof partsOf>, cache: Cache): Inference {
  const elementType = elementTypeOf(context, 0);
  if (typeof parts === 'string') return mismatch(parts);
  if ('missing' in parts) return unknownBecause(context, parts.missing, elementType);
  const { query, key, value, cached } = parts;
  const output = tensor(elementType, [
    query.batch,
    query.length,
    multiplyDimensions(value.size, query.heads),
  ]);
  if (contradict(query.size, key.size))
    return mismatch(
      `queries of size ${query.size} and keys of size ${key.size} per head cannot be compared`,
      output,
    );
  const past = context.inputShape(cache.past);
  const length = presentLength(context, cache, past, cached ? undefined : key.length);
  const state = (part: Heads<Dimension>, index: number): ValueType => {
    const stored = context.inputShape(index);
    // Packed 4-bit caches have half as many bytes as a head has elements: the size is the cache's own.
    const size = stored?.[3] ?? part.size;
    return tensor(context.inputElementType(index) ?? elementType, [part.batch, part.heads, length, size]);
  };
  return {
    outputs: [
      output,
      state(key, cache.past),
      state(value, cache.past + 1),
      tensor(elementType, [query.batch, query.heads, query.length, length]),
    ].slice(0, Math.max(1, context.outputCount)),
  };
}

/** Tokens of a cache, along an axis; none where no cache comes in. */
const lengthOfPast = (past: readonly Dimension[] | undefined, axis: number): Dimension =>
  past === undefined ? 0 : (past[axis] ?? unknownDimension('the cache has no axis of tokens'));

function presentLength(
  context: InferenceContext,
  cache: Cache,
  past: readonly Dimension[] | undefined,
  added: Dimension | undefined,
): Dimension {
  if (context.inputType(cache.past) !== undefined && past === undefined)
    return unknownDimension(whyUnknown(context, cache.past));
  const before = lengthOfPast(past, 2);
  // A buffer as long as the longest sequence comes back as it was.
  const isShared =
    context.int('past_present_share_buffer', 0) === 1 ||
    (cache.pastLength !== undefined && context.inputType(cache.pastLength) !== undefined);
  if (isShared && past !== undefined) return before;
  // With buffers shared between past and present the total is the smaller of the two.
  if (cache.total !== undefined) return maximumOfDimensions(before, cache.total);
  return added === undefined ? before : addDimensions(before, added);
}

function costOver(
  context: CostContext,
  parts: ReturnType<typeof partsOf>,
  cache: { readonly past: number; readonly window?: number; readonly rotates?: boolean },
): OperatorCost {
  if (typeof parts === 'string' || 'missing' in parts) return unknownShapeCost;
  const { query, key, value, cached } = parts;
  const present = context.output(1)?.dimensions[2];
  const output = context.output(0);
  const before = context.hasInput(cache.past) ? context.input(cache.past)?.dimensions[2] : 0;
  if (output === undefined || before === undefined) return unknownShapeCost;
  const keys = present ?? (cached ? 0 : before) + numberOf(key.length);
  const window = cache.window ?? -1;
  const rows = numberOf(query.batch) * numberOf(query.heads) * numberOf(query.length);
  const sizes: AttentionSizes = {
    rows,
    queries: numberOf(query.length),
    // Kernels skip the blocks outside a sliding window; a causal mask is not halved.
    keys: window > 0 ? Math.min(keys, window) : keys,
    size: numberOf(query.size),
    valueSize: numberOf(value.size),
  };
  const turned = cache.rotates === true ? 3 * output.elements : 0;
  const operands = [0, 1, 2].filter((index) => context.hasInput(index));
  return attentionCost(context, sizes, operands, { operations: turned });
}

const numberOf = (dimension: Dimension): number => (typeof dimension === 'number' ? dimension : 0);

/** Q, K and V are stacked in the second axis of the weights, in equal parts unless `qkv_hidden_sizes` says. */
function inferProjected(context: InferenceContext, floating: number, past: number): Inference {
  const elementType = elementTypeOf(context, floating);
  const input = context.inputShape(0);
  if (input === undefined) return unknownBecause(context, 0, elementType);
  const weight = context.inputShape(1);
  if (weight === undefined) return unknownBecause(context, 1, elementType);
  const [batch, length, width] = input;
  const [rows, columns] = weight;
  if (batch === undefined || length === undefined || width === undefined || columns === undefined)
    return mismatch(
      `Attention takes an input [batch, length, width] and weights [width, widths of Q, K and V], not ${printShape(input)} and ${printShape(weight)}`,
    );
  const heads = context.int('num_heads', 0);
  if (heads <= 0) return mismatch(`num_heads ${heads} must be positive`);
  const sizes = context.ints('qkv_hidden_sizes');
  const valueWidth = sizes?.[2] ?? partOf(columns, 3);
  const output = tensor(elementType, [batch, length, valueWidth]);
  if (rows !== undefined && contradict(width, rows))
    return mismatch(`an input of width ${width} does not fit weights ${printShape(weight)}`, output);
  if (context.outputCount < 2) return single(output);
  const before = context.inputShape(past);
  if (context.inputType(past) !== undefined && before === undefined)
    return { outputs: [output, tensorOfUnknownShape(elementType, whyUnknown(context, past))] };
  const shared = context.int('past_present_share_buffer', 0) === 1;
  const total = shared ? (before?.[3] ?? length) : addDimensions(lengthOfPast(before, 3), length);
  return { outputs: [output, tensor(elementType, [2, batch, heads, total, partOf(valueWidth, heads)])] };
}

function projectedCost(context: CostContext, past: number): OperatorCost {
  const input = context.input(0);
  const weight = context.input(1);
  const output = context.output(0);
  if (input === undefined || weight === undefined || output === undefined) return unknownShapeCost;
  const heads = Math.max(1, context.int('num_heads', 1));
  const [batch = 1, length = 1, width = 1] = input.dimensions;
  const [, columns = 0] = weight.dimensions;
  const sizes = context.ints('qkv_hidden_sizes');
  const before = context.hasInput(past) ? context.input(past)?.dimensions[3] : 0;
  const valueWidth = output.dimensions[2];
  if (before === undefined || valueWidth === undefined) return unknownShapeCost;
  const keys = context.output(1)?.dimensions[3] ?? before + length;
  return attentionCost(
    context,
    {
      rows: batch * heads * length,
      keys,
      size: Math.max(0, sizes?.[0] ?? columns / 3) / heads,
      valueSize: valueWidth / heads,
    },
    [0, 1],
    { projection: { flops: 2 * batch * length * width * columns, input: 0, weight: 1 } },
  );
}

/** Tokens of all sequences in one row: [tokens, heads·size], and the caches as they came. */
function inferPaged(context: InferenceContext): Inference {
  const elementType = elementTypeOf(context, 0);
  const query = context.inputShape(0);
  if (query === undefined) return unknownBecause(context, 0);
  const [tokens, width] = query;
  if (query.length !== 2 || tokens === undefined || width === undefined)
    return mismatch(`queries are [tokens, width], not ${printShape(query)}`);
  const heads = context.int('num_heads', 1);
  const groups = context.int('kv_num_heads', heads);
  const size = context.inputType(1) === undefined ? partOf(width, heads + 2 * groups) : partOf(width, heads);
  const valueSize = context.int('v_head_size', 0);
  const output = tensor(elementType, [tokens, multiplyDimensions(valueSize > 0 ? valueSize : size, heads)]);
  const caches = [3, 4].flatMap((index): readonly ValueType[] => {
    const type = context.inputType(index);
    return type === undefined ? [] : [type];
  });
  return { outputs: [output, ...caches] };
}
