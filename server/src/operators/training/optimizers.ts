/** Optimizers as operators: each input tensor comes back updated (domain ai.onnx.preview.training). */

import type {
  CostContext,
  Inference,
  InferenceContext,
  OperatorCost,
  OperatorDefinition,
} from '../definition.ts';
import type { DimensionMap } from '../dimensionMap.ts';
import { unknownMap } from '../dimensionMap.ts';
import { type AxisLabels, mapOfLabels } from '../dimensions/labels.ts';
import { define } from '../vocabulary/define.ts';
import { data, detached, noRule, variadic } from '../vocabulary/facts.ts';
import { unknownValue } from '../vocabulary/types.ts';
import { cost, trafficOf, unknownCost, work } from '../vocabulary/work.ts';

const domain = 'ai.onnx.preview.training';

/** Inputs are rate, step, then one group each of tensors, gradients and states; outputs are tensors and states. */
function inferUpdate(context: InferenceContext, states: number): Inference {
  const count = Math.floor((context.inputCount - 2) / (states + 2));
  const type = (index: number) =>
    context.inputType(index) ?? unknownValue('an input of the optimizer is missing');
  const groups = [0, ...Array.from({ length: states }, (_, state) => state + 2)];
  return {
    outputs: groups.flatMap((group) =>
      Array.from({ length: count }, (_, index) => type(2 + group * count + index)),
    ),
  };
}

function updateCost(context: CostContext, operations: number): OperatorCost {
  const inputs = Array.from({ length: context.inputCount }, (_, index) => context.input(index));
  const outputs = Array.from({ length: context.outputCount }, (_, index) => context.output(index));
  const elements = outputs.reduce((sum, output) => sum + (output?.elements ?? 0), 0);
  return cost(
    'elementwise',
    work({ operations: operations * elements, traffic: trafficOf(...inputs, ...outputs) }),
  );
}

/** Derivatives of one tensor of the graph by others: `xs` names the first inputs, one derivative for each. */
const gradient = define({
  type: 'Gradient',
  domain,
  documentation: 'derivatives of a tensor by others (ONNX preview training operators, Gradient-1)',
  inputs: [variadic(data('Inputs'))],
  pytorch: { layer: 'Gradient', autocast: 'widest' },
  runner: noRule.training,
  infer: (context) => ({
    outputs: Array.from(
      { length: context.outputCount },
      (_, index) => context.inputType(index) ?? unknownValue('an input of the gradient is missing'),
    ),
  }),
  dimensions: () => unknownMap('the operator stands for a part of the graph'),
  cost: () =>
    unknownCost(
      'the operator stands for the backward pass of a part of the graph, which training mode costs',
    ),
});

export const optimizerOperators: readonly OperatorDefinition[] = [
  gradient,
  ...(
    [
      ['Adagrad', 1, 4],
      ['Momentum', 1, 3],
      ['Adam', 2, 6],
    ] as const
  ).map(([type, states, operations]) =>
    define({
      type,
      domain,
      documentation: `one step of ${type} for several tensors (ONNX preview training operators, ${type}-1)`,
      inputs: [detached('R'), detached('T'), variadic(detached('inputs'))],
      pytorch: { layer: type, autocast: 'widest' },
      runner: noRule.training,
      infer: (context) => inferUpdate(context, states),
      dimensions: (context) => updateMap(context, states),
      cost: (context) => updateCost(context, operations),
    }),
  ),
];

/** Every tensor is updated element by element with its gradient and states. */
function updateMap(context: InferenceContext, states: number): DimensionMap {
  const count = Math.floor((context.inputCount - 2) / (states + 2));
  const labelsOf = (index: number): AxisLabels =>
    (context.inputShape(2 + index) ?? []).map((_, axis) => `t${index} a${axis}`);
  const tensors = Array.from({ length: count }, (_, index) => labelsOf(index));
  return mapOfLabels(context, {
    inputs: Object.fromEntries(
      Array.from({ length: states + 2 }, (_, group) => group).flatMap((group) =>
        tensors.map((labels, index) => [2 + group * count + index, labels]),
      ),
    ),
    outputs: Array.from({ length: states + 1 }, () => tensors).flat(),
  });
}
