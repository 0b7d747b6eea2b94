/** Features made of features: thresholds, scales, categories. Element by element, or one row for each. */

import type { Dimension } from '../../model/dimension.ts';
import { addDimensions } from '../../model/dimension.ts';
import type { ElementType } from '../../model/elementType.ts';
import type { Inference, InferenceContext, OperatorDefinition } from '../definition.ts';
import { likeInputMap, rowsMap } from '../dimensions/elementwise.ts';
import { oneHotMap } from '../dimensions/lookups.ts';
import { elementwiseCost, inferLikeInput } from '../vocabulary/elementwise.ts';
import { detached, variadic } from '../vocabulary/facts.ts';
import { copyCost } from '../vocabulary/movement.ts';
import { elementTypeOf, invalid, printShape, single, tensor, unknownBecause } from '../vocabulary/types.ts';
import { givenOf, lengthOfList, onlyOneOf } from './attributes.ts';
import { defineMl, featuresMap, samplesOf } from './samples.ts';

/** Type, what it computes, operations per element, element type of the output where it is not the input's. */
const rows: readonly (readonly [string, string, number, ElementType | undefined])[] = [
  ['Binarizer', '1 above a threshold, 0 elsewhere', 1, undefined],
  ['Imputer', 'missing values replaced', 1, undefined],
  ['Scaler', '(x − offset)·scale per feature', 2, 'float32'],
  ['Normalizer', 'rows divided by their maximum, sum or norm', 3, 'float32'],
];

export const encoders: readonly OperatorDefinition[] = [
  ...rows.map(([type, documentation, operations, elementType]) =>
    defineMl({
      type,
      documentation,
      inputs: [detached('X')],
      autocast: 'widest',
      infer: (context) => inferLikeInput(context, elementType === undefined ? {} : { elementType }),
      dimensions: (context) => (type === 'Binarizer' ? likeInputMap(context) : rowsMap(context, -1)),
      cost: (context) => elementwiseCost(context, operations, () => undefined),
    }),
  ),
  defineMl({
    type: 'CategoryMapper',
    documentation: 'integers for strings, or strings for integers, by a table',
    inputs: [detached('X')],
    autocast: 'widest',
    infer: inferCategories,
    dimensions: likeInputMap,
    cost: (context) => elementwiseCost(context, 1, () => undefined),
  }),
  defineMl({
    type: 'LabelEncoder',
    version: 4,
    documentation: 'each element replaced by a table of keys and values',
    inputs: [detached('X')],
    autocast: 'widest',
    infer: inferLabels,
    dimensions: likeInputMap,
    cost: (context) => elementwiseCost(context, 1, () => undefined),
  }),
  defineMl({
    type: 'OneHotEncoder',
    documentation: 'a new last axis with 1 at the category',
    inputs: [detached('X')],
    autocast: 'widest',
    infer: (context) => {
      const wrong = onlyOneOf(context, ['cats_int64s', 'cats_strings']);
      if (wrong !== undefined) return invalid(wrong);
      const input = context.inputShape(0);
      if (input === undefined) return unknownBecause(context, 0, 'float32');
      const count = lengthOfList(context, 'cats_int64s') ?? lengthOfList(context, 'cats_strings') ?? 0;
      return single(tensor('float32', [...input, count]));
    },
    dimensions: (context) => oneHotMap(context),
    cost: (context) => copyCost(context),
  }),
  defineMl({
    type: 'ArrayFeatureExtractor',
    documentation: 'features at given positions of the last axis',
    inputs: [detached('X'), detached('Y')],
    autocast: 'widest',
    infer: (context) => {
      const elementType = elementTypeOf(context, 0);
      const input = context.inputShape(0);
      const positions = context.inputShape(1);
      if (input === undefined) return unknownBecause(context, 0);
      if (positions === undefined) return unknownBecause(context, 1, elementType);
      const count = positions.at(-1) ?? 1;
      if (input.length === 0)
        return invalid(`features ${printShape(input)} cannot be taken at positions ${printShape(positions)}`);
      return single(tensor(elementType, [...(input.length === 1 ? [1] : input.slice(0, -1)), count]));
    },
    dimensions: (context) => rowsMap(context, -1),
    cost: (context) => copyCost(context, { readsWhatItGives: true }),
  }),
  defineMl({
    type: 'FeatureVectorizer',
    documentation: 'feature vectors joined to one',
    inputs: [variadic(detached('X'))],
    autocast: 'widest',
    infer: (context) => {
      const sizes = context.ints('inputdimensions');
      const widths = Array.from(
        { length: context.inputCount },
        (_, index): Dimension | undefined => sizes?.[index] ?? context.inputShape(index)?.at(-1),
      );
      const unknown = widths.indexOf(undefined);
      if (unknown >= 0) return unknownBecause(context, unknown, 'float32');
      const total = widths.flatMap((width) => width ?? []).reduce(addDimensions, 0);
      return single(tensor('float32', [samplesOf(context), total]));
    },
    dimensions: featuresMap,
    cost: (context) => copyCost(context),
  }),
];

