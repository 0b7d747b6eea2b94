/** Whether a value is one that a parameter takes. */

import { isSymbolic } from '../../model/dimension.ts';
import { didYouMean } from '../../model/nearestName.ts';
import {
  type ParameterDefinition,
  type ParameterType,
  printValue,
  type SpecValue,
} from './layerDefinition.ts';

/** What is wrong with a value, behind the name of the parameter; `undefined` where nothing is. */
export const whatIsWrong = (value: SpecValue, parameter: ParameterDefinition): string | undefined =>
  fits(value, parameter)
    ? outOfBounds(value, parameter)
    : `takes ${kinds[parameter.type]}, not ${printValue(value)}`;

const kinds: Readonly<Record<ParameterType, string>> = {
  integer: 'a whole number',
  number: 'a number',
  boolean: 'True or False',
  string: 'a text in quotes',
  integers: 'a whole number or a tuple of them',
  padding: "a whole number, a tuple of them, 'same' or 'valid'",
  dimension: 'a size',
  dimensions: 'sizes',
  layer: 'the name of a layer',
  any: 'a value',
};

function fits(value: SpecValue, parameter: ParameterDefinition): boolean {
  if (value === null) return parameter.default === null || parameter.type === 'any';
  const whole = (item: SpecValue) => isOpen(item) || Number.isSafeInteger(item);
  const wholes = Array.isArray(value) ? value.every(whole) : whole(value);
  switch (parameter.type) {
    case 'integer':
    case 'dimension':
      return whole(value);
    case 'number':
      return typeof value === 'number' || isOpen(value);
    case 'boolean':
      return typeof value === 'boolean';
    case 'string':
    case 'layer':
      return typeof value === 'string';
    case 'integers':
    case 'dimensions':
      return wholes;
    case 'padding':
      return wholes || value === 'same' || value === 'valid';
    case 'any':
      return true;
  }
}

/** What is wrong with a value of the right kind, or `undefined`. */
function outOfBounds(value: SpecValue, { choices, least, most }: ParameterDefinition): string | undefined {
  if (choices !== undefined && typeof value === 'string' && !choices.includes(value)) {
    const texts = choices.map((choice) => `'${choice}'`);
    return `is ${texts.slice(0, -1).join(', ')} or ${texts.at(-1)}, not '${value}'${didYouMean(value, choices)}`;
  }
  const numbers = (Array.isArray(value) ? value : [value]).filter((item) => typeof item === 'number');
  const small = least === undefined ? undefined : numbers.find((item) => item < least);
  if (small !== undefined) return `is at least ${least}, not ${small}`;
  const large = most === undefined ? undefined : numbers.find((item) => item > most);
  return large === undefined ? undefined : `is at most ${most}, not ${large}`;
}

const isOpen = (value: SpecValue): boolean =>
  typeof value === 'object' && value !== null && 'kind' in value && isSymbolic(value);
