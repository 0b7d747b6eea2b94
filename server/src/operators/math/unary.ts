/**
 * Element-wise operators of one tensor.
 *
 * What backward keeps follows PyTorch 2.x `tools/autograd/derivatives.yaml`: `relu` keeps its result, `gelu` its
 * input, and so on. Operations per element count arithmetic steps, a transcendental function as one.
 */

import { type Dimension, unknownDimension } from '../../model/dimension.ts';
import type { ElementType } from '../../model/elementType.ts';
import { roundHalfEven } from '../../model/roundHalfEven.ts';
import type {
  OperatorDefinition,
  OperatorFacts,
  OperatorInput,
  PyTorchFacts,
  Runner,
  Trait,
} from '../definition.ts';
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
import { data, detached, noRule } from '../vocabulary/facts.ts';

interface UnaryRow extends OperatorFacts {
  readonly operations: number;
  /** `undefined` where no gradient flows. */
  readonly gradient: ElementwiseGradient | undefined;
  readonly number?: (value: number) => number;
  /** The function of an integer-valued expression, where it has one; numbers are left to `number`. */
  readonly symbolic?: (value: Dimension) => Dimension;
  readonly elementType?: ElementType;
}

/** Where nothing else is said, PyTorch calls it by the same name, autocast lists it nowhere, and the runner has its rule. */
interface UnaryFacts extends Partial<PyTorchFacts> {
  readonly input: OperatorInput;
  readonly traits?: readonly Trait[];
  readonly runner?: Runner;
}

const unchanged = (value: Dimension): Dimension => value;

