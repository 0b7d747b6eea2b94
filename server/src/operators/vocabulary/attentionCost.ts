/**
 * What attention costs, whichever operator computes it.
 *
 * FLOPs follow `torch.utils.flop_counter`: forward 2·batch·heads·queries·keys·(d + d_v), a causal mask not halved;
 * backward has the two matmuls of each gradient, as that of the same attention written out. That flash attention computes
 * the scores again (`sdpa_backward_flop_count`) is part of its time only. Kept are query, key, value, output and one logarithm per query
 * (`_scaled_dot_product_flash_attention`), and a mask where there is one, never the scores.
 */

import type {
  AttentionShape,
  BoundTensor,
  CostContext,
  MemoryAccess,
  OperatorCost,
  SavedTensor,
  Work,
} from '../definition.ts';
import {
  addTraffic,
  addWork,
  backwardOf,
  cost,
  needsGradient,
  savedInput,
  savedOutput,
  trafficOf,
  unknownShapeCost,
  work,
} from './work.ts';

export interface AttentionSizes {
  /** Batch · heads · queries. */
  readonly rows: number;
  /** Queries of one head, where they are known. */
  readonly queries?: number;
  /** Keys that one query meets. */
  readonly keys: number;
  /** Of these, those that a query sees where it sees only the last ones; fewer than all. */
  readonly window?: number;
  /** Elements of a query and a key per head. */
  readonly size: number;
  /** Elements of a value per head. */
  readonly valueSize: number;
}

/** A matmul in front of attention: FLOPs, and the inputs that hold its operands. */
export interface Projection {
  readonly flops: number;
  readonly input: number;
  readonly weight: number;
}

/**
 * The cost of an attention operator: its inputs are read once, its outputs written once. `operands` are the inputs
 * that queries, keys and values come from, those that backward keeps and gives gradients to.
 */
export function attentionCost(
  context: CostContext,
  sizes: AttentionSizes,
  operands: readonly number[],
  options: {
    readonly projection?: Projection;
    /** Element-wise operations beside the softmax: rotation, normalization of heads. */
    readonly operations?: number;
    /** The input that is added to the scores, which is kept as numbers. */
    readonly mask?: number;
    /** What the inputs move, where not every input is read whole. */
    readonly read?: MemoryAccess;
    /** A query sees only the keys up to its own position. */
    readonly causal?: boolean;
  } = {},
): OperatorCost {
  const output = context.output(0);
  const tensors = operands.map((index) => context.input(index));
  if (output === undefined || tensors.some((tensor) => tensor === undefined)) return unknownShapeCost;
  const { rows, keys, window, size, valueSize } = sizes;
  // Kernels skip the blocks outside a sliding window; a causal mask is not halved.
  const scores = rows * (window ?? keys);
  const { operations: operationsBeside = 0, projection } = options;
  const projected = projection === undefined ? 0 : projection.flops;
  const mask = tensorOrNone(context, options.mask);
  const isTrained =
    options.mask !== undefined && mask !== undefined && context.gradient(options.mask) !== 'none';
  const shape = (pass: AttentionShape['pass']): { readonly attention?: AttentionShape } => {
    // A projection is a matmul beside it.
    const whole =
      options.projection === undefined ? shapeOf(sizes, pass, options.causal === true) : undefined;
    if (whole === undefined) return {};
    if (mask === undefined) return { attention: whole };
    return { attention: { ...whole, mask: { elements: mask.elements, trained: isTrained } } };
  };
  const forward = work({
    flops: 2 * scores * (size + valueSize) + projected,
    operations: 5 * scores + operationsBeside,
    traffic: addTraffic(options.read ?? trafficOf(...allInputs(context)), trafficOf(output)),
    kernels: options.projection === undefined ? 1 : 2,
    ...shape('forward'),
  });
  if (!needsGradient(context)) return cost('attention', forward);
  // One fused kernel computes the gradients of queries, keys and values, whether all are asked for or not.
  const asked = askedProducts(context, sizes, operands);
  const core = work({
    flops: 2 * scores * asked,
    recomputedFlops: 2 * scores * (size + 2 * (size + valueSize) - asked),
    operations: 10 * scores,
    // The gradient of a mask is one for each score.
    traffic: addTraffic(trafficOf(...tensors, output, output, ...tensors), {
      float32Elements: isTrained ? scores : 0,
      fixedBytes: 0,
    }),
    ...shape('backward'),
  });
  const matmul = work({ flops: projected, traffic: trafficOf(output, ...tensors) });
  const gradients = operands.filter((index) => context.gradient(index) !== 'none');
  const { data, weight } = backwardOf(context, (index) => {
    const own: Work[] = [];
    if (index === gradients[0]) own.push(core);
    if (index === options.projection?.input || index === options.projection?.weight) own.push(matmul);
    return addWork(...own);
  });
  const logarithms: SavedTensor = {
    kind: 'extra',
    name: 'logarithm of the sum per query',
    traffic: { float32Elements: 0, fixedBytes: 4 * rows },
  };
  return cost('attention', forward, {
    data,
    weight,
    saved: [...operands.map(savedInput), savedOutput(0), logarithms, ...keptMask(context, options.mask)],
  });
}

/**
 * Elements per score of the matmuls whose gradients are asked for: that of the weights and those of queries and keys where
 * either has one, and that of values. What frozen projections give has none (low-rank adapters).
 */
function askedProducts(
  context: CostContext,
  { size, valueSize }: AttentionSizes,
  operands: readonly number[],
): number {
  const [query = 0, key = query, value = query] = operands;
  const has = (index: number): number => (context.gradient(index) === 'none' ? 0 : 1);
  const ofScores = Math.max(has(query), has(key));
  return valueSize * (has(value) + ofScores) + size * (has(query) + has(key));
}

const tensorOrNone = (context: CostContext, index: number | undefined): BoundTensor | undefined =>
  index === undefined ? undefined : context.input(index);

function shapeOf(
  { rows, queries = 0, keys, window, size, valueSize }: AttentionSizes,
  pass: AttentionShape['pass'],
  causal: boolean,
): AttentionShape | undefined {
  if (queries === 0) return undefined;
  return {
    pass,
    sequences: rows / queries,
    queries,
    keys,
    size: (size + valueSize) / 2,
    causal,
    ...(window === undefined ? {} : { window }),
  };
}

/** `convert_boolean_attn_mask` makes numbers of one that says which keys count (PyTorch 2.x transformers/attention.cpp). */
function keptMask(context: CostContext, mask: number | undefined): readonly SavedTensor[] {
  const tensor = tensorOrNone(context, mask);
  if (mask === undefined || tensor === undefined) return [];
  if (tensor.elementType !== 'bool') return [savedInput(mask)];
  const traffic = { float32Elements: tensor.elements, fixedBytes: 0 };
  return [{ kind: 'extra', name: 'mask as numbers', traffic }];
}

const allInputs = (context: CostContext): readonly (BoundTensor | undefined)[] =>
  Array.from({ length: context.inputCount }, (_, index) => context.input(index));
