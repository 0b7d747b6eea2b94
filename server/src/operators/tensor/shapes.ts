/** Operators on shapes and constants: they run on the host, or were folded by the exporter. */

import {
  addDimensions,
  ceilDivideDimensions,
  type Dimension,
  isUnknown,
  maximumOfDimensions,
  multiplyDimensions,
  productOfDimensions,
  subtractDimensions,
  unknownDimension,
} from '../../model/dimension.ts';
import {
  type ElementType,
  elementTypeOfNumber,
  elementTypes,
  isFloatingPoint,
  isInteger,
} from '../../model/elementType.ts';
import type {
  CostContext,
  Inference,
  InferenceContext,
  OperatorCost,
  OperatorDefinition,
} from '../definition.ts';
import { privateMap } from '../dimensionMap.ts';
import { broadcastMap, likeInputMap } from '../dimensions/elementwise.ts';
import { filledMap } from '../dimensions/sizes.ts';
import { combineContents, content, contentOf, largestContent, scalarOf } from '../vocabulary/contents.ts';
import { define } from '../vocabulary/define.ts';
import { elementwiseCost, inferBroadcast, inferLikeInput, readsNothing } from '../vocabulary/elementwise.ts';
import { data, detached, host, measured, noRule } from '../vocabulary/facts.ts';
import { fillCost } from '../vocabulary/movement.ts';
import {
  elementTypeOf,
  listedElements,
  mismatch,
  printShape,
  single,
  tensor,
  tensorOfUnknownShape,
  whyUnknown,
} from '../vocabulary/types.ts';
import {
  backwardOf,
  cost,
  needsGradient,
  savedInput,
  shapeCost,
  trafficOf,
  unknownShapeCost,
  work,
} from '../vocabulary/work.ts';

const shape = define({
  type: 'Shape',
  documentation: 'the sizes of the input, as integers (ONNX Operators, Shape-25)',
  inputs: [measured('data')],
  pytorch: { layer: 'Shape', autocast: 'widest' },
  runner: { rule: 'Shape' },
  infer: (context) => {
    const input = context.inputShape(0);
    if (input === undefined) return single(tensor('int64', [unknownDimension(whyUnknown(context, 0))]));
    // Slicing an array clamps as ONNX does (Shape-15).
    const part = input.slice(context.int('start', 0), context.int('end', input.length));
    return single(tensor('int64', [part.length]), content([part.length], part));
  },
  dimensions: () => privateMap,
  cost: () => shapeCost,
});

const size = define({
  type: 'Size',
  documentation: 'the number of elements of the input (ONNX Operators, Size-25)',
  inputs: [measured('data')],
  pytorch: { layer: 'Size', autocast: 'widest' },
  runner: { rule: 'Size' },
  infer: (context) => {
    const input = context.inputShape(0);
    return input === undefined
      ? single(tensor('int64', []))
      : single(tensor('int64', []), content([], [productOfDimensions(input)]));
  },
  dimensions: () => privateMap,
  cost: () => shapeCost,
});

const constant = define({
  type: 'Constant',
  documentation: 'a value stored in the model (ONNX Operators, Constant-25)',
  inputs: [],
  traits: ['constant'],
  pytorch: { layer: 'Constant', autocast: 'widest' },
  runner: { rule: 'Constant' },
  infer: inferConstant,
  dimensions: () => privateMap,
  cost: () => shapeCost,
});

const constantOfShape = define({
  type: 'ConstantOfShape',
  since: 9,
  documentation: 'a tensor of one value, with a given shape (ONNX Operators, ConstantOfShape-25)',
  inputs: [host('input')],
  traits: ['generator'],
  pytorch: { layer: 'ConstantOfShape', autocast: 'widest' },
  runner: { rule: 'ConstantOfShape' },
  infer: (context) => {
    const value = context.tensor('value');
    const elementType = value?.elementType ?? 'float32';
    const requested = listedElements(context, 0);
    if (requested === undefined) return single(tensorOfUnknownShape(elementType, whyUnknown(context, 0)));
    const element = value === undefined ? 0 : value.elements?.[0];
    return single(
      tensor(elementType, requested),
      element === undefined ? undefined : contentOf(requested, () => element),
    );
  },
  dimensions: (context) => filledMap(context),
  cost: fillCost,
});

