/**
 * Attention and what comes with it.
 *
 * FLOPs follow `torch.utils.flop_counter`: forward 2·batch·heads·queries·keys·(d + d_v), a causal mask not halved;
 * backward is that of flash attention, which computes the scores again: three products of the size of queries by
 * keys by d, two by d_v (`sdpa_backward_flop_count`). Kept are query, key, value, output and one logarithm per query
 * (`_scaled_dot_product_flash_attention`), never the scores.
 */

import {
  addDimensions,
  type Dimension,
  divideExactly,
  floorDivideDimensions,
} from '../../model/dimension.ts';
import type {
  CostContext,
  Inference,
  InferenceContext,
  OperatorCost,
  OperatorDefinition,
  SavedTensor,
} from '../definition.ts';
import { define } from '../vocabulary/define.ts';
import {
  elementwiseCost,
  inferBroadcast,
  inferLikeInput,
  readsInput,
  readsNothing,
} from '../vocabulary/elementwise.ts';
import { elementTypeOf, mismatch, printShape, single, tensor, unknownBecause } from '../vocabulary/types.ts';
import {
  backwardOf,
  cost,
  needsGradient,
  savedInput,
  savedOutput,
  trafficOf,
  unknownShapeCost,
  work,
} from '../vocabulary/work.ts';

const attention = define({
  type: 'Attention',
  since: 23,
  documentation:
    'softmax(Q·Kᵀ·scale + mask)·V per head, grouped queries allowed (ONNX Operators, Attention-23)',
  infer: inferAttention,
  cost: attentionCost,
});

const linearAttention = define({
  type: 'LinearAttention',
  since: 27,
  documentation: 'attention by a recurrent state per head (ONNX Operators, LinearAttention-27)',
  infer: (context) => {
    const query = context.inputShape(0);
    const key = context.inputShape(1);
    const value = context.inputShape(2);
    const elementType = elementTypeOf(context, 0);
    for (const [index, shape] of [query, key, value].entries()) {
      if (shape === undefined) return unknownBecause(context, index, elementType);
    }
    const heads = context.int('q_num_heads', 1);
    const groups = context.int('kv_num_heads', 1);
    const [batch = 1, length = 1] = query ?? [];
    const keySize = floorDivideDimensions(key?.[2] ?? 0, groups);
    const valueSize = floorDivideDimensions(value?.[2] ?? 0, groups);
    const width = typeof valueSize === 'number' ? valueSize * heads : valueSize;
    const state = tensor(context.inputElementType(3) ?? elementType, [batch, groups, keySize, valueSize]);
    return { outputs: [tensor(elementType, [batch, length, width]), state] };
  },
  cost: (context) => {
    const [query, key, value] = [0, 1, 2].map((index) => context.input(index));
    const output = context.output(0);
    if (query === undefined || key === undefined || value === undefined || output === undefined)
      return unknownShapeCost;
    const heads = context.int('q_num_heads', 1);
    const groups = context.int('kv_num_heads', 1);
    const [batch = 1, length = 1, width = 0] = query.dimensions;
    const state = (width / heads) * ((value.dimensions[2] ?? 0) / groups);
    // One outer product into the state and one product with it per token; delta rules read the state once more.
    const products = context.string('update_rule', 'gated_delta').includes('delta')
      ? groups * 2 + heads
      : groups + heads;
    const flops = 2 * batch * length * products * state;
    const forward = work({ flops, traffic: trafficOf(query, key, value, output) });
    const { data, weight } = backwardOf(context, (index) =>
      index === 0
        ? work({ flops: 2 * flops, traffic: trafficOf(query, key, value, output, query, key, value) })
        : work({ traffic: trafficOf(), kernels: 0 }),
    );
    const saved = needsGradient(context) ? [savedInput(0), savedInput(1), savedInput(2)] : [];
    return cost('attention', forward, { data, weight, saved });
  },
});

const rotaryEmbedding = define({
  type: 'RotaryEmbedding',
  since: 23,
  documentation: 'pairs of elements rotated by their position (ONNX Operators, RotaryEmbedding-23)',
  infer: (context) => inferLikeInput(context),
  cost: (context) =>
    elementwiseCost(context, 3, (index) =>
      index === 0 ? { ...readsNothing(3), reads: [savedInput(1), savedInput(2)] } : undefined,
    ),
});

const gatedActivation = define({
  type: 'SwiGLU',
  since: 28,
  documentation: 'swish of a gate times a value (ONNX Operators, SwiGLU-28)',
  infer: (context) => inferBroadcast(context),
  cost: (context) =>
    elementwiseCost(context, 6, () => ({ ...readsInput(6), reads: [savedInput(0), savedInput(1)] })),
});

