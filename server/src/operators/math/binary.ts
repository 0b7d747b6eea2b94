/**
 * Element-wise operators of two or more tensors, which broadcast.
 *
 * What backward keeps follows PyTorch 2.x `tools/autograd/derivatives.yaml`: `mul` keeps an input only where the
 * other one needs a gradient, `add` keeps nothing.
 */

import {
  addDimensions,
  type Dimension,
  divideExactly,
  equalDimensions,
  floorDivideDimensions,
  isUnknown,
  maximumOfDimensions,
  minimumOfDimensions,
  multiplyDimensions,
  subtractDimensions,
  unknownDimension,
} from '../../model/dimension.ts';
import { type ElementType, isFloatingPoint } from '../../model/elementType.ts';
import type { CostContext, InferenceContext, OperatorDefinition, OperatorFacts } from '../definition.ts';
import { broadcastMap, legacyBroadcastMap } from '../dimensions/elementwise.ts';
import { normalizeAxis } from '../vocabulary/axes.ts';
import { define } from '../vocabulary/define.ts';
import {
  type ElementwiseGradient,
  elementwiseCost,
  inferBroadcast,
  passesThrough,
  readsInput,
  readsNothing,
} from '../vocabulary/elementwise.ts';
import { data, detached, noRule, variadic, weight } from '../vocabulary/facts.ts';
import { elementTypeOf, single, tensor, unknownBecause } from '../vocabulary/types.ts';
import { savedInput, savedOutput } from '../vocabulary/work.ts';

interface BinaryRow extends OperatorFacts {
  readonly operations: number;
  readonly combine?: (left: Dimension, right: Dimension, floating: boolean) => Dimension;
  readonly elementType?: ElementType;
  /** Before version 7 the second input had one element per channel (PRelu-6). */
  readonly perChannel?: boolean;
  /** `undefined` where no gradient flows. */
  readonly gradient?: (context: CostContext, index: number) => ElementwiseGradient | undefined;
}

