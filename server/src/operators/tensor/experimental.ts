/**
 * Experimental operators of the default domain that ONNX removed in 1.5, as models from CoreML and Caffe2 still have them.
 *
 * Runtimes keep them (onnxruntime/core/graph/contrib_ops, "experimental ops"); the file's operator set does not.
 */

import { addDimensions, type Dimension } from '../../model/dimension.ts';
import type { OperatorDefinition } from '../definition.ts';
import { leadingMap, likeInputBut, likeInputMap } from '../dimensions/elementwise.ts';
import { define } from '../vocabulary/define.ts';
import {
  type ElementwiseGradient,
  elementwiseCost,
  inferLikeInput,
  readsInput,
  readsNothing,
} from '../vocabulary/elementwise.ts';
import { data, noRule } from '../vocabulary/facts.ts';
import { copyCost } from '../vocabulary/movement.ts';
import { elementTypeOf, mismatch, printShape, single, tensor, unknownBecause } from '../vocabulary/types.ts';

const rows: readonly (readonly [
  type: string,
  documentation: string,
  input: string,
  operations: number,
  gradient: ElementwiseGradient,
])[] = [
  ['Affine', 'αx + β', 'X', 2, readsNothing(1)],
  ['ImageScaler', 'an image times a factor plus a bias per channel', 'input', 2, readsNothing(1)],
  ['ParametricSoftplus', 'α·ln(1 + e^βx)', 'X', 4, readsInput(4)],
  ['Scale', 'αx', 'input', 1, readsNothing(1)],
  ['ScaledTanh', 'α·tanh(βx)', 'input', 3, readsInput(4)],
];

export const experimentalOperators: readonly OperatorDefinition[] = [
  ...rows.map(([type, documentation, input, operations, gradient]) =>
    define({
      type,
      documentation: `${documentation}, experimental, removed in ONNX 1.5 (${type}-1)`,
      inputs: [data(input)],
      pytorch: { layer: type, autocast: 'widest' },
      runner: noRule.unwritten,
      infer: (context) => inferLikeInput(context),
      dimensions: type === 'ImageScaler' ? (context) => likeInputBut(context, [1]) : likeInputMap,
      cost: (context) => elementwiseCost(context, operations, () => gradient),
    }),
  ),
  define({
    type: 'Crop',
    documentation: 'an image without its border, experimental, removed in ONNX 1.5 (Crop-1)',
    inputs: [data('input')],
    pytorch: { layer: 'Crop', autocast: 'widest' },
    runner: noRule.unwritten,
    infer: (context) => {
      const input = context.inputShape(0);
      const elementType = elementTypeOf(context, 0);
      if (input === undefined) return unknownBecause(context, 0);
      const [batch, channels, height, width] = input;
      const [left = 0, top = 0, right = 0, bottom = 0] = context.ints('border') ?? [];
      if (batch === undefined || channels === undefined || height === undefined || width === undefined)
        return mismatch(`an image is [batch, channels, height, width], not ${printShape(input)}`);
      const rest: readonly Dimension[] = [
        addDimensions(height, -top - bottom),
        addDimensions(width, -left - right),
      ];
      return single(tensor(elementType, [batch, channels, ...(context.ints('scale') ?? rest)]));
    },
    dimensions: (context) => leadingMap(context, ['batch', 'channels']),
    cost: (context) => copyCost(context, { readsWhatItGives: true, scatters: true }),
  }),
];
