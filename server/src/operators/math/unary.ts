/**
 * Element-wise operators of one tensor.
 *
 * What backward keeps follows PyTorch 2.x `tools/autograd/derivatives.yaml`: `relu` keeps its result, `gelu` its
 * input, and so on. Operations per element count arithmetic steps, a transcendental function as one.
 */

import { type Dimension, unknownDimension } from '../../model/dimension.ts';
import type { ElementType } from '../../model/elementType.ts';
import type { OperatorDefinition } from '../definition.ts';
import { likeInputMap } from '../dimensions/elementwise.ts';
import { define } from '../vocabulary/define.ts';
import {
  type ElementwiseGradient,
  elementwiseCost,
  inferLikeInput,
  readsInput,
  readsNothing,
  readsOutput,
} from '../vocabulary/elementwise.ts';

interface UnaryRow {
  readonly type: string;
  readonly since: number;
  readonly documentation: string;
  readonly operations: number;
  /** `undefined` where no gradient flows. */
  readonly gradient: ElementwiseGradient | undefined;
  readonly number?: (value: number) => number;
  /** The function of an integer-valued expression, where it has one; numbers are left to `number`. */
  readonly symbolic?: (value: Dimension) => Dimension;
  readonly elementType?: ElementType;
}

const unchanged = (value: Dimension): Dimension => value;

const rows: readonly UnaryRow[] = [
  row('Abs', 1, '|x|, element by element (ONNX Operators, Abs-13)', 1, readsInput(2), Math.abs, unchanged),
  row('Acos', 7, 'arc cosine, element by element (ONNX Operators, Acos-22)', 1, readsInput(4), Math.acos),
  row('Acosh', 9, 'inverse hyperbolic cosine (ONNX Operators, Acosh-22)', 1, readsInput(4), Math.acosh),
  row('Asin', 7, 'arc sine, element by element (ONNX Operators, Asin-22)', 1, readsInput(4), Math.asin),
  row('Asinh', 9, 'inverse hyperbolic sine (ONNX Operators, Asinh-22)', 1, readsInput(4), Math.asinh),
  row('Atan', 7, 'arc tangent, element by element (ONNX Operators, Atan-22)', 1, readsInput(3), Math.atan),
  row('Atanh', 9, 'inverse hyperbolic tangent (ONNX Operators, Atanh-22)', 1, readsInput(3), Math.atanh),
  row('BitwiseNot', 18, 'bitwise complement of integers (ONNX Operators, BitwiseNot-18)', 1, undefined),
  row(
    'Ceil',
    1,
    'smallest integer not below x (ONNX Operators, Ceil-13)',
    1,
    readsNothing(1),
    Math.ceil,
    unchanged,
  ),
  row('Celu', 12, 'continuously differentiable exponential unit (ONNX Operators, Celu-28)', 4, readsInput(4)),
  row('Cos', 7, 'cosine, element by element (ONNX Operators, Cos-22)', 1, readsInput(3), Math.cos),
  row('Cosh', 9, 'hyperbolic cosine (ONNX Operators, Cosh-22)', 1, readsInput(2), Math.cosh),
  row('Elu', 1, 'x, or α(eˣ − 1) below 0 (ONNX Operators, Elu-22)', 3, readsInput(4)),
  row('Erf', 9, 'error function, element by element (ONNX Operators, Erf-13)', 1, readsInput(4)),
  row('Exp', 1, 'eˣ, element by element (ONNX Operators, Exp-13)', 1, readsOutput(1), Math.exp),
  row(
    'Floor',
    1,
    'largest integer not above x (ONNX Operators, Floor-13)',
    1,
    readsNothing(1),
    Math.floor,
    unchanged,
  ),
  row('Gelu', 20, 'x·Φ(x), Gaussian error linear unit (ONNX Operators, Gelu-20)', 5, readsInput(10)),
  row('HardSigmoid', 1, 'max(0, min(1, αx + β)) (ONNX Operators, HardSigmoid-22)', 4, readsInput(3)),
  row('HardSwish', 14, 'x·max(0, min(1, x/6 + 1/2)) (ONNX Operators, HardSwish-22)', 5, readsInput(5)),
  row(
    'IsInf',
    10,
    'whether x is infinite (ONNX Operators, IsInf-20)',
    1,
    undefined,
    undefined,
    undefined,
    'bool',
  ),
  row(
    'IsNaN',
    9,
    'whether x is not a number (ONNX Operators, IsNaN-20)',
    1,
    undefined,
    undefined,
    undefined,
    'bool',
  ),
  // `leaky_relu_` keeps its result, `leaky_relu` its input. Nets are written with the first, behind normalizations.
  row('LeakyRelu', 1, 'x, or αx below 0 (ONNX Operators, LeakyRelu-16)', 2, readsOutput(2)),
  row('Log', 1, 'natural logarithm (ONNX Operators, Log-13)', 1, readsInput(1), Math.log),
  row('Mish', 18, 'x·tanh(ln(1 + eˣ)) (ONNX Operators, Mish-22)', 4, readsInput(10)),
  row('Neg', 1, '−x, element by element (ONNX Operators, Neg-13)', 1, readsNothing(1), (value) => -value),
  row('Not', 1, 'logical negation (ONNX Operators, Not-1)', 1, undefined, (value) => (value === 0 ? 1 : 0)),
  row(
    'Reciprocal',
    1,
    '1/x, element by element (ONNX Operators, Reciprocal-13)',
    1,
    readsOutput(3),
    (value) => 1 / value,
  ),
  row(
    'Relu',
    1,
    'max(0, x), element by element (ONNX Operators, Relu-14)',
    1,
    readsOutput(1),
    (value) => Math.max(0, value),
    unchanged,
  ),
  row(
    'Round',
    11,
    'nearest integer, halves to even (ONNX Operators, Round-22)',
    1,
    readsNothing(1),
    roundHalfEven,
    unchanged,
  ),
  row('Selu', 1, 'γ·x, or γ·α(eˣ − 1) below 0 (ONNX Operators, Selu-22)', 4, readsInput(4)),
  row('Shrink', 9, 'x moved towards 0 by a bias, 0 within λ (ONNX Operators, Shrink-9)', 3, readsInput(2)),
  row(
    'Sigmoid',
    1,
    '1/(1 + e⁻ˣ) (ONNX Operators, Sigmoid-13)',
    4,
    readsOutput(3),
    (value) => 1 / (1 + Math.exp(-value)),
  ),
  row('Sign', 9, '−1, 0 or 1 (ONNX Operators, Sign-13)', 1, readsNothing(1), Math.sign),
  row('Sin', 7, 'sine, element by element (ONNX Operators, Sin-22)', 1, readsInput(2), Math.sin),
  row('Sinh', 9, 'hyperbolic sine (ONNX Operators, Sinh-22)', 1, readsInput(2), Math.sinh),
  row('Softplus', 1, 'ln(1 + eˣ) (ONNX Operators, Softplus-22)', 3, readsInput(4)),
  row('Softsign', 1, 'x/(1 + |x|) (ONNX Operators, Softsign-22)', 3, readsInput(4)),
  row('Sqrt', 1, 'square root (ONNX Operators, Sqrt-13)', 1, readsOutput(2), Math.sqrt),
  row('Swish', 24, 'x·sigmoid(αx) (ONNX Operators, Swish-24)', 5, readsInput(6)),
  row('Tan', 7, 'tangent, element by element (ONNX Operators, Tan-22)', 1, readsOutput(3), Math.tan),
  row('Tanh', 1, 'hyperbolic tangent (ONNX Operators, Tanh-13)', 1, readsOutput(3), Math.tanh),
  row('ThresholdedRelu', 10, 'x, or 0 up to α (ONNX Operators, ThresholdedRelu-22)', 1, readsInput(1)),
];

