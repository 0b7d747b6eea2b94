/** Dimension maps of attention, recurrent cells and what else reads sequences. */

import { type Dimension, divideExactly } from '../../model/dimension.ts';
import type { InferenceContext } from '../definition.ts';
import { type DimensionMap, type StatedSize, unknownMap } from '../dimensionMap.ts';
import { whyUnknown } from '../vocabulary/types.ts';
import { rankOf } from './elementwise.ts';
import { type AxisLabel, type AxisLabels, type FactorDetails, mapOfLabels } from './labels.ts';

const attribute = (name: string): StatedSize => ({ kind: 'attribute', name });

/** A tensor of lower rank aligned at the end, as masks are. */
const alignedAtEnd = (context: InferenceContext, index: number, labels: AxisLabels): AxisLabels => {
  const rank = rankOf(context, index);
  return rank > labels.length ? [] : labels.slice(labels.length - rank);
};

/**
 * Attention of the standard: batch and heads are kept, queries where no causal mask counts them, the size of values too.
 * Keys meet in a softmax and are private. Grouped queries go with the heads of their keys.
 */
export function attentionMap(context: InferenceContext): DimensionMap {
  const [query, key, value] = [0, 1, 2].map((index) => context.inputShape(index));
  if (query === undefined || key === undefined || value === undefined)
    return unknownMap(whyUnknown(context, [query, key, value].indexOf(undefined)));
  const isPacked = query.length === 3;
  const heads = isPacked ? context.int('q_num_heads', 0) : query[1];
  const groups = isPacked ? context.int('kv_num_heads', 0) : key[1];
  if (heads === undefined || groups === undefined || heads === 0 || groups === 0)
    return unknownMap('the number of heads is unknown');
  const valueWidth = value.at(-1) ?? 1;
  const valueSize = isPacked ? divideExactly(valueWidth, groups) : valueWidth;
  const isCounted =
    context.int('is_causal', 0) !== 0 ||
    context.int('left_window_size', -1) >= 0 ||
    context.int('right_window_size', -1) >= 0;
  const h: AxisLabel = [{ label: 'h' }];
  const q = isCounted ? undefined : 'q';
  const wide = (outer: Dimension): AxisLabel => [{ label: 'h' }, { label: 'v', outer }];
  const isOne = (index: number, axis: number): boolean => context.inputShape(index)?.at(axis) === 1;
  const mask = alignedAtEnd(context, 3, ['b', isOne(3, -3) ? undefined : h, q, undefined]);
  return mapOfLabels(context, {
    inputs: {
      0: isPacked ? ['b', q, h] : ['b', h, q, undefined],
      1: isPacked ? ['b', undefined, h] : ['b', h, undefined, undefined],
      2: isPacked ? ['b', undefined, wide(groups)] : ['b', h, undefined, [{ label: 'v' }]],
      3: mask,
      4: ['b', h, undefined, undefined],
      5: ['b', h, undefined, [{ label: 'v' }]],
      6: ['b'],
    },
    outputs: [
      isPacked ? ['b', q, wide(heads)] : ['b', h, q, [{ label: 'v' }]],
      ['b', h, undefined, undefined],
      ['b', h, undefined, [{ label: 'v' }]],
      ['b', h, q, undefined],
    ],
    details: {
      h: { size: groups, sizes: isPacked ? [attribute('q_num_heads'), attribute('kv_num_heads')] : [] },
      ...(valueSize === undefined ? {} : { v: { size: valueSize } }),
    },
  });
}

/** Subgraphs that change scores may count positions and heads. */
export const flexAttentionMap = (context: InferenceContext): DimensionMap =>
  context.attribute('score_mod') === undefined && context.attribute('prob_mod') === undefined
    ? attentionMap(context)
    : unknownMap('a subgraph that changes scores may depend on their position');

export interface FusedAttention {
  readonly heads: string;
  readonly groups: string;
  /** Inputs of the keys so far; the values follow. */
  readonly past: number;
  /** Bias of queries, keys and values one after another. */
  readonly bias?: number;
  /** A mask [batch, keys] or [batch, queries, keys]; other forms are private. */
  readonly keyMask?: number;
  /** What is added to scores [batch, heads, queries, keys], or broadcast. */
  readonly scoreBias?: number;
  /** One length for each sequence. */
  readonly lengths?: readonly number[];
  /** One number for each head. */
  readonly perHead?: readonly number[];
  readonly positions?: number;
  /** Inputs that tie the batch to something else. */
  readonly ties?: readonly number[];
}

