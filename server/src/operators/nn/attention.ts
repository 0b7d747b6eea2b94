/** Attention of the standard: over packed or separate heads, with a cache, or with subgraphs between its products. */

import { addDimensions, type Dimension, multiplyDimensions } from '../../model/dimension.ts';
import type {
  CostContext,
  Inference,
  InferenceContext,
  OperatorCost,
  OperatorDefinition,
} from '../definition.ts';
import { attentionMap, flexAttentionMap } from '../dimensions/sequences.ts';
import { attentionCost } from '../vocabulary/attentionCost.ts';
import { contradict } from '../vocabulary/broadcast.ts';
import { define } from '../vocabulary/define.ts';
import { data, detached, noRule } from '../vocabulary/facts.ts';
import { headsOf, productOfSizes } from '../vocabulary/heads.ts';
import { elementTypeOf, mismatch, printShape, single, tensor, unknownBecause } from '../vocabulary/types.ts';
import { unknownShapeCost } from '../vocabulary/work.ts';

const attention = define({
  type: 'Attention',
  since: 23,
  documentation:
    'softmax(Q·Kᵀ·scale + mask)·V per head, grouped queries allowed (ONNX Operators, Attention-25)',
  inputs: [
    data('Q'),
    data('K'),
    data('V'),
    data('attn_mask'),
    data('past_key'),
    data('past_value'),
    detached('nonpad_kv_seqlen'),
  ],
  pytorch: { layer: 'Attention', autocast: 'half' },
  runner: { rule: 'Attention' },
  infer: inferAttention,
  dimensions: attentionMap,
  cost: costOfAttention,
});

const flexAttention = define({
  type: 'FlexAttention',
  domain: 'ai.onnx.preview',
  documentation:
    'attention with subgraphs that change scores and probabilities (ONNX Operators, FlexAttention-1)',
  inputs: [data('Q'), data('K'), data('V')],
  pytorch: { layer: 'FlexAttention', autocast: 'half' },
  runner: noRule.onnxRuntime,
  infer: inferFlexAttention,
  dimensions: flexAttentionMap,
  cost: costOfAttention,
});

export const attentionOperators: readonly OperatorDefinition[] = [attention, flexAttention];

function inferAttention(context: InferenceContext): Inference {
  const wrong = wrongCombination(context);
  if (wrong !== undefined) return mismatch(wrong);
  const elementType = elementTypeOf(context, 0);
  const shapes: (readonly Dimension[])[] = [];
  for (const index of [0, 1, 2]) {
    const shape = context.inputShape(index);
    if (shape === undefined) return unknownBecause(context, index, elementType);
    shapes.push(shape);
  }
  const [queryShape = [], keyShape = [], valueShape = []] = shapes;
  const groups = context.int('kv_num_heads', 0);
  const query = headsOf(queryShape, context.int('q_num_heads', 0));
  const key = headsOf(keyShape, groups);
  const value = headsOf(valueShape, groups);
  if (query === undefined || key === undefined || value === undefined) {
    return mismatch(
      `Attention takes [batch, heads, length, size] or, with q_num_heads and kv_num_heads, [batch, length, heads·size], not ${shapes.map(printShape).join(', ')}`,
    );
  }
  const past = context.inputShape(4)?.[2];
  const total = past === undefined ? key.length : addDimensions(past, key.length);
  const output =
    queryShape.length === 3
      ? tensor(elementType, [query.batch, query.length, multiplyDimensions(value.size, query.heads)])
      : tensor(elementType, [query.batch, query.heads, query.length, value.size]);
  const outputs = [
    output,
    tensor(elementTypeOf(context, 1), [key.batch, key.heads, total, key.size]),
    tensor(elementTypeOf(context, 2), [value.batch, value.heads, total, value.size]),
    tensor(elementType, [query.batch, query.heads, query.length, total]),
  ];
  if (contradict(query.size, key.size)) {
    return mismatch(
      `queries of size ${query.size} and keys of size ${key.size} per head cannot be compared`,
      ...outputs,
    );
  }
  return context.outputCount > 1 ? { outputs } : single(output);
}