function row(
  type: string,
  since: number,
  documentation: string,
  operations: number,
  gradient: ElementwiseGradient | undefined,
  number?: (value: number) => number,
  symbolic?: (value: Dimension) => Dimension,
  elementType?: ElementType,
): UnaryRow {
  return {
    type,
    since,
    documentation,
    operations,
    gradient,
    ...(number && { number }),
    ...(symbolic && { symbolic }),
    ...(elementType && { elementType }),
  };
}

function roundHalfEven(value: number): number {
  const below = Math.floor(value);
  if (value - below !== 0.5) return Math.round(value);
  return below % 2 === 0 ? below : below + 1;
}

function apply(definition: UnaryRow, value: Dimension): Dimension {
  if (typeof value === 'number' && definition.number !== undefined) return definition.number(value);
  if (typeof value !== 'number' && definition.symbolic !== undefined) return definition.symbolic(value);
  return unknownDimension(`${definition.type} of a symbolic value`);
}

/** One definition per row of the table. */
export const unaryOperators: readonly OperatorDefinition[] = rows.map((definition) =>
  define({
    type: definition.type,
    since: definition.since,
    documentation: definition.documentation,
    infer: (context) =>
      inferLikeInput(context, {
        ...(definition.elementType && { elementType: definition.elementType }),
        ...((definition.number ?? definition.symbolic) && {
          combine: ([value]) =>
            value === undefined ? unknownDimension('no element') : apply(definition, value),
        }),
      }),
    dimensions: likeInputMap,
    cost: (context) => elementwiseCost(context, definition.operations, () => definition.gradient),
  }),
);
