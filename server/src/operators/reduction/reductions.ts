/** Operators that reduce axes, and running sums. */

import {
  addDimensions,
  type Dimension,
  maximumOfDimensions,
  minimumOfDimensions,
  multiplyDimensions,
  unknownDimension,
} from '../../model/dimension.ts';
import { isFloatingPoint } from '../../model/elementType.ts';
import type { TensorContent } from '../../model/graph.ts';
import type {
  CostContext,
  Inference,
  InferenceContext,
  OperatorCost,
  OperatorDefinition,
  SavedTensor,
} from '../definition.ts';
import type { Combination } from '../dimensionMap.ts';
import { extremePositionMap, reductionMap, runningMap } from '../dimensions/reductions.ts';
import { integersOf, lengthOf, normalizeAxes, normalizeAxis, numbersOf } from '../vocabulary/axes.ts';
import { contentOf, coordinatesOf, elementAt } from '../vocabulary/contents.ts';
import { define } from '../vocabulary/define.ts';
import { elementwiseCost, inferLikeInput, readsNothing } from '../vocabulary/elementwise.ts';
import { data, detached, host, noRule } from '../vocabulary/facts.ts';
import { oneOf, withoutSomeAxes } from '../vocabulary/openAxes.ts';
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
import {
  backwardOf,
  cost,
  isShapeArithmetic,
  needsGradient,
  savedInput,
  savedOutput,
  shapeCost,
  trafficOf,
  unknownShapeCost,
  work,
} from '../vocabulary/work.ts';

interface ReductionRow
  extends Pick<OperatorDefinition, 'type' | 'documentation' | 'inputs' | 'pytorch' | 'runner'> {
  readonly operations: number;
  /** What PyTorch 2.x keeps for backward. */
  readonly saved: readonly SavedTensor[];
  /** What puts results of equal parts together, where something plain does. */
  readonly combines?: Combination;
  readonly fold?: (left: Dimension, right: Dimension) => Dimension;
}

const integer =
  (combine: (left: Dimension, right: Dimension) => Dimension) => (left: Dimension, right: Dimension) =>
    [left, right].every((value) => typeof value !== 'number' || Number.isInteger(value))
      ? combine(left, right)
      : unknownDimension('a fraction in shape arithmetic');