const rows: readonly UnaryRow[] = [
  row('Abs', 1, 13, { input: data('X') }, '|x|, element by element', 1, readsInput(2), Math.abs, unchanged),
  row(
    'Acos',
    7,
    22,
    { input: data('input'), autocast: 'fp32' },
    'arc cosine, element by element',
    1,
    readsInput(4),
    Math.acos,
  ),
  row('Acosh', 9, 22, { input: data('input') }, 'inverse hyperbolic cosine', 1, readsInput(4), Math.acosh),
  row(
    'Asin',
    7,
    22,
    { input: data('input'), autocast: 'fp32' },
    'arc sine, element by element',
    1,
    readsInput(4),
    Math.asin,
  ),
  row('Asinh', 9, 22, { input: data('input') }, 'inverse hyperbolic sine', 1, readsInput(4), Math.asinh),
  row(
    'Atan',
    7,
    22,
    { input: data('input') },
    'arc tangent, element by element',
    1,
    readsInput(3),
    Math.atan,
  ),
  row('Atanh', 9, 22, { input: data('input') }, 'inverse hyperbolic tangent', 1, readsInput(3), Math.atanh),
  row('BitwiseNot', 18, 18, { input: detached('X') }, 'bitwise complement of integers', 1, undefined),
  row(
    'Ceil',
    1,
    13,
    { input: data('X') },
    'smallest integer not below x',
    1,
    readsNothing(1),
    Math.ceil,
    unchanged,
  ),
  row(
    'Celu',
    12,
    28,
    { input: data('X'), layer: 'CELU', traits: ['activation', 'keeps-result-in-place'] },
    'continuously differentiable exponential unit',
    4,
    readsInput(4),
  ),
  row(
    'Cos',
    7,
    22,
    { input: data('input'), traits: ['periodic'] },
    'cosine, element by element',
    1,
    readsInput(3),
    Math.cos,
  ),
  row(
    'Cosh',
    9,
    22,
    { input: data('input'), autocast: 'fp32' },
    'hyperbolic cosine',
    1,
    readsInput(2),
    Math.cosh,
  ),
  row(
    'Elu',
    1,
    22,
    { input: data('X'), layer: 'ELU', traits: ['activation', 'keeps-result-in-place'] },
    'x, or α(eˣ − 1) below 0',
    3,
    readsInput(4),
  ),
  row('Erf', 9, 13, { input: data('input') }, 'error function, element by element', 1, readsInput(4)),
  row(
    'Exp',
    1,
    13,
    { input: data('input'), autocast: 'fp32' },
    'eˣ, element by element',
    1,
    readsOutput(1),
    Math.exp,
  ),
  row(
    'Floor',
    1,
    13,
    { input: data('X') },
    'largest integer not above x',
    1,
    readsNothing(1),
    Math.floor,
    unchanged,
  ),
  row(
    'Gelu',
    20,
    20,
    { input: data('X'), layer: 'GELU', traits: ['activation'], instructions: 'gelu' },
    'x·Φ(x), Gaussian error linear unit',
    5,
    readsInput(10),
  ),
  row(
    'HardSigmoid',
    1,
    22,
    { input: data('X'), layer: 'Hardsigmoid', traits: ['activation'] },
    'max(0, min(1, αx + β))',
    4,
    readsInput(3),
  ),
  row(
    'HardSwish',
    14,
    22,
    { input: data('X'), layer: 'Hardswish', traits: ['activation'] },
    'x·max(0, min(1, x/6 + 1/2))',
    5,
    readsInput(5),
  ),
  row(
    'IsInf',
    10,
    20,
    { input: detached('X') },
    'whether x is infinite',
    1,
    undefined,
    undefined,
    undefined,
    'bool',
  ),
  row(
    'IsNaN',
    9,
    20,
    { input: detached('X') },
    'whether x is not a number',
    1,
    undefined,
    undefined,
    undefined,
    'bool',
  ),
  row(
    'LeakyRelu',
    1,
    16,
    { input: data('X'), layer: 'LeakyReLU', traits: ['threshold', 'activation', 'keeps-result-in-place'] },
    'x, or αx below 0',
    2,
    readsInput(2),
  ),
  row(
    'Log',
    1,
    13,
    { input: data('input'), autocast: 'fp32' },
    'natural logarithm',
    1,
    readsInput(1),
    Math.log,
  ),
  row('Mish', 18, 22, { input: data('X'), traits: ['activation'] }, 'x·tanh(ln(1 + eˣ))', 4, readsInput(10)),
  row('Neg', 1, 13, { input: data('X') }, '−x, element by element', 1, readsNothing(1), (value) => -value),
  row('Not', 1, 1, { input: detached('X') }, 'logical negation', 1, undefined, (value) =>
    value === 0 ? 1 : 0,
  ),
  row(
    'Reciprocal',
    1,
    13,
    { input: data('X'), autocast: 'fp32' },
    '1/x, element by element',
    1,
    readsOutput(3),
    (value) => 1 / value,
  ),
  row(
    'Relu',
    1,
    14,
    { input: data('X'), layer: 'ReLU', traits: ['threshold-of-result', 'activation'] },
    'max(0, x), element by element',
    1,
    readsOutput(1),
    (value) => Math.max(0, value),
    unchanged,
  ),
  row(
    'Round',
    11,
    22,
    { input: data('X') },
    'nearest integer, halves to even',
    1,
    readsNothing(1),
    roundHalfEven,
    unchanged,
  ),
  row(
    'Selu',
    1,
    22,
    { input: data('X'), layer: 'SELU', traits: ['activation', 'keeps-result-in-place'] },
    'γ·x, or γ·α(eˣ − 1) below 0',
    4,
    readsInput(4),
  ),
  row(
    'Shrink',
    9,
    9,
    { input: data('input'), runner: noRule.unwritten },
    'x moved towards 0 by a bias, 0 within λ',
    3,
    readsInput(2),
  ),
  row(
    'Sigmoid',
    1,
    13,
    { input: data('X'), traits: ['activation'] },
    '1/(1 + e⁻ˣ)',
    4,
    readsOutput(3),
    (value) => 1 / (1 + Math.exp(-value)),
  ),
  row('Sign', 9, 13, { input: data('input') }, '−1, 0 or 1', 1, readsNothing(1), Math.sign),
  row(
    'Sin',
    7,
    22,
    { input: data('input'), traits: ['periodic'] },
    'sine, element by element',
    1,
    readsInput(2),
    Math.sin,
  ),
  row(
    'Sinh',
    9,
    22,
    { input: data('input'), autocast: 'fp32' },
    'hyperbolic sine',
    1,
    readsInput(2),
    Math.sinh,
  ),
  row(
    'Softplus',
    1,
    22,
    { input: data('X'), autocast: 'fp32', traits: ['activation'] },
    'ln(1 + eˣ)',
    3,
    readsInput(4),
  ),
  row('Softsign', 1, 22, { input: data('input'), traits: ['activation'] }, 'x/(1 + |x|)', 3, readsInput(4)),
  row('Sqrt', 1, 13, { input: data('X') }, 'square root', 1, readsOutput(2), Math.sqrt),
  row('Swish', 24, 24, { input: data('X'), instructions: 'silu' }, 'x·sigmoid(αx)', 5, readsInput(6)),
  row(
    'Tan',
    7,
    22,
    { input: data('input'), autocast: 'fp32' },
    'tangent, element by element',
    1,
    readsOutput(3),
    Math.tan,
  ),
  row(
    'Tanh',
    1,
    13,
    { input: data('input'), traits: ['activation'] },
    'hyperbolic tangent',
    1,
    readsOutput(3),
    Math.tanh,
  ),
  row(
    'ThresholdedRelu',
    10,
    22,
    { input: data('X'), traits: ['threshold'] },
    'x, or 0 up to α',
    1,
    readsInput(1),
  ),
];

function row(
  type: string,
  since: number,
  newest: number,
  facts: UnaryFacts,
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
    documentation: `${documentation} (ONNX Operators, ${type}-${newest})`,
    inputs: [facts.input],
    ...(facts.traits && { traits: facts.traits }),
    pytorch: {
      layer: facts.layer ?? type,
      autocast: facts.autocast ?? 'widest',
      ...(facts.instructions && { instructions: facts.instructions }),
    },
    runner: facts.runner ?? { rule: type },
    operations,
    gradient,
    ...(number && { number }),
    ...(symbolic && { symbolic }),
    ...(elementType && { elementType }),
  };
}

function apply(definition: UnaryRow, value: Dimension): Dimension {
  if (typeof value === 'number' && definition.number !== undefined) return definition.number(value);
  if (typeof value !== 'number' && definition.symbolic !== undefined) return definition.symbolic(value);
  return unknownDimension(`${definition.type} of a symbolic value`);
}

/** One definition per row of the table. */
export const unaryOperators: readonly OperatorDefinition[] = rows.map((definition) =>
  define({
    ...definition,
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