/** ONNX Operators-ml, CategoryMapper-1: two lists of equal length, read in the direction of the input's type. */
function inferCategories(context: InferenceContext): Inference {
  const integers = lengthOfList(context, 'cats_int64s');
  const strings = lengthOfList(context, 'cats_strings');
  if (integers === undefined || strings === undefined)
    return invalid('cats_int64s and cats_strings must both be given');
  if (integers !== strings)
    return invalid(
      `cats_int64s has ${integers} entries, cats_strings ${strings}; they belong together in pairs`,
    );
  const input = elementTypeOf(context, 0);
  const elementType = input === 'string' ? 'int64' : input === 'int64' ? 'string' : 'undefined';
  return inferLikeInput(context, { elementType });
}

const lists = ['floats', 'int64s', 'strings'] as const;
const typeOfList = { floats: 'float32', int64s: 'int64', strings: 'string' } as const;

/** ONNX Operators-ml, LabelEncoder-4; version 1 maps strings to their position in `classes_strings` and back. */
function inferLabels(context: InferenceContext): Inference {
  if (context.attribute('classes_strings') !== undefined) {
    const elementType = elementTypeOf(context, 0) === 'string' ? 'int64' : 'string';
    return inferLikeInput(context, { elementType });
  }
  const tables = (kind: string): readonly string[] => [...lists, 'tensor'].map((list) => `${kind}_${list}`);
  const wrong = onlyOneOf(context, tables('keys')) ?? onlyOneOf(context, tables('values'));
  if (wrong !== undefined) return invalid(wrong);
  const [keys = ''] = givenOf(context, tables('keys'));
  const [values = ''] = givenOf(context, tables('values'));
  const [keyCount, valueCount] = [lengthOfList(context, keys), lengthOfList(context, values)];
  // A list too long to be kept has no known length here, and nothing contradicts it.
  if (keyCount !== undefined && valueCount !== undefined && keyCount !== valueCount)
    return invalid(`${keys} has ${keyCount} entries, ${values} ${valueCount}; they belong together in pairs`);
  const elementType =
    context.tensor('values_tensor')?.elementType ??
    typeOfList[lists.find((list) => values.endsWith(list)) ?? 'int64s'];
  const otherwise = context.tensor('default_tensor');
  if (otherwise !== undefined && otherwise.elementType !== elementType)
    return invalid(`default_tensor is of ${otherwise.elementType}, but the values are of ${elementType}`);
  if (otherwise !== undefined && (otherwise.dimensions.length !== 1 || otherwise.dimensions[0] !== 1))
    return invalid(`default_tensor holds one value, not ${printShape(otherwise.dimensions)}`);
  return inferLikeInput(context, { elementType });
}
