/** Activations of ONNX Runtime, most with a bias that is added first. */

import type { OperatorDefinition, OperatorInput } from '../definition.ts';
import { broadcastMap } from '../dimensions/elementwise.ts';
import { biasSoftmaxMap, splitGeluMap } from '../dimensions/fused.ts';
import { define, defineContrib } from '../vocabulary/define.ts';
import {
  type ElementwiseGradient,
  elementwiseCost,
  inferBroadcast,
  inferLikeInput,
  passesThrough,
  readsInput,
  readsNothing,
} from '../vocabulary/elementwise.ts';
import { data, detached, noRule, weight } from '../vocabulary/facts.ts';
import { partOf } from '../vocabulary/heads.ts';
import { pickInputs } from '../vocabulary/pickInputs.ts';
import { mismatch, printShape, single, tensor, unknownBecause } from '../vocabulary/types.ts';

const rows: readonly (readonly [
  type: string,
  documentation: string,
  inputs: readonly OperatorInput[],
  operations: number,
  gradient: ElementwiseGradient,
])[] = [
  ['Gelu', 'x·Φ(x), Gaussian error linear unit', [data('X')], 5, readsInput(10)],
  [
    'FastGelu',
    'tanh approximation of GELU, of x plus a bias',
    [data('X'), weight('bias')],
    9,
    readsInput(14),
  ],
  ['BiasGelu', 'GELU of x plus a bias', [data('A'), weight('B')], 6, readsInput(11)],
  ['QuickGelu', 'x·sigmoid(αx)', [data('X')], 5, readsInput(6)],
  [
    'BiasAdd',
    'channels-last input plus bias plus residual',
    [data('X'), data('bias'), data('skip')],
    2,
    passesThrough,
  ],
];

/** Those that the runner has rules for. */
const runnable: ReadonlySet<string> = new Set(['Gelu', 'FastGelu']);

export const contribActivations: readonly OperatorDefinition[] = [
  ...rows.map(([type, documentation, inputs, operations, gradient]) =>
    defineContrib({
      type,
      documentation,
      inputs,
      pytorch: { layer: type === 'Gelu' ? 'GELU' : type, autocast: 'widest' },
      ...(runnable.has(type) && { runner: { rule: type } }),
      infer: (context) => inferLikeInput(context),
      dimensions: (context) => broadcastMap(context, { likeFirst: true }),
      cost: (context) => elementwiseCost(context, operations, () => gradient),
    }),
  ),
  define({
    type: 'FastGelu',
    domain: 'ai.onnx.contrib',
    documentation: 'tanh approximation of GELU, of x plus a bias (onnxruntime-extensions, FastGelu-1)',
    inputs: [data('X'), weight('bias')],
    pytorch: { layer: 'FastGelu', autocast: 'widest' },
    runner: noRule.onnxRuntime,
    infer: (context) => inferLikeInput(context),
    dimensions: (context) => broadcastMap(context, { likeFirst: true }),
    cost: (context) => elementwiseCost(context, 9, () => readsInput(14)),
  }),
  defineContrib({
    type: 'BiasSplitGelu',
    documentation: 'x plus a bias, one half times GELU of the other',
    inputs: [data('X'), weight('bias')],
    pytorch: { layer: 'BiasSplitGelu', autocast: 'widest' },
    infer: (context) => {
      const input = context.inputShape(0);
      if (input === undefined) return unknownBecause(context, 0);
      const width = input.at(-1);
      if (width === undefined) return mismatch(`${printShape(input)} has no axis to split`);
      return single(
        tensor(context.inputElementType(0) ?? 'undefined', [...input.slice(0, -1), partOf(width, 2)]),
      );
    },
    dimensions: splitGeluMap,
    cost: (context) => elementwiseCost(context, 7, () => readsInput(12)),
  }),
  defineContrib({
    type: 'BiasSoftmax',
    documentation: 'softmax of a tensor plus a bias that is broadcast',
    inputs: [data('data'), data('bias')],
    pytorch: { layer: 'BiasSoftmax', autocast: 'widest' },
    infer: (context) => inferLikeInput(context),
    dimensions: biasSoftmaxMap,
    cost: (context) =>
      elementwiseCost(context, 6, () => ({ ...readsNothing(4), reads: [{ kind: 'output', index: 0 }] })),
  }),
  defineContrib({
    type: 'BiasDropout',
    documentation: 'dropout of a tensor plus a bias, plus a residual',
    inputs: [data('data'), data('bias'), data('residual'), data('ratio'), detached('training_mode')],
    traits: ['random'],
    pytorch: { layer: 'BiasDropout', autocast: 'widest' },
    infer: (context) => {
      const first = inferLikeInput(context);
      const [type] = first.outputs;
      const mask = type?.kind === 'tensor' ? [{ ...type, elementType: 'bool' as const }] : [];
      return { ...first, outputs: [...first.outputs, ...mask] };
    },
    dimensions: (context) => broadcastMap(context, { inputs: [0, 1, 2], likeFirst: true }),
    cost: (context) => elementwiseCost(context, 3, () => ({ reads: ['mask'], operations: 1 })),
  }),
  defineContrib({
    type: 'MulInteger',
    documentation: 'product of 8-bit integers with broadcasting, in int32',
    inputs: [detached('A'), detached('A_zero_point'), detached('B'), detached('B_zero_point')],
    pytorch: { layer: 'MulInteger', autocast: 'widest' },
    infer: (context) => {
      const left = context.inputShape(0);
      const right = context.inputShape(2);
      if (left === undefined) return unknownBecause(context, 0, 'int32');
      if (right === undefined) return unknownBecause(context, 2, 'int32');
      return inferBroadcast(pickInputs(context, [0, 2]), { elementType: 'int32' });
    },
    dimensions: (context) => broadcastMap(context, { inputs: [0, 2] }),
    cost: (context) => elementwiseCost(context, 3, () => undefined),
  }),
];