/** Attention of ONNX Runtime over queries, keys and values side by side, or packed into one tensor. */
export function fusedAttentionMap(context: InferenceContext, given: FusedAttention): DimensionMap {
  const first = context.inputShape(0);
  if (first === undefined) return unknownMap(whyUnknown(context, 0));
  if ((given.ties ?? []).some((index) => context.inputType(index) !== undefined))
    return unknownMap('beams share the cache');
  const heads = context.int(given.heads, 0);
  const groups = context.int(given.groups, heads);
  const isPacked = context.inputType(1) === undefined && first.length === 3;
  const h: AxisLabel = isPacked ? undefined : [{ label: 'h' }];
  const rank = (index: number): number => rankOf(context, index);
  const operand = (index: number): AxisLabels => {
    if (rank(index) === 5) return ['b', undefined, h, undefined, undefined];
    return rank(index) === 4 ? ['b', h, undefined, undefined] : ['b', undefined, h];
  };
  const { bias, keyMask, scoreBias, lengths = [], perHead = [], positions } = given;
  const scores: AxisLabels = [
    'b',
    scoreBias !== undefined && context.inputShape(scoreBias)?.at(-3) === 1 ? undefined : h,
    undefined,
    undefined,
  ];
  // Keys and values of other widths than queries leave no even thirds.
  const thirds = rank(0) === 3 && !isPacked && equalWidths(context) && heads === groups;
  const divides = bias === undefined || context.inputType(bias) === undefined || thirds;
  const maskRank = keyMask === undefined ? 0 : rank(keyMask);
  const [maskBatch] = keyMask === undefined ? [] : (context.inputShape(keyMask) ?? []);
  const isPerSample = maskRank > 1 || (maskRank === 1 && maskBatch === first[0]);
  return mapOfLabels(context, {
    inputs: {
      0: operand(0),
      1: operand(1),
      2: operand(2),
      [given.past]: ['b', h, undefined, undefined],
      [given.past + 1]: ['b', h, undefined, undefined],
      ...(bias === undefined ? {} : { [bias]: [h === undefined ? undefined : [{ label: 'h', outer: 3 }]] }),
      ...(keyMask === undefined || !isPerSample
        ? {}
        : { [keyMask]: ['b', ...Array.from({ length: maskRank - 1 }, () => undefined)] }),
      ...(scoreBias === undefined ? {} : { [scoreBias]: scores }),
      ...(positions === undefined ? {} : { [positions]: ['b', undefined] }),
      ...Object.fromEntries(lengths.map((index) => [index, rank(index) === 1 ? ['b'] : ['b', undefined]])),
      ...Object.fromEntries(perHead.map((index) => [index, [h]])),
    },
    outputs: [
      ['b', undefined, h],
      ['b', h, undefined, undefined],
      ['b', h, undefined, undefined],
      ['b', h, undefined, undefined],
    ],
    details: {
      // A mask of one number for each sequence, but in another form, ties the sequences together.
      ...(maskRank === 1 && !isPerSample ? { b: { coupled: 'a mask describes all sequences at once' } } : {}),
      h:
        divides && groups > 0
          ? { size: groups, sizes: [...new Set([given.heads, given.groups])].map(attribute) }
          : {},
    },
  });
}

const equalWidths = (context: InferenceContext): boolean => {
  const widths = [0, 1, 2].map((index) => context.inputShape(index)?.at(-1));
  return widths.every((width) => width === widths[0]);
};

/** Projection and attention in one operator: weights hold queries, keys and values of all heads one after another. */
export function projectedAttentionMap(
  context: InferenceContext,
  options: { readonly past: number },
): DimensionMap {
  const { past } = options;
  const quantized = past === 8;
  const heads = context.int('num_heads', 0);
  const isEven = context.ints('qkv_hidden_sizes') === undefined && !quantized && heads > 0;
  const h = (outer: Dimension): AxisLabel => (isEven ? [{ label: 'h', outer }] : undefined);
  const mask = quantized ? 5 : 3;
  const maskShape = context.inputShape(mask);
  const isPerSample = maskShape !== undefined && maskShape[0] === context.inputShape(0)?.[0];
  return mapOfLabels(context, {
    inputs: {
      0: ['b', undefined, undefined],
      1: [undefined, h(3)],
      2: [h(3)],
      ...(isPerSample ? { [mask]: ['b', ...maskShape.slice(1).map(() => undefined)] } : {}),
      [past]: [undefined, 'b', h(1), undefined, undefined],
      ...(quantized
        ? {}
        : { 5: ['b', context.inputShape(5)?.[1] === 1 ? undefined : h(1), undefined, undefined] }),
    },
    outputs: [
      ['b', undefined, h(1)],
      [undefined, 'b', h(1), undefined, undefined],
    ],
    details: {
      ...(maskShape !== undefined && !isPerSample
        ? { b: { coupled: 'a mask describes all sequences at once' } }
        : {}),
      ...(isEven ? { h: { size: heads, sizes: [attribute('num_heads')] } } : {}),
    },
  });
}

