/** Operators on strings: they run on the host and cost the GPU nothing. */

import { unknownDimension } from '../../model/dimension.ts';
import type { OperatorDefinition } from '../definition.ts';
import { privateMap } from '../dimensionMap.ts';
import { broadcastMap, likeInputMap, rowsMap } from '../dimensions/elementwise.ts';
import { define } from '../vocabulary/define.ts';
import { inferBroadcast, inferLikeInput } from '../vocabulary/elementwise.ts';
import { detached, noRule } from '../vocabulary/facts.ts';
import { single, tensor, unknownBecause } from '../vocabulary/types.ts';
import { shapeCost } from '../vocabulary/work.ts';

export const textOperators: readonly OperatorDefinition[] = [
  define({
    type: 'StringConcat',
    since: 20,
    documentation: 'strings joined element by element (ONNX Operators, StringConcat-20)',
    inputs: [detached('X'), detached('Y')],
    pytorch: { layer: 'StringConcat', autocast: 'widest' },
    runner: noRule.strings,
    infer: (context) => inferBroadcast(context, { elementType: 'string' }),
    dimensions: (context) => broadcastMap(context),
    cost: () => shapeCost,
  }),
  define({
    type: 'RegexFullMatch',
    since: 20,
    documentation: 'whether strings match a pattern (ONNX Operators, RegexFullMatch-20)',
    inputs: [detached('X')],
    pytorch: { layer: 'RegexFullMatch', autocast: 'widest' },
    runner: noRule.strings,
    infer: (context) => inferLikeInput(context, { elementType: 'bool' }),
    dimensions: likeInputMap,
    cost: () => shapeCost,
  }),
  define({
    type: 'StringNormalizer',
    since: 10,
    documentation: 'strings with case changed and stop words removed (ONNX Operators, StringNormalizer-10)',
    inputs: [detached('X')],
    pytorch: { layer: 'StringNormalizer', autocast: 'widest' },
    runner: noRule.strings,
    infer: (context) => {
      const input = context.inputShape(0);
      if (input === undefined) return unknownBecause(context, 0, 'string');
      const kept = context.attribute('stopwords') === undefined ? input.at(-1) : undefined;
      const count =
        kept ?? unknownDimension('how many words are stop words is known only when the model runs');
      return single(tensor('string', [...input.slice(0, -1), count]));
    },
    dimensions: () => privateMap,
    cost: () => shapeCost,
  }),
  define({
    type: 'StringSplit',
    since: 20,
    documentation: 'strings split at a delimiter (ONNX Operators, StringSplit-20)',
    inputs: [detached('X')],
    pytorch: { layer: 'StringSplit', autocast: 'widest' },
    runner: noRule.strings,
    infer: (context) => {
      const input = context.inputShape(0);
      if (input === undefined) return unknownBecause(context, 0, 'string');
      const parts = unknownDimension('how many parts a string has is known only when the model runs');
      return { outputs: [tensor('string', [...input, parts]), tensor('int64', input)] };
    },
    dimensions: () => privateMap,
    cost: () => shapeCost,
  }),
  define({
    type: 'TfIdfVectorizer',
    since: 9,
    documentation: 'weighted counts of n-grams (ONNX Operators, TfIdfVectorizer-9)',
    inputs: [detached('X')],
    pytorch: { layer: 'TfIdfVectorizer', autocast: 'widest' },
    runner: noRule.strings,
    infer: (context) => {
      const input = context.inputShape(0);
      if (input === undefined) return unknownBecause(context, 0, 'float32');
      const indexes = context.ints('ngram_indexes') ?? [];
      const width = indexes.reduce((most, index) => Math.max(most, index), -1) + 1;
      return single(tensor('float32', [...input.slice(0, -1), width]));
    },
    dimensions: (context) => rowsMap(context, -1),
    cost: () => shapeCost,
  }),
];
