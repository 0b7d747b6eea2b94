/** Operators that make tensors of a given shape: random numbers, windows, unit matrices. */

import { type Dimension, unknownDimension } from '../../model/dimension.ts';
import { type ElementType, elementTypeOfNumber } from '../../model/elementType.ts';
import type { InferenceContext, OperatorDefinition } from '../definition.ts';
import { privateMap } from '../dimensionMap.ts';
import { likeInputMap, rowsMap } from '../dimensions/elementwise.ts';
import { filledMap } from '../dimensions/sizes.ts';
import { scalarOf } from '../vocabulary/contents.ts';
import { define } from '../vocabulary/define.ts';
import { detached, host, noRule } from '../vocabulary/facts.ts';
import { copyCost, fillCost } from '../vocabulary/movement.ts';
import { elementTypeOf, single, tensor, unknownBecause, whyUnknown } from '../vocabulary/types.ts';

const requestedType = (context: InferenceContext, otherwise: ElementType): ElementType =>
  (context.attribute('dtype') === undefined ? undefined : elementTypeOfNumber(context.int('dtype', 1))) ??
  otherwise;

const random = (['RandomNormal', 'RandomUniform'] as const).map((type) =>
  define({
    type,
    documentation: `random numbers in a given shape (ONNX Operators, ${type}-22)`,
    inputs: [],
    traits: ['generator', 'random'],
    pytorch: { layer: type, autocast: 'widest' },
    runner: noRule.unwritten,
    infer: (context) => single(tensor(requestedType(context, 'float32'), context.ints('shape') ?? [])),
    dimensions: (context) => filledMap(context, 'shape'),
    cost: fillCost,
  }),
);

/** Output of the shape of the input, and of its type unless another is asked for. Nothing of it is read. */
const likeInput = (
  [
    ['RandomNormalLike', 1, 'random numbers in the shape of the input (ONNX Operators, RandomNormalLike-22)'],
    [
      'RandomUniformLike',
      1,
      'random numbers in the shape of the input (ONNX Operators, RandomUniformLike-22)',
    ],
    ['Bernoulli', 15, 'random 0 and 1 with given probabilities (ONNX Operators, Bernoulli-22)'],
    ['EyeLike', 9, 'a unit matrix in the shape of the input (ONNX Operators, EyeLike-22)'],
  ] as const
).map(([type, since, documentation]) =>
  define({
    type,
    since,
    documentation,
    inputs: [detached('input')],
    ...(type !== 'EyeLike' && { traits: ['random'] as const }),
    pytorch: { layer: type, autocast: 'widest' },
    runner: { rule: type },
    infer: (context) => {
      const input = context.inputShape(0);
      const elementType = requestedType(context, elementTypeOf(context, 0));
      return input === undefined
        ? unknownBecause(context, 0, elementType)
        : single(tensor(elementType, input));
    },
    dimensions: type === 'EyeLike' ? () => privateMap : likeInputMap,
    cost: fillCost,
  }),
);

const windows = (['BlackmanWindow', 'HammingWindow', 'HannWindow'] as const).map((type) =>
  define({
    type,
    since: 17,
    documentation: `a window function for spectra (ONNX Operators, ${type}-17)`,
    inputs: [host('size')],
    pytorch: { layer: type, autocast: 'widest' },
    runner: noRule.unwritten,
    infer: (context) => {
      const elementType = elementTypeOfNumber(context.int('output_datatype', 1)) ?? 'float32';
      return single(tensor(elementType, [scalarOf(context, 0) ?? unknownDimension(whyUnknown(context, 0))]));
    },
    dimensions: () => privateMap,
    cost: fillCost,
  }),
);

const melWeightMatrix = define({
  type: 'MelWeightMatrix',
  since: 17,
  documentation: 'weights from a spectrum to mel bins (ONNX Operators, MelWeightMatrix-17)',
  inputs: [
    host('num_mel_bins'),
    host('dft_length'),
    host('sample_rate'),
    detached('lower_edge_hertz'),
    detached('upper_edge_hertz'),
  ],
  pytorch: { layer: 'MelWeightMatrix', autocast: 'widest' },
  runner: noRule.unwritten,
  infer: (context) => {
    const bins = scalarOf(context, 0);
    const length = scalarOf(context, 1);
    const lines: Dimension =
      typeof length === 'number' ? Math.floor(length / 2) + 1 : unknownDimension(whyUnknown(context, 1));
    const elementType = elementTypeOfNumber(context.int('output_datatype', 1)) ?? 'float32';
    return single(tensor(elementType, [lines, bins ?? unknownDimension(whyUnknown(context, 0))]));
  },
  dimensions: () => privateMap,
  cost: fillCost,
});

const multinomial = define({
  type: 'Multinomial',
  since: 7,
  documentation: 'samples of a distribution per row (ONNX Operators, Multinomial-22)',
  inputs: [detached('input')],
  traits: ['random'],
  pytorch: { layer: 'Multinomial', autocast: 'widest' },
  runner: noRule.unwritten,
  infer: (context) => {
    const [batch] = context.inputShape(0) ?? [];
    const elementType = requestedType(context, 'int32');
    return single(
      tensor(elementType, [batch ?? unknownDimension(whyUnknown(context, 0)), context.int('sample_size', 1)]),
    );
  },
  dimensions: (context) => rowsMap(context, 1),
  cost: (context) => copyCost(context, { perInput: 1 }),
});

export const generators: readonly OperatorDefinition[] = [
  ...random,
  ...likeInput,
  ...windows,
  melWeightMatrix,
  multinomial,
];