const rows: readonly BinaryRow[] = [
  {
    type: 'Add',
    since: 1,
    documentation: 'a + b with broadcasting (ONNX Operators, Add-14)',
    inputs: [data('A'), data('B')],
    traits: ['passes-gradient'],
    pytorch: { layer: 'Add', autocast: 'promote' },
    runner: { rule: 'Add' },
    operations: 1,
    combine: (left, right) => whole(left, right, addDimensions),
    gradient: () => passesThrough,
  },
  {
    type: 'Sub',
    since: 1,
    documentation: 'a − b with broadcasting (ONNX Operators, Sub-14)',
    inputs: [data('A'), data('B')],
    pytorch: { layer: 'Sub', autocast: 'promote' },
    runner: { rule: 'Sub' },
    operations: 1,
    combine: (left, right) => whole(left, right, subtractDimensions),
    gradient: (_, index) => (index === 0 ? passesThrough : readsNothing(1)),
  },
  {
    type: 'Mul',
    since: 1,
    documentation: 'a · b with broadcasting (ONNX Operators, Mul-14)',
    inputs: [data('A'), data('B')],
    traits: ['multiplies'],
    pytorch: { layer: 'Mul', autocast: 'promote' },
    runner: { rule: 'Mul' },
    operations: 1,
    combine: (left, right) => whole(left, right, multiplyDimensions),
    gradient: (_, index) => readsInput(1, 1 - index),
  },
  {
    type: 'Div',
    since: 1,
    documentation: 'a / b with broadcasting, towards 0 for integers (ONNX Operators, Div-14)',
    inputs: [data('A'), data('B')],
    traits: ['multiplies'],
    pytorch: { layer: 'Div', autocast: 'promote' },
    runner: { rule: 'Div' },
    operations: 1,
    combine: divide,
    gradient: (_, index) =>
      index === 0 ? readsInput(1, 1) : { reads: [savedInput(0), savedInput(1)], operations: 4 },
  },
  {
    type: 'Pow',
    since: 1,
    documentation: 'a to the power b with broadcasting (ONNX Operators, Pow-15)',
    inputs: [data('X'), data('Y')],
    // The power below, times the exponent, times the gradient (torch/csrc/autograd/FunctionsManual.cpp, `pow_backward`).
    pytorch: {
      layer: 'Pow',
      autocast: 'fp32',
      backwardKernels: [{ share: 2 / 3 }, { share: 2 / 3 }, { share: 1 }],
    },
    runner: { rule: 'Pow' },
    operations: 1,
    combine: power,
    gradient: (_, index) => ({
      reads: index === 0 ? [savedInput(0), savedInput(1)] : [savedInput(0), savedInput(1), savedOutput(0)],
      operations: 3,
    }),
  },
  {
    type: 'PRelu',
    perChannel: true,
    since: 1,
    documentation: 'x, or slope · x below 0 (ONNX Operators, PRelu-16)',
    inputs: [data('X'), weight('slope')],
    pytorch: { layer: 'PReLU', autocast: 'half' },
    runner: { rule: 'PRelu' },
    operations: 2,
    gradient: (_, index) => ({
      reads: index === 0 ? [savedInput(0), savedInput(1)] : [savedInput(0)],
      operations: 2,
    }),
  },
  {
    type: 'Mod',
    since: 10,
    documentation: 'remainder of a / b (ONNX Operators, Mod-28)',
    inputs: [data('A'), data('B')],
    pytorch: { layer: 'Mod', autocast: 'widest' },
    runner: { rule: 'Mod' },
    operations: 1,
    combine: (left, right) => {
      if (right === 0) return unknownDimension('division by 0');
      if (typeof left === 'number' && typeof right === 'number')
        return left - right * Math.floor(left / right);
      return whole(left, right, (a, b) =>
        subtractDimensions(a, multiplyDimensions(b, floorDivideDimensions(a, b))),
      );
    },
    gradient: (_, index) => (index === 0 ? passesThrough : readsInput(2, 0)),
  },
  comparison('Equal', 1, 'a = b (ONNX Operators, Equal-19)', (left, right) => {
    if (isUnknown(left) || isUnknown(right)) return unknownDimension('comparison of an unknown value');
    if (equalDimensions(left, right)) return 1;
    if (typeof left === 'number' && typeof right === 'number') return 0;
    return negativeNumber(left) || negativeNumber(right)
      ? 0
      : unknownDimension('comparison of symbolic values');
  }),
  comparison(
    'Greater',
    1,
    'a > b (ONNX Operators, Greater-13)',
    compare((left, right) => left > right),
  ),
  comparison(
    'GreaterOrEqual',
    12,
    'a ≥ b (ONNX Operators, GreaterOrEqual-16)',
    compare((left, right) => left >= right),
  ),
  comparison(
    'Less',
    1,
    'a < b (ONNX Operators, Less-13)',
    compare((left, right) => left < right),
  ),
  comparison(
    'LessOrEqual',
    12,
    'a ≤ b (ONNX Operators, LessOrEqual-16)',
    compare((left, right) => left <= right),
  ),
  comparison(
    'And',
    1,
    'logical and (ONNX Operators, And-7)',
    compare((left, right) => left !== 0 && right !== 0),
  ),
  comparison(
    'Or',
    1,
    'logical or (ONNX Operators, Or-7)',
    compare((left, right) => left !== 0 || right !== 0),
  ),
  comparison(
    'Xor',
    1,
    'logical exclusive or (ONNX Operators, Xor-7)',
    compare((left, right) => (left !== 0) !== (right !== 0)),
  ),
  {
    type: 'BitShift',
    since: 11,
    documentation: 'a shifted by b bits (ONNX Operators, BitShift-28)',
    inputs: [detached('X'), detached('Y')],
    pytorch: { layer: 'BitShift', autocast: 'widest' },
    runner: noRule.unwritten,
    operations: 1,
  },
  {
    type: 'BitwiseAnd',
    since: 18,
    documentation: 'bitwise and of integers (ONNX Operators, BitwiseAnd-18)',
    inputs: [detached('A'), detached('B')],
    pytorch: { layer: 'BitwiseAnd', autocast: 'widest' },
    runner: { rule: 'BitwiseAnd' },
    operations: 1,
  },
  {
    type: 'BitwiseOr',
    since: 18,
    documentation: 'bitwise or of integers (ONNX Operators, BitwiseOr-18)',
    inputs: [detached('A'), detached('B')],
    pytorch: { layer: 'BitwiseOr', autocast: 'widest' },
    runner: { rule: 'BitwiseOr' },
    operations: 1,
  },
  {
    type: 'BitwiseXor',
    since: 18,
    documentation: 'bitwise exclusive or of integers (ONNX Operators, BitwiseXor-18)',
    inputs: [detached('A'), detached('B')],
    pytorch: { layer: 'BitwiseXor', autocast: 'widest' },
    runner: { rule: 'BitwiseXor' },
    operations: 1,
  },
];

/** Operators of any number of tensors. The gradient of `Max` and `Min` compares input and output again. */
const variadicRows: readonly (BinaryRow & {
  readonly fold?: (left: Dimension, right: Dimension) => Dimension;
})[] = [
  {
    type: 'Max',
    since: 1,
    documentation: 'largest of the inputs, element by element (ONNX Operators, Max-13)',
    inputs: [variadic(data('data_0'))],
    pytorch: { layer: 'Max', autocast: 'promote' },
    runner: { rule: 'Max' },
    operations: 1,
    fold: (left, right) => whole(left, right, maximumOfDimensions),
    gradient: () => ({ reads: [savedInput(0), savedInput(1)], operations: 2 }),
  },
  {
    type: 'Min',
    since: 1,
    documentation: 'smallest of the inputs, element by element (ONNX Operators, Min-13)',
    inputs: [variadic(data('data_0'))],
    pytorch: { layer: 'Min', autocast: 'promote' },
    runner: { rule: 'Min' },
    operations: 1,
    fold: (left, right) => whole(left, right, minimumOfDimensions),
    gradient: () => ({ reads: [savedInput(0), savedInput(1)], operations: 2 }),
  },
  {
    type: 'Sum',
    since: 1,
    documentation: 'sum of the inputs, element by element (ONNX Operators, Sum-13)',
    inputs: [variadic(data('data_0'))],
    traits: ['passes-gradient'],
    pytorch: { layer: 'Add', autocast: 'promote' },
    runner: { rule: 'Sum' },
    operations: 1,
    fold: (left, right) => whole(left, right, addDimensions),
    gradient: () => passesThrough,
  },
  {
    type: 'Mean',
    since: 1,
    documentation: 'mean of the inputs, element by element (ONNX Operators, Mean-13)',
    inputs: [variadic(data('data_0'))],
    pytorch: { layer: 'Mean', autocast: 'promote' },
    runner: { rule: 'Mean' },
    operations: 1,
    gradient: () => readsNothing(1),
  },
];

