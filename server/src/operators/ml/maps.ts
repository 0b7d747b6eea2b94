/** Maps of keys to values, handled on the host. */

import { unknownDimension } from '../../model/dimension.ts';
import type { ElementType } from '../../model/elementType.ts';
import type { OperatorDefinition } from '../definition.ts';
import { unknownMap } from '../dimensionMap.ts';
import { detached } from '../vocabulary/facts.ts';
import { invalid, single, tensor } from '../vocabulary/types.ts';
import { shapeCost } from '../vocabulary/work.ts';
import { lengthOfList, onlyOneOf } from './attributes.ts';
import { defineMl } from './samples.ts';

const castTypes: Readonly<Record<string, ElementType>> = {
  TO_FLOAT: 'float32',
  TO_STRING: 'string',
  TO_INT64: 'int64',
};

export const mapOperators: readonly OperatorDefinition[] = [
  defineMl({
    type: 'CastMap',
    documentation: 'the values of a map, in the order of its keys',
    inputs: [detached('X')],
    autocast: 'widest',
    infer: (context) => {
      const name = context.string('cast_to', 'TO_FLOAT');
      const elementType = Object.hasOwn(castTypes, name) ? castTypes[name] : undefined;
      if (elementType === undefined)
        return invalid(`cast_to '${name}' is none of ${Object.keys(castTypes).join(', ')}`);
      const count =
        context.string('map_form', 'DENSE') === 'SPARSE'
          ? context.int('max_map', 1)
          : unknownDimension('how many entries a map has is known only when the model runs');
      return single(tensor(elementType, [1, count]));
    },
    dimensions: () => unknownMap('a map has no dimensions'),
    cost: () => shapeCost,
  }),
  defineMl({
    type: 'DictVectorizer',
    documentation: 'the values of a map at the positions of a vocabulary',
    inputs: [detached('X')],
    autocast: 'widest',
    infer: (context) => {
      const wrong = onlyOneOf(context, ['int64_vocabulary', 'string_vocabulary']);
      if (wrong !== undefined) return invalid(wrong);
      const type = context.inputType(0);
      const value =
        type?.kind === 'map' && type.value.kind === 'tensor' ? type.value.elementType : 'undefined';
      const count =
        lengthOfList(context, 'int64_vocabulary') ?? lengthOfList(context, 'string_vocabulary') ?? 0;
      return single(tensor(value, [1, count]));
    },
    dimensions: () => unknownMap('a map has no dimensions'),
    cost: () => shapeCost,
  }),
  defineMl({
    type: 'ZipMap',
    documentation: 'a map of class labels to scores for each sample',
    inputs: [detached('X')],
    autocast: 'widest',
    infer: (context) => {
      const wrong = onlyOneOf(context, ['classlabels_int64s', 'classlabels_strings']);
      if (wrong !== undefined) return invalid(wrong);
      const key = context.attribute('classlabels_strings') === undefined ? 'int64' : 'string';
      return single({ kind: 'sequence', element: { kind: 'map', key, value: tensor('float32', []) } });
    },
    dimensions: () => unknownMap('a map has no dimensions'),
    cost: () => shapeCost,
  }),
];
