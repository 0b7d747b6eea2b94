/** Conversions between floating point and quantized integers. */

import { elementTypeOfNumber } from '../../model/elementType.ts';
import type { InferenceContext, OperatorDefinition } from '../definition.ts';
import { likeInputBut } from '../dimensions/elementwise.ts';
import { quantizationMap } from '../dimensions/quantization.ts';
import { define, ownDomain } from '../vocabulary/define.ts';
import { elementwiseCost, inferLikeInput, passesThrough } from '../vocabulary/elementwise.ts';
import { data, detached, noRule } from '../vocabulary/facts.ts';
import { elementTypeOf, invalid, tensor, tensorOfUnknownShape, whyUnknown } from '../vocabulary/types.ts';

const quantizeLinear = define({
  type: 'QuantizeLinear',
  since: 10,
  documentation: 'x / scale rounded to an integer type (ONNX Operators, QuantizeLinear-28)',
  inputs: [detached('x'), detached('y_scale'), detached('y_zero_point')],
  pytorch: { layer: 'QuantizeLinear', autocast: 'widest' },
  runner: noRule.quantized,
  infer: (context) => {
    const asked = requestedType(context, 'output_dtype');
    const zeroPoint = context.inputElementType(2);
    if (asked !== undefined && zeroPoint !== undefined && zeroPoint !== 'undefined' && asked !== zeroPoint)
      return invalid(`output_dtype asks for ${asked}, but the zero point is of ${zeroPoint}`);
    return inferLikeInput(context, { elementType: asked ?? zeroPoint ?? 'uint8' });
  },
  dimensions: quantizationMap,
  cost: (context) => elementwiseCost(context, 3, (index) => (index === 0 ? passesThrough : undefined)),
});

const dequantizeLinear = define({
  type: 'DequantizeLinear',
  since: 10,
  documentation: '(x − zero point) · scale (ONNX Operators, DequantizeLinear-28)',
  inputs: [data('x'), detached('x_scale'), detached('x_zero_point')],
  traits: ['passes-elements'],
  pytorch: { layer: 'DequantizeLinear', autocast: 'widest' },
  runner: noRule.quantized,
  infer: (context) =>
    inferLikeInput(context, {
      elementType: requestedType(context, 'output_dtype') ?? elementTypeOf(context, 1),
    }),
  dimensions: quantizationMap,
  cost: (context) => elementwiseCost(context, 2, (index) => (index === 0 ? passesThrough : undefined)),
});

/** Backward keeps which elements were not clipped (PyTorch 2.13 tools/autograd/derivatives.yaml, `fake_quantize_per_tensor_affine_cachemask`). */
const fakeQuantize = define({
  type: 'FakeQuantize',
  domain: ownDomain,
  documentation:
    'x rounded to steps of an integer type (torch.fake_quantize_per_tensor_affine of PyTorch 2.13, FakeQuantize-1)',
  inputs: [data('x'), detached('scale'), detached('zero_point')],
  traits: ['passes-elements'],
  pytorch: { layer: 'FakeQuantize', autocast: 'widest' },
  runner: noRule.quantized,
  infer: inferLikeInput,
  dimensions: quantizationMap,
  cost: (context) =>
    elementwiseCost(context, 5, (index) => (index === 0 ? { reads: ['mask'], operations: 1 } : undefined)),
});

const dynamicQuantizeLinear = define({
  type: 'DynamicQuantizeLinear',
  since: 11,
  documentation: 'x quantized to uint8 by its own range (ONNX Operators, DynamicQuantizeLinear-11)',
  inputs: [data('x')],
  pytorch: { layer: 'DynamicQuantizeLinear', autocast: 'widest' },
  runner: noRule.quantized,
  infer: (context) => {
    const input = context.inputShape(0);
    const quantized =
      input === undefined ? tensorOfUnknownShape('uint8', whyUnknown(context, 0)) : tensor('uint8', input);
    return { outputs: [quantized, tensor('float32', []), tensor('uint8', [])] };
  },
  dimensions: (context) =>
    likeInputBut(context, [], {
      outputs: 1,
      details: { coupled: 'scale and zero point are those of the whole range' },
    }),
  cost: (context) => elementwiseCost(context, 5, () => passesThrough),
});

const requestedType = (context: InferenceContext, attribute: string) => {
  const number = context.int(attribute, 0);
  return number === 0 ? undefined : elementTypeOfNumber(number);
};

export const quantizations: readonly OperatorDefinition[] = [
  quantizeLinear,
  dequantizeLinear,
  fakeQuantize,
  dynamicQuantizeLinear,
];