const rows: readonly ReductionRow[] = [
  {
    type: 'ReduceSum',
    combines: 'sum',
    documentation: 'sum over axes (ONNX Operators, ReduceSum-13)',
    inputs: [data('data'), host('axes')],
    pytorch: { layer: 'ReduceSum', autocast: 'fp32-result' },
    runner: { rule: 'ReduceSum' },
    operations: 1,
    saved: [],
    fold: integer(addDimensions),
  },
  {
    type: 'ReduceMean',
    combines: 'mean',
    documentation: 'mean over axes (ONNX Operators, ReduceMean-18)',
    inputs: [data('data'), host('axes')],
    pytorch: { layer: 'ReduceMean', autocast: 'widest' },
    runner: { rule: 'ReduceMean' },
    operations: 1,
    saved: [],
  },
  {
    type: 'ReduceMax',
    combines: 'max',
    documentation: 'maximum over axes (ONNX Operators, ReduceMax-20)',
    inputs: [data('data'), host('axes')],
    pytorch: { layer: 'ReduceMax', autocast: 'widest' },
    runner: { rule: 'ReduceMax' },
    operations: 1,
    saved: [savedInput(0), savedOutput(0)],
    fold: integer(maximumOfDimensions),
  },
  {
    type: 'ReduceMin',
    combines: 'min',
    documentation: 'minimum over axes (ONNX Operators, ReduceMin-20)',
    inputs: [data('data'), host('axes')],
    pytorch: { layer: 'ReduceMin', autocast: 'widest' },
    runner: { rule: 'ReduceMin' },
    operations: 1,
    saved: [savedInput(0), savedOutput(0)],
    fold: integer(minimumOfDimensions),
  },
  {
    type: 'ReduceProd',
    combines: 'product',
    documentation: 'product over axes (ONNX Operators, ReduceProd-18)',
    inputs: [data('data'), host('axes')],
    pytorch: { layer: 'ReduceProd', autocast: 'fp32-result' },
    runner: { rule: 'ReduceProd' },
    operations: 1,
    saved: [savedInput(0), savedOutput(0)],
    fold: integer(multiplyDimensions),
  },
  {
    type: 'ReduceL1',
    combines: 'sum',
    documentation: 'sum of absolute values over axes (ONNX Operators, ReduceL1-18)',
    inputs: [data('data'), host('axes')],
    pytorch: { layer: 'ReduceL1', autocast: 'fp32-result' },
    runner: { rule: 'ReduceL1' },
    operations: 2,
    saved: [savedInput(0), savedOutput(0)],
  },
  {
    type: 'ReduceL2',
    documentation: 'root of the sum of squares over axes (ONNX Operators, ReduceL2-18)',
    inputs: [data('data'), host('axes')],
    pytorch: { layer: 'ReduceL2', autocast: 'fp32-result' },
    runner: { rule: 'ReduceL2' },
    operations: 2,
    saved: [savedInput(0), savedOutput(0)],
  },
  {
    type: 'ReduceLogSum',
    documentation: 'logarithm of the sum over axes (ONNX Operators, ReduceLogSum-28)',
    inputs: [data('data'), host('axes')],
    pytorch: { layer: 'ReduceLogSum', autocast: 'widest' },
    runner: { rule: 'ReduceLogSum' },
    operations: 1,
    saved: [savedOutput(0)],
  },
  {
    type: 'ReduceLogSumExp',
    documentation: 'logarithm of the sum of eˣ over axes (ONNX Operators, ReduceLogSumExp-28)',
    inputs: [data('data'), host('axes')],
    pytorch: { layer: 'ReduceLogSumExp', autocast: 'fp32' },
    runner: { rule: 'ReduceLogSumExp' },
    operations: 3,
    saved: [savedInput(0), savedOutput(0)],
  },
  {
    type: 'ReduceSumSquare',
    combines: 'sum',
    documentation: 'sum of squares over axes (ONNX Operators, ReduceSumSquare-18)',
    inputs: [data('data'), host('axes')],
    pytorch: { layer: 'ReduceSumSquare', autocast: 'widest' },
    runner: { rule: 'ReduceSumSquare' },
    operations: 2,
    saved: [savedInput(0)],
  },
];

const reductions = rows.map((row) =>
  define({
    ...row,
    infer: (context) => inferReduction(context, row),
    dimensions: (context) => reductionMap(context, row.combines),
    cost: (context) => reductionCost(context, row),
  }),
);

const positionsOfExtremes = (['ArgMax', 'ArgMin'] as const).map((type) =>
  define({
    type,
    documentation: `index of the ${type === 'ArgMax' ? 'largest' : 'smallest'} element along an axis (ONNX Operators, ${type}-13)`,
    inputs: [detached('data')],
    pytorch: { layer: type, autocast: 'widest' },
    runner: { rule: type },
    infer: (context) => {
      const input = context.inputShape(0);
      if (input === undefined) return unknownBecause(context, 0, 'int64');
      const axis = normalizeAxis(context.int('axis', 0), input.length);
      if (axis === undefined)
        return mismatch(`axis ${context.int('axis', 0)} lies outside the input ${printShape(input)}`);
      return single(tensor('int64', reducedShape(input, [axis], context.int('keepdims', 1) !== 0)));
    },
    dimensions: extremePositionMap,
    cost: (context) => {
      const input = context.input(0);
      if (input === undefined || context.output(0) === undefined) return unknownShapeCost;
      return cost(
        'reduction',
        work({ operations: input.elements, traffic: trafficOf(input, context.output(0)) }),
      );
    },
  }),
);

const runningSum = define({
  type: 'CumSum',
  since: 11,
  documentation: 'running sum along an axis (ONNX Operators, CumSum-14)',
  inputs: [data('x'), host('axis')],
  pytorch: { layer: 'CumSum', autocast: 'fp32-result' },
  runner: { rule: 'CumSum' },
  infer: (context) => inferLikeInput(context),
  dimensions: runningMap,
  cost: (context) => elementwiseCost(context, 1, (index) => (index === 0 ? readsNothing(1) : undefined)),
});