/** Tokens of all sequences lie in one row, and blocks of the cache belong to any of them: only heads are kept. */
export function pagedAttentionMap(context: InferenceContext): DimensionMap {
  const heads = context.int('num_heads', 1);
  const groups = context.int('kv_num_heads', heads);
  const isPacked = context.inputType(1) === undefined;
  const h: AxisLabel = isPacked ? undefined : [{ label: 'h' }];
  const cache: AxisLabels = [undefined, undefined, h, undefined];
  return mapOfLabels(context, {
    inputs: { 0: [undefined, h], 1: [undefined, h], 2: [undefined, h], 3: cache, 4: cache },
    outputs: [[undefined, h], cache, cache],
    details: { h: { size: groups, sizes: [attribute('num_heads'), attribute('kv_num_heads')] } },
  });
}

/** Blocks that are met are listed by head, so that only sequences are kept. */
export const sparseAttentionMap = (context: InferenceContext): DimensionMap => {
  const cache: AxisLabels = ['b', undefined, undefined, undefined];
  const side: AxisLabels = ['b', undefined, undefined];
  return mapOfLabels(context, {
    inputs: { 0: side, 1: side, 2: side, 3: cache, 4: cache, 8: ['b'] },
    outputs: [side, cache, cache],
  });
};

/** Linear attention: batch and states are kept; queries of several heads go with the state they share. */
export function linearAttentionMap(context: InferenceContext): DimensionMap {
  const heads = context.int('q_num_heads', 1);
  const groups = context.int('kv_num_heads', 1);
  const isShared = heads % groups !== 0;
  const h: AxisLabel = isShared ? undefined : [{ label: 'h' }];
  const gate = (index: number): AxisLabels => [
    'b',
    undefined,
    context.inputShape(index)?.[2] === 1 ? undefined : h,
  ];
  const side: AxisLabels = ['b', undefined, h];
  const details: FactorDetails = {
    size: groups,
    sizes: [attribute('q_num_heads'), attribute('kv_num_heads')],
  };
  return mapOfLabels(context, {
    inputs: { 0: side, 1: side, 2: side, 3: ['b', h, undefined, undefined], 4: gate(4), 5: gate(5) },
    outputs: [side, ['b', h, undefined, undefined]],
    details: { h: details },
  });
}

/** A depthwise convolution with the positions before the first as a state. */
export const causalConvolutionMap = (context: InferenceContext): DimensionMap =>
  mapOfLabels(context, {
    inputs: {
      0: ['b', 'c', undefined],
      1: ['c', undefined, undefined],
      2: ['c'],
      3: ['b', 'c', undefined],
    },
    outputs: [
      ['b', 'c', undefined],
      ['b', 'c', undefined],
    ],
  });

/** X [steps, batch, size], or with `layout` 1 [batch, steps, size]: each sequence runs by itself. */
export function recurrentMap(context: InferenceContext): DimensionMap {
  const isFirst = context.int('layout', 0) === 1;
  const state: AxisLabels = isFirst ? ['b', undefined, undefined] : [undefined, 'b', undefined];
  return mapOfLabels(context, {
    inputs: {
      0: isFirst ? ['b', undefined, undefined] : [undefined, 'b', undefined],
      4: ['b'],
      5: state,
      6: state,
    },
    outputs: [
      isFirst ? ['b', undefined, undefined, undefined] : [undefined, undefined, 'b', undefined],
      state,
      state,
    ],
  });
}

/** Rotation by position: batch and heads are kept, and positions where each is given. */
export function rotaryMap(
  context: InferenceContext,
  positions: number,
  tables: readonly [number, number],
): DimensionMap {
  const input = context.inputShape(0);
  if (input === undefined) return unknownMap(whyUnknown(context, 0));
  const heads = context.int('num_heads', 0);
  const isPacked = input.length === 3;
  const h: AxisLabel = isPacked ? (heads > 0 ? [{ label: 'h' }] : undefined) : 'h';
  const rank = (index: number): number => rankOf(context, index);
  // Without positions the tables hold a row for each position, with them a row for each position there may be.
  const isCounted = context.inputType(positions) !== undefined;
  const isGiven = isCounted ? rank(positions) === 2 : rank(tables[0]) === 3;
  const s = isGiven ? 's' : undefined;
  const table: AxisLabels = isCounted ? [undefined, undefined] : ['b', 's', undefined];
  const labels: AxisLabels = isPacked ? ['b', s, h] : ['b', h, s, undefined];
  return mapOfLabels(context, {
    inputs: {
      0: labels,
      ...(isCounted && isGiven ? { [positions]: ['b', 's'] } : {}),
      [tables[0]]: table,
      [tables[1]]: table,
    },
    outputs: [labels],
    ...(isPacked && heads > 0 && { details: { h: { size: heads, sizes: [attribute('num_heads')] } } }),
  });
}
