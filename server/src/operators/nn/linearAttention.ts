/**
 * Attention that carries a state of fixed size instead of a cache that grows, and the convolution that goes with it.
 *
 * The versions of ONNX Runtime and of the standard agree in what they compute (ONNX Operators, LinearAttention-27 and
 * CausalConvWithState-27; ONNX Runtime, docs/ContribOperators.md).
 */

import {
  addDimensions,
  type Dimension,
  multiplyDimensions,
  unknownDimension,
} from '../../model/dimension.ts';
import type {
  CostContext,
  Inference,
  InferenceContext,
  OperatorCost,
  OperatorDefinition,
} from '../definition.ts';
import { causalConvolutionMap, linearAttentionMap } from '../dimensions/sequences.ts';
import { contradict } from '../vocabulary/broadcast.ts';
import { define } from '../vocabulary/define.ts';
import { data, noRule, weight } from '../vocabulary/facts.ts';
import { partOf } from '../vocabulary/heads.ts';
import {
  elementTypeOf,
  mismatch,
  printShape,
  tensor,
  tensorOfUnknownShape,
  unknownBecause,
  whyUnknown,
} from '../vocabulary/types.ts';
import {
  backwardOf,
  cost,
  needsGradient,
  savedInput,
  trafficOf,
  unknownShapeCost,
  work,
} from '../vocabulary/work.ts';

const domains = [
  { domain: '', since: 27, source: 'ONNX Operators', version: 27, runner: noRule.unwritten },
  {
    domain: 'com.microsoft',
    since: 1,
    source: 'ONNX Runtime contrib operators',
    version: 1,
    runner: noRule.onnxRuntime,
  },
] as const;

export const linearAttentionOperators: readonly OperatorDefinition[] = domains.flatMap(
  ({ domain, since, source, version, runner }) => [
    define({
      type: 'LinearAttention',
      domain,
      since,
      documentation: `attention by a recurrent state per head (${source}, LinearAttention-${version})`,
      inputs: [data('query'), data('key'), data('value'), data('past_state'), data('decay'), data('beta')],
      pytorch: { layer: 'LinearAttention', autocast: 'half' },
      runner,
      infer: inferLinearAttention,
      dimensions: linearAttentionMap,
      cost: linearAttentionCost,
    }),
    define({
      type: 'CausalConvWithState',
      domain,
      since,
      documentation: `depthwise convolution over past positions, with state (${source}, CausalConvWithState-${version})`,
      inputs: [data('input'), weight('weight'), weight('bias'), data('past_state')],
      pytorch: { layer: 'CausalConvWithState', autocast: 'half' },
      runner,
      infer: inferCausalConvolution,
      dimensions: causalConvolutionMap,
      cost: causalConvolutionCost,
    }),
  ],
);

/** Which gates a rule reads: decay is input 4, beta input 5. */
const updateRules: Readonly<Record<string, { readonly decay: boolean; readonly beta: boolean }>> = {
  linear: { decay: false, beta: false },
  gated: { decay: true, beta: false },
  delta: { decay: false, beta: true },
  gated_delta: { decay: true, beta: true },
};

function inferLinearAttention(context: InferenceContext): Inference {
  const elementType = elementTypeOf(context, 0);
  const heads = context.int('q_num_heads', 1);
  const groups = context.int('kv_num_heads', 1);
  const wrong = wrongAttributes(context, heads, groups) ?? wrongShapes(context, heads, groups);
  if (wrong !== undefined) return mismatch(wrong);
  const [query, key, value] = [0, 1, 2].map((index) => context.inputShape(index));
  const past = context.inputShape(3);
  const stateType = context.inputElementType(3) ?? elementType;
  // A state that comes in has the shape of the one that goes out, and tells the sizes per head.
  const [batchOfState, , keySizeOfState, valueSizeOfState] = past ?? [];
  const reason = whyUnknown(context, [query, key, value].indexOf(undefined));
  const batch = query?.[0] ?? key?.[0] ?? value?.[0] ?? batchOfState;
  const length = query?.[1] ?? key?.[1] ?? value?.[1];
  const [keyWidth, valueWidth] = [key?.[2], value?.[2]];
  const keySize = keyWidth === undefined ? keySizeOfState : partOf(keyWidth, groups);
  const valueSize = valueWidth === undefined ? valueSizeOfState : partOf(valueWidth, groups);
  const or = (dimension: Dimension | undefined): Dimension => dimension ?? unknownDimension(reason);
  const nothing = batch === undefined && length === undefined && valueSize === undefined;
  return {
    outputs: [
      nothing
        ? tensorOfUnknownShape(elementType, reason)
        : tensor(elementType, [or(batch), or(length), multiplyDimensions(or(valueSize), heads)]),
      past === undefined
        ? tensor(stateType, [or(batch), groups, or(keySize), or(valueSize)])
        : tensor(stateType, past),
    ],
  };
}

function wrongAttributes(context: InferenceContext, heads: number, groups: number): string | undefined {
  if (heads <= 0 || groups <= 0) return `q_num_heads ${heads} and kv_num_heads ${groups} must be positive`;
  // ONNX Runtime also lets several states share one head of queries.
  const divides = heads % groups === 0 || (context.opset < 27 && groups % heads === 0);
  if (!divides) return `${heads} heads of queries cannot share ${groups} states evenly`;
  const name = context.string('update_rule', 'gated_delta');
  const rule = updateRules[name];
  if (rule === undefined) return `update_rule '${name}' is none of ${Object.keys(updateRules).join(', ')}`;
  for (const [index, gate] of [
    [4, 'decay'],
    [5, 'beta'],
  ] as const) {
    const given = context.inputType(index) !== undefined;
    if (given !== rule[gate])
      return given
        ? `update_rule '${name}' has no ${gate}, but one is given`
        : `update_rule '${name}' needs ${gate}, but none is given`;
  }
  return undefined;
}