const runningProduct = define({
  type: 'CumProd',
  since: 26,
  documentation: 'running product along an axis (ONNX Operators, CumProd-26)',
  inputs: [data('x'), host('axis')],
  pytorch: { layer: 'CumProd', autocast: 'fp32-result' },
  runner: noRule.unwritten,
  infer: (context) => inferLikeInput(context),
  dimensions: runningMap,
  cost: (context) =>
    elementwiseCost(context, 1, (index) =>
      index === 0 ? { reads: [savedInput(0), savedOutput(0)], operations: 4 } : undefined,
    ),
});

export const reductionOperators: readonly OperatorDefinition[] = [
  ...reductions,
  ...positionsOfExtremes,
  runningSum,
  runningProduct,
];

/**
 * Axes are an input since version 18 (13 for ReduceSum), an attribute before. Without axes everything is reduced,
 * or nothing where `noop_with_empty_axes` is set.
 */
function inferReduction(context: InferenceContext, row: ReductionRow): Inference {
  const elementType = elementTypeOf(context, 0);
  const input = context.inputShape(0);
  if (input === undefined) return unknownBecause(context, 0);
  const keep = context.int('keepdims', 1) !== 0;
  const axes = integersOf(context, 1, 'axes');
  const numbers = axes.kind === 'known' ? numbersOf(axes.values) : undefined;
  if (axes.kind === 'unknown' || (axes.kind === 'known' && numbers === undefined)) {
    const reason = whyUnknown(context, 1);
    const count = lengthOf(context, 1);
    if (keep)
      return single(
        tensor(
          elementType,
          input.map((size) => (count === input.length ? 1 : oneOf([size, 1], reason))),
        ),
      );
    return single(
      count === undefined
        ? tensorOfUnknownShape(elementType, reason)
        : tensor(elementType, withoutSomeAxes(input, count, reason)),
    );
  }
  const empty = numbers === undefined || numbers.length === 0;
  const chosen =
    empty && context.int('noop_with_empty_axes', 0) !== 0
      ? []
      : empty
        ? input.map((_, axis) => axis)
        : numbers;
  const normalized = normalizeAxes(chosen, input.length);
  if (normalized === undefined) {
    return mismatch(`axes ${printShape(chosen)} lie outside the input ${printShape(input)}`);
  }
  const shape = reducedShape(input, normalized, keep);
  return single(tensor(elementType, shape), reducedContent(context.inputContent(0), normalized, shape, row));
}

const reducedShape = (
  input: readonly Dimension[],
  axes: readonly number[],
  keep: boolean,
): readonly Dimension[] =>
  keep
    ? input.map((size, axis): Dimension => (axes.includes(axis) ? 1 : size))
    : input.filter((_, axis) => !axes.includes(axis));

function reducedContent(
  input: TensorContent | undefined,
  axes: readonly number[],
  shape: readonly Dimension[],
  row: ReductionRow,
): TensorContent | undefined {
  const { fold } = row;
  if (input === undefined || fold === undefined) return undefined;
  const kept = input.shape.map((size, axis) => (axes.includes(axis) ? 1 : size));
  const groups = new Map<string, Dimension>();
  for (let position = 0; position < input.elements.length; position += 1) {
    const key = coordinatesOf(position, input.shape)
      .map((coordinate, axis) => (axes.includes(axis) ? 0 : coordinate))
      .join();
    const before = groups.get(key);
    const element = elementAt(input, position);
    groups.set(key, before === undefined ? element : fold(before, element));
  }
  const empty = row.type === 'ReduceProd' ? 1 : 0;
  return contentOf(shape, (position) => groups.get(coordinatesOf(position, kept).join()) ?? empty);
}

/** The gradient is spread over the reduced axes: an expanded view that the next kernel reads, here one write. */
function reductionCost(context: CostContext, row: ReductionRow): OperatorCost {
  if (isShapeArithmetic(context) && !needsGradient(context)) return shapeCost;
  const input = context.input(0);
  const output = context.output(0);
  if (input === undefined || output === undefined) return unknownShapeCost;
  const forward = work({ operations: row.operations * input.elements, traffic: trafficOf(input, output) });
  if (!needsGradient(context) || !isFloatingPoint(input.elementType)) return cost('reduction', forward);
  const reads = row.saved.some((saved) => saved.kind === 'input') ? [input] : [];
  const { data, weight } = backwardOf(context, () =>
    work({ operations: row.operations * input.elements, traffic: trafficOf(output, input, ...reads) }),
  );
  return cost('reduction', forward, { data, weight, saved: row.saved });
}
