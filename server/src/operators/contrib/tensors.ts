/** Operators of ONNX Runtime that compare, count, transform or move elements. */

import {
  addDimensions,
  type Dimension,
  floorDivideDimensions,
  multiplyDimensions,
  subtractDimensions,
  unknownDimension,
} from '../../model/dimension.ts';
import { totalElements } from '../../model/totalElements.ts';
import type { OperatorDefinition } from '../definition.ts';
import { privateMap } from '../dimensionMap.ts';
import { broadcastMap, likeInputButAxis, likeInputMap, rowsMap } from '../dimensions/elementwise.ts';
import { mapOfLabels } from '../dimensions/labels.ts';
import { regionsMap } from '../dimensions/windows.ts';
import { normalizeAxis } from '../vocabulary/axes.ts';
import { scalarOf } from '../vocabulary/contents.ts';
import { defineContrib } from '../vocabulary/define.ts';
import { elementwiseCost, inferBroadcast, inferLikeInput, readsInput } from '../vocabulary/elementwise.ts';
import { data, detached, host, variadic } from '../vocabulary/facts.ts';
import { copyCost } from '../vocabulary/movement.ts';
import {
  elementTypeOf,
  mismatch,
  printShape,
  single,
  tensor,
  unknownBecause,
  whyUnknown,
} from '../vocabulary/types.ts';
import { cost, savedOutput, trafficOf, unknownShapeCost, work } from '../vocabulary/work.ts';

/** Complex numbers are pairs on the last axis: four products and two sums each. */
const complexProducts = (['ComplexMul', 'ComplexMulConj'] as const).map((type) =>
  defineContrib({
    type,
    documentation:
      type === 'ComplexMul' ? 'a·b of complex numbers in pairs' : 'a·b̄ of complex numbers in pairs',
    inputs: [data('A'), data('B')],
    pytorch: { layer: type, autocast: 'widest' },
    infer: (context) => inferBroadcast(context),
    dimensions: (context) => broadcastMap(context, { isPrivate: (axis) => axis === -1 }),
    cost: (context) => elementwiseCost(context, 3, (index) => readsInput(3, 1 - index)),
  }),
);

const inverse = defineContrib({
  type: 'Inverse',
  documentation: 'inverses of square matrices, 2n³ FLOPs each as LAPACK getrf and getri',
  inputs: [data('X')],
  pytorch: { layer: 'Inverse', autocast: 'half' },
  infer: (context) => inferLikeInput(context),
  dimensions: (context) => rowsMap(context, -2),
  cost: (context) => {
    const input = context.input(0);
    const output = context.output(0);
    if (input === undefined || output === undefined) return unknownShapeCost;
    const side = input.dimensions.at(-1) ?? 1;
    const product = 2 * input.elements * side;
    return cost('matmul', work({ flops: product, traffic: trafficOf(input, output) }), {
      // −Yᵀ · G · Yᵀ, two products (PyTorch 2.13 torch/csrc/autograd/FunctionsManual.cpp, `linalg_inv_backward`).
      data: work({ flops: 2 * product, kernels: 2, traffic: trafficOf(output, output, output, input) }),
      saved: [savedOutput(0)],
    });
  },
});

const allFinite = defineContrib({
  type: 'IsAllFinite',
  documentation: 'whether no element of any input is infinite or NaN',
  inputs: [variadic(detached('input'))],
  pytorch: { layer: 'IsAllFinite', autocast: 'widest' },
  infer: () => single(tensor('bool', [])),
  dimensions: () => privateMap,
  cost: (context) => {
    const inputs = Array.from({ length: context.inputCount }, (_, index) => context.input(index));
    const known = inputs.filter((input) => input !== undefined);
    if (known.length < inputs.length) return unknownShapeCost;
    const operations = totalElements(known);
    return cost('reduction', work({ operations, traffic: trafficOf(...inputs) }));
  },
});

const hash = defineContrib({
  type: 'MurmurHash3',
  documentation: '32-bit hash of each element',
  inputs: [detached('X')],
  pytorch: { layer: 'MurmurHash3', autocast: 'widest' },
  infer: (context) =>
    inferLikeInput(context, { elementType: context.int('positive', 1) === 1 ? 'uint32' : 'int32' }),
  dimensions: likeInputMap,
  cost: (context) => elementwiseCost(context, 15, () => undefined),
});

const unrepeated = defineContrib({
  type: 'NGramRepeatBlock',
  documentation: 'scores without the tokens that would repeat an n-gram',
  inputs: [detached('input_ids'), data('scores')],
  pytorch: { layer: 'NGramRepeatBlock', autocast: 'widest' },
  infer: (context) => {
    const scores = context.inputType(1);
    return scores === undefined ? unknownBecause(context, 1) : single(scores);
  },
  dimensions: (context) =>
    mapOfLabels(context, {
      inputs: { 0: ['b', undefined], 1: ['b', undefined] },
      outputs: [['b', undefined]],
    }),
  cost: (context) => copyCost(context),
});