const causalConvolution = define({
  type: 'CausalConvWithState',
  since: 27,
  documentation:
    'depthwise convolution over past positions, carrying the last ones (ONNX Operators, CausalConvWithState-27)',
  infer: (context) => {
    const input = context.inputShape(0);
    const weight = context.inputShape(1);
    const elementType = elementTypeOf(context, 0);
    if (input === undefined) return unknownBecause(context, 0);
    const [batch = 1, channels = 1] = input;
    const kept = weight === undefined ? undefined : addDimensions(weight.at(-1) ?? 1, -1);
    return {
      outputs: [
        tensor(elementType, input),
        kept === undefined
          ? (unknownBecause(context, 1, elementType).outputs[0] ?? tensor(elementType, []))
          : tensor(elementType, [batch, channels, kept]),
      ],
    };
  },
  cost: (context) => {
    const input = context.input(0);
    const weight = context.input(1);
    const output = context.output(0);
    if (input === undefined || weight === undefined || output === undefined) return unknownShapeCost;
    const flops = 2 * output.elements * (weight.dimensions.at(-1) ?? 1);
    const forward = work({ flops, traffic: trafficOf(input, weight, output) });
    const { data, weight: weightWork } = backwardOf(context, (index) =>
      index < 2
        ? work({ flops, traffic: trafficOf(output, input, weight) })
        : work({ traffic: trafficOf(output) }),
    );
    const saved = needsGradient(context) ? [savedInput(0), savedInput(1)] : [];
    return cost('depthwise-convolution', forward, { data, weight: weightWork, saved });
  },
});

export const attentionOperators: readonly OperatorDefinition[] = [
  attention,
  linearAttention,
  rotaryEmbedding,
  gatedActivation,
  causalConvolution,
];

/** One of Q, K, V as batch, heads, length and size per head: four axes, or three with heads packed in the last. */
interface Heads<Size> {
  readonly batch: Size;
  readonly heads: Size;
  readonly length: Size;
  readonly size: Size;
}

function headsOf(shape: readonly Dimension[], heads: number): Heads<Dimension> | undefined {
  const [first, second, third, fourth] = shape;
  if (first === undefined || second === undefined || third === undefined) return undefined;
  if (fourth !== undefined) return { batch: first, heads: second, length: third, size: fourth };
  if (heads <= 0) return undefined;
  return {
    batch: first,
    heads,
    length: second,
    size: divideExactly(third, heads) ?? floorDivideDimensions(third, heads),
  };
}

function inferAttention(context: InferenceContext): Inference {
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
  const packed = queryShape.length === 3;
  const width =
    typeof query.heads === 'number' && typeof value.size === 'number' ? query.heads * value.size : value.size;
  const output = packed
    ? tensor(elementType, [query.batch, query.length, width])
    : tensor(elementType, [query.batch, query.heads, query.length, value.size]);
  const outputs = [
    output,
    tensor(elementTypeOf(context, 1), [key.batch, key.heads, total, key.size]),
    tensor(elementTypeOf(context, 2), [value.batch, value.heads, total, value.size]),
    tensor(elementType, [query.batch, query.heads, query.length, total]),
  ];
  if (typeof query.size === 'number' && typeof key.size === 'number' && query.size !== key.size) {
    return mismatch(
      `queries of size ${query.size} and keys of size ${key.size} per head cannot be compared`,
      ...outputs,
    );
  }
  return context.outputCount > 1 ? { outputs } : single(output);
}

function attentionCost(context: CostContext): OperatorCost {
  const [queryTensor, keyTensor, valueTensor] = [0, 1, 2].map((index) => context.input(index));
  const output = context.output(0);
  if (
    queryTensor === undefined ||
    keyTensor === undefined ||
    valueTensor === undefined ||
    output === undefined
  ) {
    return unknownShapeCost;
  }
  const groups = context.int('kv_num_heads', 0);
  const query = headsOf(queryTensor.dimensions, context.int('q_num_heads', 0));
  const key = headsOf(keyTensor.dimensions, groups);
  const value = headsOf(valueTensor.dimensions, groups);
  const rows = product(query?.batch, query?.heads, query?.length);
  const keys = product(key?.length) + (context.input(4)?.dimensions[2] ?? 0);
  const scores = rows * keys;
  const size = product(query?.size);
  const valueSize = product(value?.size);
  const forward = work({
    flops: 2 * scores * (size + valueSize),
    operations: 5 * scores,
    traffic: trafficOf(
      queryTensor,
      keyTensor,
      valueTensor,
      context.input(3),
      context.input(4),
      context.input(5),
      output,
    ),
  });
  if (!needsGradient(context)) return cost('attention', forward);
  // One fused kernel computes all three gradients.
  const backward = work({
    flops: 2 * scores * (3 * size + 2 * valueSize),
    operations: 10 * scores,
    traffic: trafficOf(
      queryTensor,
      keyTensor,
      valueTensor,
      output,
      output,
      queryTensor,
      keyTensor,
      valueTensor,
    ),
  });
  const [first] = [0, 1, 2].filter((index) => context.gradient(index) !== 'none');
  const { data, weight } = backwardOf(context, (index) =>
    index === first ? backward : work({ traffic: trafficOf(), kernels: 0 }),
  );
  const logarithms: SavedTensor = {
    kind: 'extra',
    name: 'logarithm of the sum per query',
    traffic: { float32Elements: 0, fixedBytes: 4 * rows },
  };
  return cost('attention', forward, {
    data,
    weight,
    saved: [savedInput(0), savedInput(1), savedInput(2), savedOutput(0), logarithms],
  });
}

const product = (...sizes: readonly (Dimension | undefined)[]): number =>
  sizes.reduce<number>((total, size) => total * (typeof size === 'number' ? size : 0), 1);