function comparison(
  type: string,
  since: number,
  documentation: string,
  combine: (left: Dimension, right: Dimension) => Dimension,
): BinaryRow {
  return {
    type,
    since,
    documentation,
    inputs: [detached('A'), detached('B')],
    pytorch: { layer: type, autocast: 'widest' },
    runner: { rule: type },
    operations: 1,
    combine,
    elementType: 'bool',
  };
}

function compare(
  test: (left: number, right: number) => boolean,
): (left: Dimension, right: Dimension) => Dimension {
  return (left, right) =>
    typeof left === 'number' && typeof right === 'number'
      ? Number(test(left, right))
      : unknownDimension('comparison of symbolic values');
}

/** Dimensions are never negative, so that a symbol does not equal −1, the exporters' placeholder. */
const negativeNumber = (value: Dimension): boolean => typeof value === 'number' && value < 0;

/** Polynomials have integer coefficients: a fraction meeting a symbol is not followed. */
function whole(
  left: Dimension,
  right: Dimension,
  combine: (left: Dimension, right: Dimension) => Dimension,
): Dimension {
  const bothNumbers = typeof left === 'number' && typeof right === 'number';
  if (!bothNumbers && (isFraction(left) || isFraction(right))) {
    return unknownDimension('a fraction of a symbolic value');
  }
  return combine(left, right);
}

const isFraction = (value: Dimension): boolean => typeof value === 'number' && !Number.isInteger(value);

function divide(left: Dimension, right: Dimension, floating: boolean): Dimension {
  if (typeof left === 'number' && typeof right === 'number') {
    if (floating) return left / right;
    return right === 0 ? unknownDimension('division by 0') : Math.trunc(left / right);
  }
  return whole(left, right, (a, b) =>
    floating
      ? (divideExactly(a, b) ?? unknownDimension('a fraction of a symbolic value'))
      : floorDivideDimensions(a, b),
  );
}

function power(left: Dimension, right: Dimension): Dimension {
  if (typeof right !== 'number') return unknownDimension('a symbolic exponent');
  if (typeof left === 'number') return left ** right;
  if (!Number.isInteger(right) || right < 0 || right > 8)
    return unknownDimension('a power of a symbolic value');
  let product: Dimension = 1;
  for (let factor = 0; factor < right; factor += 1) product = multiplyDimensions(product, left);
  return product;
}

/** Before version 7 the second input was aligned by `axis`, or like the first one (ONNX Operators, Add-6). */
const legacyBroadcast = (context: InferenceContext, row: BinaryRow): boolean =>
  context.opset < 7 && (row.perChannel === true || context.int('broadcast', 0) === 1);

function inferLegacyBroadcast(context: InferenceContext, elementType: ElementType) {
  const left = context.inputShape(0);
  if (left === undefined) return unknownBecause(context, 0, elementType);
  const axis = context.attribute('axis');
  if (axis !== undefined && normalizeAxis(context.int('axis', 0), left.length) === undefined) {
    return unknownBecause(context, 0, elementType);
  }
  return single(tensor(elementType, left));
}

export const binaryOperators: readonly OperatorDefinition[] = rows.map((row) =>
  define({
    ...row,
    infer: (context) => {
      const elementType = row.elementType ?? elementTypeOf(context, 0);
      if (legacyBroadcast(context, row)) return inferLegacyBroadcast(context, elementType);
      const { combine } = row;
      return inferBroadcast(context, {
        ...(row.elementType && { elementType: row.elementType }),
        ...(combine && {
          combine: ([left, right]) =>
            left === undefined || right === undefined
              ? unknownDimension('no element')
              : combine(left, right, isFloatingPoint(elementTypeOf(context, 0))),
        }),
      });
    },
    dimensions: (context) =>
      legacyBroadcast(context, row)
        ? legacyBroadcastMap(context, row.perChannel === true)
        : broadcastMap(context),
    cost: (context) => elementwiseCost(context, row.operations, (index) => row.gradient?.(context, index)),
  }),
);

export const variadicOperators: readonly OperatorDefinition[] = variadicRows.map((row) =>
  define({
    ...row,
    infer: (context) => {
      const { fold } = row;
      return inferBroadcast(context, fold && { combine: (elements) => elements.reduce(fold) });
    },
    dimensions: (context) => broadcastMap(context),
    cost: (context) =>
      elementwiseCost(context, Math.max(1, context.inputCount - 1), (index) =>
        row.gradient?.(context, index),
      ),
  }),
);
