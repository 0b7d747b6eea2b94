/** Operators whose output has as many entries as the data makes it have: the rank is known, the count is not. */

import {
  type Dimension,
  isUnknown,
  minimumOfDimensions,
  printDimension,
  productOfDimensions,
  unknownDimension,
} from '../../model/dimension.ts';
import type { TensorContent } from '../../model/graph.ts';
import type { OperatorDefinition } from '../definition.ts';
import { privateMap } from '../dimensionMap.ts';
import { compressMap } from '../dimensions/lookups.ts';
import { normalizeAxis, numbersOf } from '../vocabulary/axes.ts';
import { scalarOf } from '../vocabulary/contents.ts';
import { define } from '../vocabulary/define.ts';
import { data, detached, noRule } from '../vocabulary/facts.ts';
import { copyCost } from '../vocabulary/movement.ts';
import {
  elementTypeOf,
  mismatch,
  printShape,
  single,
  tensor,
  tensorOfUnknownShape,
  unknownBecause,
  whyUnknown,
} from '../vocabulary/types.ts';
import { unknownShapeCost } from '../vocabulary/work.ts';

export const dataDependentOperators: readonly OperatorDefinition[] = [
  define({
    type: 'NonZero',
    since: 9,
    documentation: 'coordinates of the elements that are not 0 (ONNX Operators, NonZero-13)',
    inputs: [detached('X')],
    pytorch: { layer: 'NonZero', autocast: 'widest' },
    runner: noRule.dataDependent,
    infer: (context) => {
      const input = context.inputShape(0);
      const elements = context.inputContent(0);
      const rank = input === undefined ? unknownDimension(whyUnknown(context, 0)) : input.length;
      const numbers = elements && numbersOf(elements.elements);
      const count = numbers?.filter((element) => element !== 0).length;
      return single(
        tensor('int64', [
          rank,
          count ??
            atMost(
              'NonZero gives as many coordinates as the data has elements that are not 0',
              input && productOfDimensions(input),
            ),
        ]),
        nonZeroContent(elements),
      );
    },
    dimensions: () => privateMap,
    cost: (context) => copyCost(context),
  }),
  define({
    type: 'Compress',
    since: 9,
    documentation: 'entries along an axis where a condition holds (ONNX Operators, Compress-28)',
    inputs: [data('input'), detached('condition')],
    pytorch: { layer: 'Compress', autocast: 'widest' },
    runner: noRule.dataDependent,
    infer: (context) => {
      const input = context.inputShape(0);
      const elementType = elementTypeOf(context, 0);
      const condition = context.inputContent(1);
      const numbers = condition && numbersOf(condition.elements);
      const kept = numbers?.filter((element) => element !== 0).length;
      const reason = 'Compress keeps as many entries as the condition holds for';
      if (context.attribute('axis') === undefined) {
        const limit = input && productOfDimensions(input);
        return single(tensor(elementType, [kept ?? atMost(reason, limit)]));
      }
      if (input === undefined) return unknownBecause(context, 0);
      const axis = normalizeAxis(context.int('axis', 0), input.length);
      const count = kept ?? atMost(reason, axis === undefined ? undefined : input[axis]);
      if (axis === undefined)
        return mismatch(`axis ${context.int('axis', 0)} lies outside the input ${printShape(input)}`);
      return single(
        tensor(
          elementType,
          input.map((size, position) => (position === axis ? count : size)),
        ),
      );
    },
    dimensions: compressMap,
    cost: (context) => copyCost(context),
  }),
  define({
    type: 'Unique',
    since: 11,
    documentation: 'the different elements, or entries along an axis (ONNX Operators, Unique-28)',
    inputs: [detached('X')],
    pytorch: { layer: 'Unique', autocast: 'widest' },
    runner: noRule.dataDependent,
    infer: (context) => {
      const input = context.inputShape(0);
      const elementType = elementTypeOf(context, 0);
      // Each entry of the input has its place among the different ones: as many places as there are entries.
      const axisGiven = context.attribute('axis') === undefined ? undefined : context.int('axis', 0);
      const entries =
        input === undefined
          ? unknownDimension(whyUnknown(context, 0))
          : axisGiven === undefined
            ? productOfDimensions(input)
            : (input[normalizeAxis(axisGiven, input.length) ?? -1] ?? unknownDimension('no such axis'));
      const count = atMost('Unique gives as many entries as the data has different ones', entries);
      const counts = [tensor('int64', [count]), tensor('int64', [entries]), tensor('int64', [count])];
      if (context.attribute('axis') === undefined)
        return { outputs: [tensor(elementType, [count]), ...counts] };
      if (input === undefined)
        return { outputs: [tensorOfUnknownShape(elementType, whyUnknown(context, 0)), ...counts] };
      const axis = normalizeAxis(context.int('axis', 0), input.length);
      return {
        outputs: [
          tensor(
            elementType,
            input.map((size, position) => (position === axis ? count : size)),
          ),
          ...counts,
        ],
      };
    },
    dimensions: () => privateMap,
    cost: (context) => copyCost(context),
  }),
  define({
    type: 'NonMaxSuppression',
    since: 10,
    documentation: 'indices of boxes that overlap no better one (ONNX Operators, NonMaxSuppression-11)',
    inputs: [
      detached('boxes'),
      detached('scores'),
      detached('max_output_boxes_per_class'),
      detached('iou_threshold'),
      detached('score_threshold'),
    ],
    pytorch: { layer: 'NonMaxSuppression', autocast: 'widest' },
    runner: noRule.dataDependent,
    infer: (context) => {
      // Boxes are [batch, boxes, 4], scores [batch, classes, boxes]; without a count none is kept.
      const [batch, boxes] = context.inputShape(0) ?? [];
      const classes = context.inputShape(1)?.[1];
      const asked = scalarOf(context, 2);
      const perClass =
        asked === undefined || boxes === undefined ? (asked ?? boxes) : minimumOfDimensions(asked, boxes);
      const limit =
        batch === undefined || classes === undefined || perClass === undefined
          ? undefined
          : productOfDimensions([batch, classes, perClass]);
      const reason = 'NonMaxSuppression keeps as many boxes as the data allows';
      return single(tensor('int64', [atMost(reason, limit), 3]));
    },
    // Each box that is kept is compared with all others: intersection 9 operations, union 2, quotient and comparison.
    dimensions: () => privateMap,
    cost: (context) => {
      const [kept, boxes] = [context.output(0)?.dimensions[0], context.input(0)?.dimensions[1]];
      if (kept === undefined || boxes === undefined) return unknownShapeCost;
      return copyCost(context, { operations: 13 * kept * boxes });
    },
  }),
];

/** A count that depends on the data, with the most it can be where that is known. */
const atMost = (reason: string, limit: Dimension | undefined): Dimension =>
  unknownDimension(
    limit === undefined || isUnknown(limit) ? reason : `${reason}, at most ${printDimension(limit)}`,
    limit,
  );

function nonZeroContent(input: TensorContent | undefined): TensorContent | undefined {
  const numbers = input && numbersOf(input.elements);
  if (input?.shape.length !== 1 || numbers === undefined) return undefined;
  const positions = numbers.flatMap((element, position) => (element === 0 ? [] : [position]));
  return { shape: [1, positions.length], elements: positions };
}