function wrongShapes(context: InferenceContext, heads: number, groups: number): string | undefined {
  for (const [index, name, rank] of [
    [0, 'the query', 3],
    [1, 'the key', 3],
    [2, 'the value', 3],
    [4, 'decay', 3],
    [5, 'beta', 3],
  ] as const) {
    const shape = context.inputShape(index);
    if (shape !== undefined && shape.length !== rank)
      return `${name} is [batch, length, width], not ${printShape(shape)}`;
  }
  const past = context.inputShape(3);
  if (past !== undefined && past.length !== 4 && context.int('state_window', 0) === 0)
    return `past_state is [batch, heads, key size, value size], not ${printShape(past)}`;
  const query = context.inputShape(0)?.[2];
  const key = context.inputShape(1)?.[2];
  if (typeof query === 'number' && query % heads !== 0)
    return `a query of width ${query} cannot be split into ${heads} heads`;
  const decay = context.inputShape(4)?.[2];
  if (typeof decay === 'number' && typeof key === 'number' && decay !== groups && decay !== key)
    return `decay of width ${decay} is neither one per state (${groups}) nor one per element of the key (${key})`;
  const beta = context.inputShape(5)?.[2];
  return typeof beta === 'number' && beta !== groups && beta !== 1
    ? `beta of width ${beta} is neither one per state (${groups}) nor 1`
    : undefined;
}

function linearAttentionCost(context: CostContext): OperatorCost {
  const [query, key, value] = [0, 1, 2].map((index) => context.input(index));
  const output = context.output(0);
  if (query === undefined || key === undefined || value === undefined || output === undefined)
    return unknownShapeCost;
  const heads = context.int('q_num_heads', 1);
  const groups = context.int('kv_num_heads', 1);
  const [batch, length, width] = query.dimensions;
  const [, , valueWidth] = value.dimensions;
  if (batch === undefined || length === undefined || width === undefined || valueWidth === undefined)
    return unknownShapeCost;
  const state = (width / heads) * (valueWidth / groups);
  // One outer product into the state and one product with it per token; delta rules read the state once more.
  const products = context.string('update_rule', 'gated_delta').includes('delta')
    ? groups * 2 + heads
    : groups + heads;
  const flops = 2 * batch * length * products * state;
  const gates = [3, 4, 5].map((index) => context.input(index));
  const forward = work({ flops, traffic: trafficOf(query, key, value, ...gates, output, context.output(1)) });
  const { data, weight } = backwardOf(context, (index) =>
    index === 0
      ? work({ flops: 2 * flops, traffic: trafficOf(query, key, value, output, query, key, value) })
      : work({ traffic: trafficOf(), kernels: 0 }),
  );
  const saved = needsGradient(context) ? [savedInput(0), savedInput(1), savedInput(2)] : [];
  return cost('attention', forward, { data, weight, saved });
}

const activations = ['none', 'silu', 'swish'];

function inferCausalConvolution(context: InferenceContext): Inference {
  const input = context.inputShape(0);
  const weight = context.inputShape(1);
  const elementType = elementTypeOf(context, 0);
  const activation = context.string('activation', 'none');
  if (!activations.includes(activation.toLowerCase()))
    return mismatch(`activation '${activation}' is none of ${activations.join(', ')}`);
  if (weight !== undefined && weight.length !== 3)
    return mismatch(`the weight is [channels, 1, kernel], not ${printShape(weight)}`);
  const kernel = weight?.[2];
  if (kernel === 0) return mismatch(`the kernel of weight ${printShape(weight ?? [])} has no positions`);
  if (input === undefined) return unknownBecause(context, 0);
  const [batch, channels, length] = input;
  if (input.length !== 3 || batch === undefined || channels === undefined || length === undefined)
    return mismatch(`the input is [batch, channels, length], not ${printShape(input)}`);
  const type = tensor(elementType, input);
  const kept =
    kernel === undefined
      ? unknownDimension(whyUnknown(context, 1))
      : multiplyDimensions(addDimensions(kernel, -1), context.int('dilation', 1));
  const outputs = [type, tensor(elementType, [batch, channels, kept])];
  return weight !== undefined && contradict(channels, weight[0] ?? channels)
    ? mismatch(`${channels} channels do not fit the weight ${printShape(weight)}`, ...outputs)
    : { outputs };
}

function causalConvolutionCost(context: CostContext): OperatorCost {
  const input = context.input(0);
  const weight = context.input(1);
  const output = context.output(0);
  if (input === undefined || weight === undefined || output === undefined) return unknownShapeCost;
  const flops = 2 * output.elements * (weight.dimensions.at(-1) ?? 1);
  const forward = work({
    flops,
    traffic: trafficOf(input, weight, context.input(2), context.input(3), output, context.output(1)),
  });
  const { data, weight: weightWork } = backwardOf(context, (index) =>
    index < 2
      ? work({ flops, traffic: trafficOf(output, input, weight) })
      : work({ traffic: trafficOf(output) }),
  );
  const saved = needsGradient(context) ? [savedInput(0), savedInput(1)] : [];
  return cost('depthwise-convolution', forward, { data, weight: weightWork, saved });
}
