/**
 * Operators of ONNX Runtime that do what an operator of the standard does, under another domain or name.
 *
 * Most are from before the standard had them, or take element types that it does not. Source: docs/ContribOperators.md of
 * microsoft/onnxruntime.
 */

import type { OperatorDefinition, OperatorInput } from '../definition.ts';
import { unaryOperators } from '../math/unary.ts';
import { pools } from '../nn/pooling.ts';
import { quantizations } from '../quantization/quantization.ts';
import { indexingOperators } from '../tensor/indexing.ts';
import { pad } from '../tensor/pad.ts';
import { reshapingOperators } from '../tensor/reshaping.ts';
import { resizingOperators } from '../tensor/resizing.ts';
import { shapeOperators } from '../tensor/shapes.ts';
import { slicingOperators } from '../tensor/slicing.ts';
import { defineContrib } from '../vocabulary/define.ts';
import { data, detached, host, noRule, weight } from '../vocabulary/facts.ts';

const standard: readonly OperatorDefinition[] = [
  ...unaryOperators,
  ...pools,
  ...quantizations,
  ...indexingOperators,
  pad,
  ...reshapingOperators,
  ...resizingOperators,
  ...shapeOperators,
  ...slicingOperators,
];

const rows: readonly (readonly [
  type: string,
  standard: string,
  documentation: string,
  inputs?: readonly OperatorInput[],
])[] = [
  ['DequantizeLinear', 'DequantizeLinear', '(x − zero point) · scale, 16 and 4 bits too'],
  ['ExpandDims', 'Unsqueeze', 'an axis of size 1 inserted', [data('X'), host('axis')]],
  ['GatherND', 'GatherND', 'slices at coordinates given by the last axis of the indices'],
  ['GridSample', 'GridSample', 'the input sampled at given coordinates', [data('X'), data('Grid')]],
  ['MaxpoolWithMask', 'MaxPool', 'largest element of each window under a mask', [data('X'), detached('M')]],
  [
    'Pad',
    'Pad',
    'elements added, or removed, at both ends of axes',
    [data('data'), host('pads'), detached('value')],
  ],
  ['QuantizeLinear', 'QuantizeLinear', 'x / scale rounded, 16 and 4 bits too'],
  ['Range', 'Range', 'start, start + step, … below a limit'],
  [
    'TorchEmbedding',
    'Gather',
    'rows of a table at given indices',
    [weight('weight'), detached('indices'), detached('padding_idx'), detached('scale_grad_by_freq')],
  ],
  ['Trilu', 'Trilu', 'upper or lower triangle of matrices'],
];

export const standardOperators: readonly OperatorDefinition[] = rows.flatMap(
  ([type, name, documentation, inputs]) => {
    const found = standard.find((definition) => definition.type === name && definition.domain === '');
    if (found === undefined) return [];
    const pytorch = { ...found.pytorch, layer: type };
    return [
      defineContrib({
        ...found,
        type,
        documentation,
        inputs: inputs ?? found.inputs,
        pytorch,
        runner: noRule.onnxRuntime,
      }),
    ];
  },
);