/** Stands in light models for weights that were left out: a removed experimental operator (ONNX 1.3 `ConstantFill`). */
const constantFill = define({
  type: 'ConstantFill',
  documentation: 'a tensor of one value, an experimental operator removed in ONNX 1.4 (ConstantFill-1)',
  inputs: [host('shape')],
  traits: ['generator'],
  pytorch: { layer: 'ConstantFill', autocast: 'widest' },
  runner: noRule.unwritten,
  infer: (context) => {
    const elementType = elementTypeOfNumber(context.int('dtype', 1)) ?? 'float32';
    const given = context.int('input_as_shape', 0) === 0 ? context.ints('shape') : undefined;
    const requested = given ?? listedElements(context, 0);
    return requested === undefined
      ? single(tensorOfUnknownShape(elementType, whyUnknown(context, 0)))
      : single(tensor(elementType, requested));
  },
  dimensions: (context) => filledMap(context, context.int('input_as_shape', 0) === 0 ? 'shape' : undefined),
  cost: fillCost,
});

const range = define({
  type: 'Range',
  since: 11,
  documentation: 'start, start + step, … below a limit (ONNX Operators, Range-27)',
  inputs: [host('start'), host('limit'), host('delta')],
  pytorch: { layer: 'Range', autocast: 'widest' },
  runner: { rule: 'Range' },
  infer: inferRange,
  dimensions: () => privateMap,
  cost: fillCost,
});

const cast = define({
  type: 'Cast',
  documentation: 'elements converted to another type (ONNX Operators, Cast-28)',
  inputs: [data('input')],
  traits: ['casts', 'passes-elements'],
  pytorch: { layer: 'Cast', autocast: 'widest' },
  runner: { rule: 'Cast' },
  infer: (context) => inferCast(context, targetOf(context)),
  dimensions: likeInputMap,
  cost: (context) => castCost(context),
});

const castLike = define({
  type: 'CastLike',
  since: 15,
  documentation: 'elements converted to the type of another tensor (ONNX Operators, CastLike-25)',
  inputs: [data('input'), measured('target_type')],
  traits: ['passes-elements'],
  pytorch: { layer: 'CastLike', autocast: 'widest' },
  runner: { rule: 'CastLike' },
  infer: (context) => inferCast(context, elementTypeOf(context, 1)),
  dimensions: likeInputMap,
  cost: (context) => castCost(context),
});

const bitCast = define({
  type: 'BitCast',
  since: 26,
  documentation: 'bits read as another type of the same width (ONNX Operators, BitCast-26)',
  inputs: [data('input')],
  pytorch: { layer: 'BitCast', autocast: 'widest' },
  runner: noRule.unwritten,
  infer: (context) =>
    inferLikeInput(context, { elementType: elementTypeOfNumber(context.int('to', 0)) ?? 'undefined' }),
  dimensions: likeInputMap,
  cost: () => shapeCost,
});

const where = define({
  type: 'Where',
  since: 9,
  documentation:
    'elements of one tensor where a condition holds, of another elsewhere (ONNX Operators, Where-16)',
  inputs: [detached('condition'), data('X'), data('Y')],
  pytorch: { layer: 'Where', autocast: 'promote' },
  runner: { rule: 'Where' },
  infer: (context) => {
    const elementType = context.inputElementType(1) ?? elementTypeOf(context, 2);
    const inference = inferBroadcast(context, { elementType });
    const contents = combineContents(
      [context.inputContent(0), context.inputContent(1), context.inputContent(2)],
      ([condition, yes, no]) => {
        if (condition === undefined || yes === undefined || no === undefined)
          return unknownDimension('no element');
        if (typeof condition !== 'number') return unknownDimension('a condition on symbolic values');
        return condition === 0 ? no : yes;
      },
    );
    return inference.problem === undefined && contents !== undefined
      ? { ...inference, contents: [contents] }
      : inference;
  },
  dimensions: (context) => broadcastMap(context),
  cost: (context) =>
    elementwiseCost(context, 1, (index) =>
      index === 0 ? undefined : { ...readsNothing(1), reads: [savedInput(0)] },
    ),
});

export const shapeOperators: readonly OperatorDefinition[] = [
  shape,
  size,
  constant,
  constantOfShape,
  constantFill,
  range,
  cast,
  castLike,
  bitCast,
  where,
];