/** Attributes and caches that the specification does not allow together (ONNX Operators, Attention-25). */
function wrongCombination(context: InferenceContext): string | undefined {
  for (const name of ['left_window_size', 'right_window_size']) {
    const size = context.int(name, -1);
    if (size < -1) return `${name} ${size} must be −1 for no limit, or the size of the window`;
  }
  const [pastKey, pastValue, lengths] = [4, 5, 6].map((index) => context.inputType(index) !== undefined);
  if (pastKey !== pastValue) return 'past_key and past_value come together, but only one of them is given';
  if (pastKey && lengths)
    return 'nonpad_kv_seqlen describes a cache outside the operator; leave past_key out';
  if (context.opset >= 25 && context.outputCount === 2)
    return 'present_key and present_value come together, but only present_key is asked for';
  const heads =
    context.attribute('q_num_heads') !== undefined || context.attribute('kv_num_heads') !== undefined;
  return heads && context.opset >= 25 && context.inputShape(0)?.length === 4
    ? 'q_num_heads and kv_num_heads belong to inputs [batch, length, heads·size]; leave them out for four axes'
    : undefined;
}

/** ONNX preview operators, FlexAttention-1: four axes each, keys and values of the same groups and length. */
function inferFlexAttention(context: InferenceContext): Inference {
  const elementType = elementTypeOf(context, 0);
  const shapes: (readonly Dimension[])[] = [];
  for (const index of [0, 1, 2]) {
    const type = elementTypeOf(context, index);
    if (type !== 'undefined' && elementType !== 'undefined' && type !== elementType)
      return mismatch(`Q, K and V have one element type, not ${elementType} and ${type}`);
    const shape = context.inputShape(index);
    if (shape === undefined) return unknownBecause(context, index, elementType);
    if (shape.length !== 4)
      return mismatch(`FlexAttention takes [batch, heads, length, size], not ${printShape(shape)}`);
    shapes.push(shape);
  }
  const [query = [], key = [], value = []] = shapes;
  const [batch = 1, heads = 1, length = 1, size = 1] = query;
  const [, groups = 1, keys = 1, keySize = 1] = key;
  const [, valueGroups = 1, values = 1, valueSize = 1] = value;
  const type = tensor(elementType, [batch, heads, length, valueSize]);
  if (contradict(size, keySize))
    return mismatch(`queries of size ${size} and keys of size ${keySize} per head cannot be compared`, type);
  if (contradict(keys, values)) return mismatch(`${keys} keys do not fit ${values} values`, type);
  if (contradict(groups, valueGroups))
    return mismatch(`${groups} heads of keys do not fit ${valueGroups} heads of values`, type);
  if (typeof heads === 'number' && typeof groups === 'number' && (groups === 0 || heads % groups !== 0))
    return mismatch(`${heads} heads of queries cannot share ${groups} heads of keys evenly`, type);
  // The subgraphs see one score or probability tensor; their cost is element-wise and small beside the products.
  return single(type);
}

function costOfAttention(context: CostContext): OperatorCost {
  const [queryTensor, keyTensor, valueTensor] = [0, 1, 2].map((index) => context.input(index));
  if (queryTensor === undefined || keyTensor === undefined || valueTensor === undefined)
    return unknownShapeCost;
  const groups = context.int('kv_num_heads', 0);
  const query = headsOf(queryTensor.dimensions, context.int('q_num_heads', 0));
  const key = headsOf(keyTensor.dimensions, groups);
  const value = headsOf(valueTensor.dimensions, groups);
  const keys = productOfSizes(key?.length) + (context.input(4)?.dimensions[2] ?? 0);
  const window = windowOf(context);
  return attentionCost(
    context,
    {
      rows: productOfSizes(query?.batch, query?.heads, query?.length),
      queries: productOfSizes(query?.length),
      keys,
      ...(window === undefined || window >= keys ? {} : { window }),
      size: productOfSizes(query?.size),
      valueSize: productOfSizes(value?.size),
    },
    [0, 1, 2],
    {
      ...(hidesNothing(context) ? {} : { mask: 3 }),
      causal: context.int('is_causal', 0) === 1,
    },
  );
}

/**
 * A mask of booleans that are all true, as tracing writes it for `arange(n) >= 0`: the program gives no mask. Of a large one the file
 * was not read.
 */
function hidesNothing(context: CostContext): boolean {
  const content = context.inputContent(3);
  return (
    context.input(3)?.elementType === 'bool' && content !== undefined && content.every((shows) => shows === 1)
  );
}

/** Keys that a query sees, where it sees none behind itself and no mask of numbers, which no kernel skips. ONNX leaves itself out. */
function windowOf(context: CostContext): number | undefined {
  const before = context.int('left_window_size', -1);
  const isCausal = context.int('is_causal', 0) === 1 || context.int('right_window_size', -1) === 0;
  return before < 0 || !isCausal || context.input(3) !== undefined ? undefined : before + 1;
}
