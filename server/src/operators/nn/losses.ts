/** Losses: one number, or one per sample, from scores and labels. */

import type { Dimension } from '../../model/dimension.ts';
import type { InferenceContext, OperatorDefinition } from '../definition.ts';
import { lossMap } from '../dimensions/reductions.ts';
import { define } from '../vocabulary/define.ts';
import { data, detached, noRule } from '../vocabulary/facts.ts';
import { elementTypeOf, tensor, unknownBecause } from '../vocabulary/types.ts';
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

const inferLoss = (context: InferenceContext, logarithms: boolean) => {
  const elementType = elementTypeOf(context, 0);
  const labels = context.inputShape(1);
  const scores = context.inputShape(0);
  const reduced: readonly Dimension[] | undefined =
    context.string('reduction', 'mean') === 'none' ? (labels ?? scores?.filter((_, axis) => axis !== 1)) : [];
  if (reduced === undefined) return unknownBecause(context, 1, elementType);
  const loss = tensor(elementType, reduced);
  if (!logarithms || context.outputCount < 2) return { outputs: [loss] };
  return {
    outputs: [
      loss,
      scores === undefined ? (unknownBecause(context, 0).outputs[0] ?? loss) : tensor(elementType, scores),
    ],
  };
};

/** PyTorch: `cross_entropy` is `log_softmax`, which keeps its result, and `nll_loss`, which keeps its input. */
export const losses: readonly OperatorDefinition[] = [
  define({
    type: 'SoftmaxCrossEntropyLoss',
    since: 12,
    documentation: 'cross entropy of softmax scores (ONNX Operators, SoftmaxCrossEntropyLoss-13)',
    inputs: [data('scores'), detached('labels'), detached('weights')],
    traits: ['loss-of-scores'],
    pytorch: { layer: 'SoftmaxCrossEntropyLoss', autocast: 'fp32' },
    runner: { rule: 'SoftmaxCrossEntropyLoss' },
    infer: (context) => inferLoss(context, true),
    dimensions: lossMap,
    cost: (context) => {
      const scores = context.input(0);
      if (scores === undefined) return unknownShapeCost;
      const forward = work({
        operations: 6 * scores.elements,
        traffic: trafficOf(scores, scores, scores, context.input(1), context.output(0)),
        kernels: 2,
      });
      if (!needsGradient(context)) return cost('reduction', forward);
      const backward = work({
        operations: 4 * scores.elements,
        traffic: trafficOf(scores, scores, scores),
        kernels: 2,
      });
      const result =
        context.output(1) === undefined
          ? ({ kind: 'extra', name: 'log-probabilities', traffic: trafficOf(scores) } as const)
          : savedOutput(1);
      // Labels, and probabilities in their place (aten/src/ATen/native/LossNLL.cpp; tools/autograd/derivatives.yaml, 2.13).
      const saved = [result, savedInput(1)];
      return cost('reduction', forward, { ...backwardOf(context, () => backward), saved });
    },
  }),
  define({
    type: 'NegativeLogLikelihoodLoss',
    since: 12,
    documentation: 'negative log-likelihood of the labels (ONNX Operators, NegativeLogLikelihoodLoss-22)',
    inputs: [data('input'), detached('target'), detached('weight')],
    pytorch: { layer: 'NegativeLogLikelihoodLoss', autocast: 'fp32' },
    runner: noRule.unwritten,
    infer: (context) => inferLoss(context, false),
    dimensions: lossMap,
    cost: (context) => {
      const scores = context.input(0);
      const labels = context.input(1);
      if (scores === undefined || labels === undefined) return unknownShapeCost;
      const forward = work({
        operations: labels.elements,
        traffic: trafficOf(labels, labels, context.output(0)),
      });
      if (!needsGradient(context)) return cost('reduction', forward);
      const backward = work({ operations: labels.elements, traffic: trafficOf(scores, labels) });
      // Scores give backward their shape alone, and are kept all the same (tools/autograd/derivatives.yaml, nll_loss_forward, 2.13).
      const saved = [savedInput(0), savedInput(1)];
      return cost('reduction', forward, { ...backwardOf(context, () => backward), saved });
    },
  }),
];
