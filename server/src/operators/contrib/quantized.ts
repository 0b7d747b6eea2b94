/**
 * Element-wise operators, pools and joins of quantized tensors: data between its scales and zero points.
 *
 * Work counts the scaling in and out as operations; nothing is trained through them.
 */

import { countElements } from '../../model/countElements.ts';
import type {
  CostContext,
  Inference,
  InferenceContext,
  OperatorCost,
  OperatorDefinition,
} from '../definition.ts';
import { broadcastMap } from '../dimensions/elementwise.ts';
import { concatMap } from '../dimensions/parts.ts';
import { poolMap } from '../dimensions/windows.ts';
import { inferGlobalPool, inferPool, poolCost, spatialElements } from '../nn/pooling.ts';
import { inferConcat } from '../tensor/concat.ts';
import { normalizeAxis } from '../vocabulary/axes.ts';
import { defineContrib } from '../vocabulary/define.ts';
import { elementwiseCost, inferBroadcast, inferLikeInput } from '../vocabulary/elementwise.ts';
import { detached, variadic } from '../vocabulary/facts.ts';
import { copyCost } from '../vocabulary/movement.ts';
import { pickInputs } from '../vocabulary/pickInputs.ts';
import { elementTypeOf } from '../vocabulary/types.ts';

/** Type, what it computes, its inputs, which of them are data, operations per element. */
const rows: readonly (readonly [
  type: string,
  documentation: string,
  inputs: readonly string[],
  data: readonly number[],
  operations: number,
])[] = [
  [
    'QLinearAdd',
    'sum of quantized tensors with broadcasting',
    ['A', 'A_scale', 'A_zero_point', 'B', 'B_scale', 'B_zero_point', 'C_scale', 'C_zero_point'],
    [0, 3],
    7,
  ],
  [
    'QLinearMul',
    'product of quantized tensors with broadcasting',
    ['A', 'A_scale', 'A_zero_point', 'B', 'B_scale', 'B_zero_point', 'C_scale', 'C_zero_point'],
    [0, 3],
    7,
  ],
  [
    'QLinearSigmoid',
    'sigmoid of a quantized tensor',
    ['X', 'X_scale', 'X_zero_point', 'Y_scale', 'Y_zero_point'],
    [0],
    8,
  ],
  [
    'QLinearLeakyRelu',
    'x, or αx below 0, of a quantized tensor',
    ['X', 'X_scale', 'X_zero_point', 'Y_scale', 'Y_zero_point'],
    [0],
    6,
  ],
  [
    'QLinearSoftmax',
    'softmax of a quantized tensor',
    ['X', 'X_scale', 'x_zero_point', 'y_scale', 'y_zero_point'],
    [0],
    9,
  ],
  ['QOrderedGelu', 'GELU of a quantized tensor in an order of its own', ['X', 'scale_X', 'scale_Y'], [0], 9],
  [
    'QOrderedLayerNormalization',
    'layer normalization of a quantized tensor, quantized again',
    ['X', 'scale_X', 'scale', 'B', 'scale_Y'],
    [0],
    12,
  ],
  [
    'QLinearWhere',
    'one of two quantized tensors where a condition holds',
    ['condition', 'X', 'x_scale', 'x_zero_point', 'Y', 'y_scale', 'y_zero_point', 'z_scale', 'z_zero_point'],
    [0, 1, 4],
    5,
  ],
];

export const quantizedOperators: readonly OperatorDefinition[] = [
  ...rows.map(([type, documentation, inputs, data, operations]) =>
    defineContrib({
      type,
      documentation,
      inputs: inputs.map(detached),
      pytorch: { layer: type, autocast: 'widest' },
      infer: (context) => inferQuantized(context, data),
      dimensions: (context) =>
        broadcastMap(context, {
          inputs: data,
          isPrivate: (axis) => isRowAxis(context, type, axis),
        }),
      cost: (context) => quantizedCost(context, data, operations),
    }),
  ),
  defineContrib({
    type: 'QLinearAveragePool',
    documentation: 'mean of each window of a quantized tensor',
    inputs: [
      detached('X'),
      detached('x_scale'),
      detached('x_zero_point'),
      detached('y_scale'),
      detached('y_zero_point'),
    ],
    pytorch: { layer: 'QLinearAveragePool', autocast: 'widest' },
    infer: (context) => inferPool(context, 0),
    dimensions: (context) => poolMap(context, { channelsLast: context.int('channels_last', 0) !== 0 }),
    cost: (context) => poolCost(context, countElements(context.ints('kernel_shape') ?? []), []),
  }),
  defineContrib({
    type: 'QLinearGlobalAveragePool',
    documentation: 'mean over all spatial axes of a quantized tensor',
    inputs: [
      detached('X'),
      detached('x_scale'),
      detached('x_zero_point'),
      detached('y_scale'),
      detached('y_zero_point'),
    ],
    pytorch: { layer: 'QLinearGlobalAveragePool', autocast: 'widest' },
    infer: inferGlobalPool,
    dimensions: (context) => poolMap(context, { channelsLast: context.int('channels_last', 0) !== 0 }),
    cost: (context) => poolCost(context, spatialElements(context), []),
  }),
  defineContrib({
    type: 'QLinearConcat',
    documentation: 'quantized tensors joined along an axis, scaled to one range',
    inputs: [detached('Y_scale'), detached('Y_zero_point'), variadic(detached('inputs'))],
    pytorch: { layer: 'QLinearConcat', autocast: 'widest' },
    infer: (context) => inferConcat(pickInputs(context, joinedInputs(context.inputCount))),
    dimensions: (context) => concatMap(context, joinedInputs(context.inputCount)),
    cost: (context) => copyCost(context, { perOutput: 4 }),
  }),
];

/** Behind the scale and zero point of the output come tensor, scale and zero point of each part. */
const joinedInputs = (count: number): readonly number[] =>
  Array.from({ length: Math.max(0, Math.floor((count - 2) / 3)) }, (_, part) => 2 + 3 * part);

function inferQuantized(context: InferenceContext, data: readonly number[]): Inference {
  const elementType = elementTypeOf(context, data.length === 3 ? 1 : 0);
  const picked = pickInputs(context, data);
  return data.length === 1 ? inferLikeInput(picked) : inferBroadcast(picked, { elementType });
}

function quantizedCost(context: CostContext, data: readonly number[], operations: number): OperatorCost {
  return elementwiseCost(context, operations * Math.max(1, data.length - 1), () => undefined);
}

/** Axes counted from the end that are worked on as one row. */
function isRowAxis(context: InferenceContext, type: string, axisFromEnd: number): boolean {
  if (type === 'QOrderedLayerNormalization') return axisFromEnd === -1;
  if (type !== 'QLinearSoftmax') return false;
  const rank = context.inputShape(0)?.length ?? 0;
  const axis = normalizeAxis(context.int('axis', -1), rank) ?? 0;
  return context.int('opset', 13) < 13 ? axisFromEnd + rank >= axis : axisFromEnd + rank === axis;
}