function inferConstant(context: InferenceContext): Inference {
  const sparse = context.attribute('sparse_value');
  if (sparse?.kind === 'sparse_tensor') {
    return single(tensor(sparse.value.elementType, sparse.value.dimensions));
  }
  const literal = context.tensor('value');
  if (literal !== undefined) {
    return single(
      tensor(literal.elementType, literal.dimensions),
      literal.elements === undefined ? undefined : content(literal.dimensions, literal.elements),
    );
  }
  const scalars: readonly (readonly [string, ElementType])[] = [
    ['value_int', 'int64'],
    ['value_float', 'float32'],
    ['value_string', 'string'],
    ['value_ints', 'int64'],
    ['value_floats', 'float32'],
    ['value_strings', 'string'],
  ];
  for (const [name, elementType] of scalars) {
    const attribute = context.attribute(name);
    if (attribute === undefined) continue;
    switch (attribute.kind) {
      case 'int':
      case 'float':
        return single(tensor(elementType, []), content([], [attribute.value]));
      case 'string':
        return single(tensor(elementType, []));
      case 'ints':
      case 'floats':
        return single(
          tensor(elementType, [attribute.value.length]),
          content([attribute.value.length], attribute.value),
        );
      case 'strings':
        return single(tensor(elementType, [attribute.value.length]));
    }
  }
  return single(tensorOfUnknownShape('undefined', 'the constant has no value this version can read'));
}

/** max(⌈(limit − start) / step⌉, 0) elements (ONNX Operators, Range-27). */
function inferRange(context: InferenceContext): Inference {
  const elementType = elementTypeOf(context, 0);
  const start = scalarOf(context, 0);
  const limit = scalarOf(context, 1);
  const step = scalarOf(context, 2);
  const unknown = [0, 1, 2].find((index) => scalarOf(context, index) === undefined);
  if (start === undefined || limit === undefined || step === undefined) {
    return single(tensor(elementType, [unknownDimension(whyUnknown(context, unknown ?? 0))]));
  }
  const count = countOfRange(start, limit, step);
  if (step === 0) {
    return mismatch('Range with a step of 0 never reaches its limit', tensor(elementType, [count]));
  }
  const elements = contentOf([count], (position) => addDimensions(start, multiplyDimensions(position, step)));
  return single(tensor(elementType, [count]), elements);
}

function countOfRange(start: Dimension, limit: Dimension, step: Dimension): Dimension {
  if (step === 0) return unknownDimension('Range with a step of 0');
  const length = subtractDimensions(limit, start);
  if (typeof length === 'number' && typeof step === 'number') return Math.max(Math.ceil(length / step), 0);
  if (step === 1 && !isUnknown(length)) return start === 0 ? length : maximumOfDimensions(length, 0);
  if (typeof step === 'number' && step > 0) return maximumOfDimensions(ceilDivideDimensions(length, step), 0);
  return unknownDimension(`Range from ${printShape([start])} to ${printShape([limit])} by a symbolic step`);
}

/** A number since version 6, before that a name such as 'FLOAT'. */
function targetOf(context: InferenceContext): ElementType {
  const name = context.string('to', '').toLowerCase();
  if (name === '') return elementTypeOfNumber(context.int('to', 0)) ?? 'undefined';
  if (name === 'float') return 'float32';
  return name === 'double' ? 'float64' : (elementTypes.find((type) => type === name) ?? 'undefined');
}

function inferCast(context: InferenceContext, elementType: ElementType): Inference {
  const from = elementTypeOf(context, 0);
  const truncates = isFloatingPoint(from) && isInteger(elementType);
  return inferLikeInput(context, {
    elementType,
    combine: ([value]) => {
      if (value === undefined) return unknownDimension('no element');
      if (elementType === 'bool')
        return typeof value === 'number'
          ? Number(value !== 0)
          : unknownDimension('the truth of a symbolic value');
      return typeof value === 'number' && truncates ? Math.trunc(value) : value;
    },
  });
}

/** A conversion to the same type is no work; the gradient is converted back. Of `CastLike`'s target only the type counts. */
function castCost(context: CostContext): OperatorCost {
  const input = context.input(0);
  const output = context.output(0);
  if (input === undefined || output === undefined) return unknownShapeCost;
  const isKnown = context.inputContent(0) !== undefined && output.elements <= largestContent;
  if (isKnown && !needsGradient(context)) return shapeCost;
  if (input.elementType === output.elementType)
    return cost('view', work({ traffic: trafficOf(), kernels: 0 }));
  const forward = work({ operations: output.elements, traffic: trafficOf(input, output) });
  if (!isFloatingPoint(output.elementType)) return cost('elementwise', forward);
  return cost(
    'elementwise',
    forward,
    backwardOf(context, () => forward),
  );
}