const unfold = defineContrib({
  type: 'UnfoldTensor',
  documentation: 'overlapping windows of an axis on a new last axis',
  inputs: [data('input')],
  pytorch: { layer: 'UnfoldTensor', autocast: 'widest' },
  infer: (context) => {
    const input = context.inputShape(0);
    if (input === undefined) return unknownBecause(context, 0);
    const axis = normalizeAxis(context.int('dim', -1), input.length);
    const size = context.int('size', 1);
    const step = context.int('step', 1);
    const length = axis === undefined ? undefined : input[axis];
    if (axis === undefined || length === undefined || step <= 0)
      return mismatch(
        `windows of ${size} each ${step} do not fit axis ${context.int('dim', -1)} of ${printShape(input)}`,
      );
    const count = addDimensions(floorDivideDimensions(subtractDimensions(length, size), step), 1);
    return single(tensor(elementTypeOf(context, 0), [...input.with(axis, count), size]));
  },
  dimensions: (context) => likeInputButAxis(context, 'dim', -1),
  cost: (context) => copyCost(context),
});

/** A batch that is padded to one length, as the tokens alone; there are no more of them than places. */
const removePadding = defineContrib({
  type: 'RemovePadding',
  documentation: 'the tokens of a padded batch one after another',
  inputs: [data('input'), detached('sequence_token_count')],
  pytorch: { layer: 'RemovePadding', autocast: 'widest' },
  infer: (context) => {
    const input = context.inputShape(0);
    if (input === undefined) return unknownBecause(context, 0);
    const [batch, length, width] = input;
    if (batch === undefined || length === undefined || width === undefined)
      return mismatch(`a padded batch is [batch, length, width], not ${printShape(input)}`);
    const places = multiplyDimensions(batch, length);
    const tokens = unknownDimension('how many tokens are no padding depends on the data', places);
    return {
      outputs: [
        tensor(elementTypeOf(context, 0), [tokens, width]),
        tensor('int32', [batch, length]),
        tensor('int32', [addDimensions(batch, 1)]),
        tensor('int32', [1]),
      ],
    };
  },
  dimensions: () => privateMap,
  cost: (context) => copyCost(context),
});

const restorePadding = defineContrib({
  type: 'RestorePadding',
  documentation: 'tokens put back into a padded batch',
  inputs: [data('input'), detached('token_offset')],
  pytorch: { layer: 'RestorePadding', autocast: 'widest' },
  infer: (context) => {
    const width = context.inputShape(0)?.[1];
    const places = context.inputShape(1);
    if (width === undefined) return unknownBecause(context, 0);
    if (places === undefined) return unknownBecause(context, 1, elementTypeOf(context, 0));
    return single(tensor(elementTypeOf(context, 0), [...places, width]));
  },
  dimensions: () => privateMap,
  cost: (context) => copyCost(context),
});

const cropAndResize = defineContrib({
  type: 'CropAndResize',
  documentation: 'regions of images resampled to one size',
  inputs: [data('X'), data('rois'), detached('batch_indices'), host('crop_size')],
  pytorch: { layer: 'CropAndResize', autocast: 'widest' },
  infer: (context) => {
    const channels = context.inputShape(0)?.[1];
    const regions = context.inputShape(1)?.[0];
    if (channels === undefined) return unknownBecause(context, 0);
    if (regions === undefined) return unknownBecause(context, 1, elementTypeOf(context, 0));
    const unknown = unknownDimension(whyUnknown(context, 3));
    const [height = unknown, width = unknown] = context.inputContent(3)?.elements ?? [];
    return single(tensor(elementTypeOf(context, 0), [regions, channels, height, width]));
  },
  dimensions: regionsMap,
  cost: (context) => copyCost(context, { perOutput: 8 }),
});

/** [1, heads, queries, keys]: one entry of the table for each pair of positions. */
const positionBias = defineContrib({
  type: 'RelativePositionBias',
  documentation: 'what attention adds for the distance of two positions, from a table',
  inputs: [data('bias_table'), host('query_length'), host('key_length')],
  pytorch: { layer: 'RelativePositionBias', autocast: 'widest' },
  infer: (context) => {
    const heads = context.inputShape(0)?.[1] ?? unknownDimension(whyUnknown(context, 0));
    const length = (index: number): Dimension =>
      scalarOf(context, index) ?? unknownDimension(whyUnknown(context, index));
    return single(tensor(elementTypeOf(context, 0), [1, heads, length(1), length(2)]));
  },
  dimensions: (context) =>
    mapOfLabels(context, {
      inputs: { 0: [undefined, 'h'] },
      outputs: [[undefined, 'h', undefined, undefined]],
    }),
  cost: (context) => copyCost(context, { perOutput: 5 }),
});

export const contribTensors: readonly OperatorDefinition[] = [
  ...complexProducts,
  inverse,
  allFinite,
  hash,
  unrepeated,
  unfold,
  removePadding,
  restorePadding,
  cropAndResize,
  positionBias,
];
