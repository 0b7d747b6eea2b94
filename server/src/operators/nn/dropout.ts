/** Dropout: identity in inference, a random mask in training. */

import type { Inference, InferenceContext, OperatorDefinition } from '../definition.ts';
import { likeInputMap } from '../dimensions/elementwise.ts';
import { define } from '../vocabulary/define.ts';
import { maskOf } from '../vocabulary/elementwise.ts';
import { data, detached } from '../vocabulary/facts.ts';
import { viewCost } from '../vocabulary/movement.ts';
import { elementTypeOf, tensor, tensorOfUnknownShape, whyUnknown } from '../vocabulary/types.ts';
import {
  addTraffic,
  backwardOf,
  byteTraffic,
  cost,
  needsGradient,
  trafficOf,
  unknownShapeCost,
  work,
} from '../vocabulary/work.ts';

export const dropout: OperatorDefinition = define({
  type: 'Dropout',
  documentation:
    'elements set to 0 at random in training, the input itself in inference (ONNX Operators, Dropout-22)',
  inputs: [data('data'), detached('ratio'), detached('training_mode')],
  traits: ['random'],
  pytorch: {
    layer: 'Dropout',
    autocast: 'widest',
    instructions: 'dropout',
  },
  runner: { rule: 'Dropout' },
  infer: inferDropout,
  dimensions: likeInputMap,
  cost: (context) => {
    const input = context.input(0);
    const output = context.output(0);
    const ratio = context.inputContent(1)?.[0] ?? context.float('ratio', 0.5);
    // A network that is being trained drops, however it was exported, also where no gradient passes.
    if (!context.training || ratio === 0) return viewCost(context);
    if (input === undefined || output === undefined) return unknownShapeCost;
    const mask = byteTraffic(output.elements);
    const pass = work({
      operations: 2 * output.elements,
      traffic: addTraffic(trafficOf(input, output), mask),
    });
    if (!needsGradient(context)) return cost('elementwise', pass);
    const { data, weight } = backwardOf(context, () => pass);
    return cost('elementwise', pass, { data, weight, saved: [maskOf(output)] });
  },
});

function inferDropout(context: InferenceContext): Inference {
  const shape = context.inputShape(0);
  const elementType = elementTypeOf(context, 0);
  const maskType = context.opset < 10 ? elementType : 'bool';
  if (shape === undefined) {
    const reason = whyUnknown(context, 0);
    return { outputs: [tensorOfUnknownShape(elementType, reason), tensorOfUnknownShape(maskType, reason)] };
  }
  const type = tensor(elementType, shape);
  return context.outputCount > 1 ? { outputs: [type, tensor(maskType, shape)] } : { outputs: [type] };
}
